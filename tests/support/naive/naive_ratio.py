"""Slow, obvious twins of bucketization and of noise.

Domingo-Ferrer and Soria-Comas 2015, sections 3, 4 and 6.

Ratios are Fractions; ``inf`` stands for a quotient with 0 below.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import exp, floor, inf
from operator import add, le
from typing import Any

import numpy as np

from support.naive import naive_kernels as naive

Ratio = Fraction | float  # a float where it is infinite


def share(values: Sequence[Any], chosen: set[Any]) -> Fraction:
    """Probability of a set of values."""
    return Fraction(sum(value in chosen for value in values), len(values))


def quotient(a: Fraction, b: Fraction) -> Ratio:
    """a / b; 0 if both are 0, infinite if only b is: Definition 4."""
    if b == 0:
        return inf if a else 0
    return a / b


def ratio_distance(members: Sequence[Any], table: Sequence[Any]) -> Ratio:
    """The largest quotient either way over *every* set of values: Definition 4 as it stands."""
    values = sorted(set(table))
    largest: Ratio = 0
    for n_chosen in range(1, len(values) + 1):
        for chosen in combinations(values, n_chosen):
            p, q = share(members, set(chosen)), share(table, set(chosen))
            largest = max(largest, quotient(p, q), quotient(q, p))
    return largest


def cut_buckets(values: Sequence[Any], n_buckets: int) -> list[list[Any]]:
    """Distinct values of each bucket: each cut at floor(i N/b + 1/2), moved to where values change.

    Of two such places equally near the lower one.
    """
    ranked = sorted(values)
    places = [i for i in range(1, len(ranked)) if ranked[i - 1] != ranked[i]]
    cuts = set()
    for i in range(1, n_buckets):
        rank = floor(Fraction(i * len(ranked), n_buckets) + Fraction(1, 2))
        cuts.add(min(places, key=lambda place: (abs(place - rank), place)))
    ends = [0, *sorted(cuts), len(ranked)]
    return [sorted(set(ranked[a:b])) for a, b in pairwise(ends)]


def allowed_counts(size: int, sizes: Sequence[int], t: Fraction) -> list[tuple[int, ...]]:
    """Every way to make a class of ``size`` records whose ratios are within t."""
    n_records = sum(sizes)

    def is_close(count: int, total: int) -> bool:
        p, q = Fraction(count, size), Fraction(total, n_records)
        return max(quotient(p, q), quotient(q, p)) <= t

    return [
        counts
        for counts in product(*(range(min(size, total) + 1) for total in sizes))
        if sum(counts) == size and all(map(is_close, counts, sizes))
    ]


def counts_exist(class_sizes: Sequence[int], sizes: Sequence[int], t: Fraction) -> bool:
    """Return whether classes of these sizes can use up the buckets within t: tries everything."""
    achieved = {(0,) * len(sizes)}
    for size in class_sizes:
        allowed = allowed_counts(size, sizes, t)
        sums = {tuple(map(add, used, counts)) for used in achieved for counts in allowed}
        achieved = {used for used in sums if all(map(le, used, sizes))}
    return tuple(sizes) in achieved


def fill_block(
    numeric: np.ndarray, nominal: np.ndarray, buckets: naive.Vector, counts: np.ndarray
) -> list[int]:
    """Classes around far-apart seeds, each with the row of counts that is nearest on average."""
    n_records = len(buckets)
    labels: list[int] = [-1] * n_records
    rows = list(range(len(counts)))

    def to_point(i: int, point: naive.Vector, levels: naive.Vector) -> float:
        return naive.distance(numeric[:, i], nominal[:, i], point, levels)

    point: naive.Vector
    levels: naive.Vector
    seed = -1
    for made in range(len(counts)):
        free = [i for i in range(n_records) if labels[i] < 0]
        if made % 2 == 0:
            point = [sum(row[i] for i in free) / len(free) for row in numeric]
            levels = [
                min(Counter(int(row[i]) for i in free).items(), key=lambda c: (-c[1], c[0]))[0]
                for row in nominal
            ]
        else:
            point, levels = numeric[:, seed], nominal[:, seed]
        seed = max(free, key=lambda i: (to_point(i, point, levels), -i))
        distances = {i: to_point(i, numeric[:, seed], nominal[:, seed]) for i in free}
        by_bucket = [
            sorted((i for i in free if buckets[i] == b), key=lambda i: (distances[i], i))
            for b in range(len(counts[0]))
        ]

        def take(row: int, by_bucket: list[list[int]] = by_bucket) -> list[int]:
            return [
                i for near, n in zip(by_bucket, counts[row], strict=True) for i in near[: int(n)]
            ]

        def mean(row: int, distances: dict[int, float] = distances) -> float:
            return sum(distances[i] for i in take(row)) / sum(int(n) for n in counts[row])

        row = min(rows, key=lambda r: (mean(r), r))
        rows.remove(row)
        for i in take(row):
            labels[i] = row
    return labels


def laplace_odds(step: int, n_steps: int, epsilon: float) -> list[float]:
    """Probability of each released step: integers at odds exp(-epsilon |z| / n_steps), clamped."""
    a = exp(-epsilon / n_steps)
    odds = [(1 - a) / (1 + a) * a ** abs(z - step) for z in range(n_steps + 1)]
    odds[0], odds[-1] = a**step / (1 + a), a ** (n_steps - step) / (1 + a)
    return odds


def response_odds(code: int, n_categories: int, epsilon: float) -> list[float]:
    """Probability of each released category: exp(epsilon) to one for the true one."""
    weights = [exp(epsilon) if c == code else 1.0 for c in range(n_categories)]
    return [weight / sum(weights) for weight in weights]


def stochastic_distances(
    classes: Sequence[Sequence[Any]], odds: Mapping[Any, Sequence[float]]
) -> Iterator[float]:
    """Distance of each class to the table by what its values are turned into: Definition 3."""
    table = [value for members in classes for value in members]
    outcomes = range(len(next(iter(odds.values()))))

    def mixture(values: Sequence[Any]) -> list[float]:
        return [sum(odds[v][o] for v in values) / len(values) for o in outcomes]

    whole = mixture(table)
    for members in classes:
        pairs = list(zip(mixture(members), whole, strict=True))
        yield max(max(p / q, q / p) for p, q in pairs)
