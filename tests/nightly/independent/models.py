"""The further models, by their definitions, without rounding.

Each function takes the confidential values of one class, and says whether it has what is asked.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, product
from math import floor, prod
from typing import Any

import numpy as np


def is_distinct(members: Sequence[Hashable], least: int) -> bool:
    """Distinct l-diversity, and p-sensitivity of a class that has its k records."""
    return len(set(members)) >= least


def has_entropy(members: Sequence[Hashable], limit: Fraction) -> bool:
    """Entropy of at least log l: the product of share^-share is at least l, to the n-th power."""
    size, counts = len(members), Counter(members).values()
    return Fraction(size**size, prod(n**n for n in counts)) >= limit**size


def is_recursive(members: Sequence[Hashable], factor: Fraction, rank: int) -> bool:
    """The commonest value has fewer than c times the records of the rank-th and all rarer ones."""
    counts = sorted(Counter(members).values(), reverse=True)
    return counts[0] < factor * sum(counts[rank - 1 :])


def has_ratio(members: Sequence[Hashable], table: Sequence[Hashable], limit: Fraction) -> bool:
    """No value is more than t times as common in the class as in the table, nor 1/t times."""
    inside, whole = Counter(members), Counter(table)
    for value, n in whole.items():
        share, found = Fraction(n, len(table)), Fraction(inside[value], len(members))
        if found > limit * share or share > limit * found:
            return False
    return set(inside) <= set(whole)


def cut_stretches(table: Sequence[Any], n_groups: int) -> dict[Any, int]:
    """Stretches of ascending values: each takes values until it has its share of what is left.

    It leaves a value to each stretch after it.
    """
    counts, values = Counter(table), sorted(set(table))
    groups: dict[Any, int] = {}
    for group in range(n_groups):
        after = n_groups - group - 1
        rest = [v for v in values if v not in groups]
        share, taken = Fraction(sum(counts[v] for v in rest), after + 1), 0
        for value in rest[: len(rest) - after]:
            if taken >= share:
                break
            groups[value] = group
            taken += counts[value]
    return groups


def cut_at_ranks(table: Sequence[Any], n_buckets: int) -> dict[Any, int]:
    """Cuts at the ranks floor(i N/b + 1/2), each moved to the nearest change of value.

    Of two that are equally near to the lower one; cuts that meet are one.
    """
    ranked = sorted(table)
    changes = [i for i in range(1, len(ranked)) if ranked[i - 1] != ranked[i]]
    wanted = [
        floor(Fraction(i * len(ranked), n_buckets) + Fraction(1, 2)) for i in range(1, n_buckets)
    ]
    cuts = {min((abs(place - rank), place) for place in changes)[1] for rank in wanted}
    return {value: sum(cut <= i for cut in cuts) for i, value in enumerate(ranked)}


def reached_by_noise(epsilon: Fraction, n_records: int, smallest: int) -> Fraction:
    """The t of Proposition 1, a hair too small: w + (1 - w) exp(epsilon), w the smallest share."""
    context = Context(prec=40)
    factor = context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    share = Fraction(smallest, n_records)
    return share + (1 - share) * Fraction(factor) * (1 - Fraction(1, 10**30))


class Boxes:
    """All boxes of released quasi-identifiers: a range of every ordered one, a set of others.

    Parameters
    ----------
    coordinates
        Of each axis the value of each class; None stands for axes without an order.
    is_ordered
        Whether each axis has an order.
    """

    MAX_SETS = 9

    def __init__(self, coordinates: Sequence[Sequence[Any]], is_ordered: Sequence[bool]) -> None:
        self.axes: list[tuple[np.ndarray, list[np.ndarray]]] = []
        for column, has_order in zip(coordinates, is_ordered, strict=True):
            values = sorted(set(column)) if has_order else sorted(set(column), key=repr)
            codes = np.array([values.index(v) for v in column])
            sides = _ranges(len(values)) if has_order else self._sets(len(values))
            self.axes.append((codes, list(sides)))

    def _sets(self, n_values: int) -> Iterator[np.ndarray]:
        if n_values > self.MAX_SETS:
            raise ValueError("too many categories for all of their sets")
        for size in range(1, n_values + 1):
            for chosen in combinations(range(n_values), size):
                side = np.zeros(n_values, dtype=bool)
                side[list(chosen)] = True
                yield side

    def around(self, i: int) -> Iterator[np.ndarray]:
        """Which classes are in each box that holds class i; bool (classes,)."""
        sides = [
            [side[codes] for side in all_sides if side[codes[i]]] for codes, all_sides in self.axes
        ]
        seen = set()
        for box in product(*sides):
            inside = np.logical_and.reduce(box)
            if (key := inside.tobytes()) not in seen:
                seen.add(key)
                yield inside


def _ranges(n_values: int) -> Iterator[np.ndarray]:
    for low in range(n_values):
        for high in range(low, n_values):
            side = np.zeros(n_values, dtype=bool)
            side[low : high + 1] = True
            yield side
