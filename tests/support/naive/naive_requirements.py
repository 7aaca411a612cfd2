"""Slow, obvious twins of what further models decide and of how classes are merged for them."""

from collections.abc import Callable, Sequence

import numpy as np

from support.naive import naive_models
from tclose.privacy.privacy_model import PrivacyModel


def meets(requirement: PrivacyModel, members: Sequence[int], table: Sequence[int]) -> bool:
    """Return whether a class with these values meets a requirement without buckets."""
    model, limit = requirement.model, requirement.limit
    distinct = naive_models.n_distinct(members)
    if model == "distinct-l-diversity":
        return distinct >= limit
    if model == "p-sensitive-k-anonymity":
        return distinct >= limit and len(members) >= requirement.count
    if model == "entropy-l-diversity":
        return naive_models.has_entropy(members, limit)
    if model == "recursive-cl-diversity":
        return naive_models.is_recursive(members, limit, requirement.count)
    return naive_models.ratio_distance(members, table) <= limit


def value_ranges(counts: Sequence[int], n_groups: int) -> list[int]:
    """Group of each value: each takes values until it has its share of what is left."""
    groups: list[int] = []
    for group in range(n_groups):
        n_after = n_groups - group - 1
        left = sum(counts[len(groups) :])
        taken = 0
        while len(groups) < len(counts) - n_after:
            taken += counts[len(groups)]
            groups.append(group)
            if taken * (n_after + 1) >= left and n_after:
                break
    return groups


def merge_round(
    classes: list[list[int]], failing: list[int], cost: Callable[[list[int], list[int]], float]
) -> list[list[int]]:
    """Unions of failing classes with their cheapest partners, the cheapest pairs first."""
    n, pairs = len(classes), []
    for i in failing:
        others = [(i + step) % n for step in range(1, n)]
        costs = [cost(classes[i], classes[other]) for other in others]
        cheapest = min(range(n - 1), key=costs.__getitem__)
        pairs.append((costs[cheapest], i, others[cheapest]))
    taken: set[int] = set()
    united = [list(rows) for rows in classes]
    for _, i, other in sorted(pairs):
        if not {i, other} & taken:
            taken |= {i, other}
            united[min(i, other)] = classes[i] + classes[other]
            united[max(i, other)] = []
    return [sorted(rows) for rows in united if rows]


def ward(numeric: np.ndarray, nominal: np.ndarray) -> Callable[[list[int], list[int]], float]:
    """Growth of the squared error of a union, by means and commonest codes."""

    def commonest(codes: np.ndarray, rows: list[int]) -> int:
        found = codes[sorted(rows)].tolist()
        return int(max(found, key=lambda code: (found.count(code), -found.index(code))))

    def cost(left: list[int], right: list[int]) -> float:
        distance = 0.0
        for values in numeric:
            means = [sum(values[sorted(rows)] / len(rows)) for rows in (left, right)]
            distance += (means[0] - means[1]) ** 2
        for codes in nominal:
            distance += commonest(codes, left) != commonest(codes, right)
        return distance * (len(left) * len(right) / (len(left) + len(right)))

    return cost
