"""Special uniques: records that few columns tell from all others, and scores of how few.

Elliot, Manning and Ford, *A computational algorithm for handling the special uniques problem*
(2002): a *minimal sample unique* (MSU) of a record is a set of columns whose values no other record
has, while every smaller part of the set is shared. The fewer columns, and the more such sets, the
likelier a unique of a sample is one of the population, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Float64, Int64

MOST_SIZE = 4  # columns of a set that is looked at
MOST_SETS = 400  # that are looked at: half a second of ten thousand records
MOST_COLUMNS = 27  # of which all pairs are looked at

Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques of n records in m columns, in sets of ``max_size`` columns at most.

    ``n_msus`` int64 (max_size, n): of each record those of 1, 2, ... columns; ``of_columns`` int64
    (max_size, m): over all records those that a column takes part in; ``groups`` int64 (g,): of the
    records that are alike in all columns, how many there are.
    """

    n_msus: Int64
    of_columns: Int64
    groups: Int64

    @property
    def max_size(self) -> int:
        """The most columns of a set that was looked at."""
        return int(self.n_msus.shape[0])

    @property
    def weights(self) -> Int64:
        """Points that an MSU of 1, 2, ... columns adds to a record's score: int64 (max_size,).

        The product of m - i for i from its size to the largest one (Elliot, Manning and Ford 2002).
        """
        n_columns, largest = self.of_columns.shape[1], self.max_size
        factors = [max(1, n_columns - i) for i in range(largest + 1)]
        return np.array([prod(factors[size:]) for size in range(1, largest + 1)], dtype=np.int64)

    @property
    def scores(self) -> Int64:
        """SUDA scores of the records: int64 (n,)."""
        return self.weights @ self.n_msus

    @property
    def smallest(self) -> Int64:
        """Columns of each record's smallest MSU, 0 of one without: int64 (n,)."""
        there = self.n_msus > 0
        return np.where(there.any(axis=0), there.argmax(axis=0) + 1, 0).astype(np.int64)

    @property
    def n_unique(self) -> int:
        """Records that no other is like in all columns."""
        return int(np.count_nonzero(self.groups == 1))

    @property
    def n_pairs(self) -> int:
        """Groups of two records that are alike in all columns."""
        return int(np.count_nonzero(self.groups == 2))

    @property
    def contributions(self) -> Float64:
        """The share of all scores in which each column takes part: float64 (m,)."""
        total = max(1, int(self.scores.sum()))
        return (self.weights @ self.of_columns) / total


def choose_set_size(n_columns: int) -> int:
    """Choose how many columns a set may have: 4 at most, fewer where there are too many sets.

    Fewer than there are columns, as scores need it, but of one.
    """
    largest = max(1, min(MOST_SIZE, n_columns - 1))
    while largest > 1 and sum(comb(n_columns, s) for s in range(1, largest + 1)) > MOST_SETS:
        largest -= 1
    return largest


def find_special_uniques(columns: Sequence[Int64], max_size: int) -> SpecialUniques:
    """Find the minimal sample uniques of some records.

    Records that a set of columns tells apart need not be looked at in larger ones: what is unique
    there among the others, which no part of the set tells apart, is a minimal sample unique.

    Parameters
    ----------
    columns : of each, a number for every record, equal where values are: int64 (n,)
    """
    n_records = columns[0].size
    n_msus = np.zeros((max_size, n_records), dtype=np.int64)
    of_columns = np.zeros((max_size, len(columns)), dtype=np.int64)
    alike = _count_alike(columns)
    if not (alike == 1).any():  # nobody is told apart by all columns, so by no fewer
        return SpecialUniques(n_msus, of_columns, alike)
    everyone = np.zeros(n_records, dtype=np.int32)
    numbered = [_group(everyone, _number(column)) for column in columns]
    before: dict[tuple[int, ...], Places] = {(): everyone}
    for size in range(1, max_size + 1):
        groupings: dict[tuple[int, ...], Places] = {}
        for chosen in combinations(range(len(columns)), size):
            live = np.logical_and.reduce(
                [before[part] >= 0 for part in combinations(chosen, size - 1)]
            )
            shared = np.where(live, before[chosen[:-1]], -1)
            groups = _group(shared, numbered[chosen[-1]])
            alone = live & (groups < 0)
            n_msus[size - 1] += alone
            of_columns[size - 1, list(chosen)] += np.count_nonzero(alone)
            groupings[chosen] = groups
        before = groupings
    return SpecialUniques(n_msus, of_columns, alike)


def _number(values: Int64) -> Places:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _group(first: Places, second: Places) -> Places:
    """Number the groups of records that are alike in both; -1 of a record that is alone.

    Records with -1 in either are left out, as they are in no group.
    """
    groups = np.full(first.size, -1, dtype=np.int32)
    rows = np.flatnonzero((first >= 0) & (second >= 0))
    if rows.size:
        pairs = first[rows].astype(np.int64) * (int(second.max()) + 1) + second[rows]
        _, places, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        groups[rows] = np.where(counts[places] > 1, places, -1)
    return groups


def _count_alike(columns: Sequence[Int64]) -> Int64:
    """Records of each group that is alike in all columns: int64 (g,)."""
    alike = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        numbers = _number(column)
        alike = _number(alike * (int(numbers.max(initial=0)) + 1) + numbers).astype(np.int64)
    return np.bincount(alike)


def measure_intrusion(n_unique: int, n_pairs: int, fraction: float) -> float | None:
    """Estimate the probability that whoever matches a unique of a sample is right: DIS.

    Skinner and Elliot, *A measure of disclosure risk for microdata* (2002), from the uniques and
    the pairs of a sample of a share of the population; None without uniques.

    Parameters
    ----------
    n_unique : records that no other is like
    n_pairs : groups of two records that are alike
    """
    right = n_unique * fraction
    return right / (right + 2 * n_pairs * (1 - fraction)) if n_unique else None


def spread_intrusion(uniques: SpecialUniques, fraction: float) -> Float64:
    """Spread the measure of the whole file over its records by their scores: DIS-SUDA, (n,).

    As sdcMicro does (`suda2`, source `Suda2.h`): 1 / (1 + (U / D - U) / (s^q A)) of a record with
    score s, 0 of one without; U uniques, D their measure, A the sum of s^-q, q = 1 + (8 - m) / 20.
    """
    scores, n_unique = uniques.scores, uniques.n_unique
    risk = measure_intrusion(n_unique, uniques.n_pairs, fraction)
    if risk is None or not scores.any():
        return np.zeros(scores.size)
    power = 1 + (8 - uniques.of_columns.shape[1]) / 20
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    risen = values[values > 0].astype(np.float64) ** power
    total = float((counts[values > 0] / risen).sum())
    of_values = np.zeros(values.size)
    of_values[values > 0] = 1 / (1 + (n_unique / risk - n_unique) / (risen * total))
    return of_values[places.reshape(-1)]
