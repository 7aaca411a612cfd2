"""Counts of some records for the analyses: of their values and of those released for them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Keys
from tclose.kernels.aggregate import sum_by_group
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.analyses.count_ranges import count_ranges
from tclose.passes.microaggregate.analyses.failing_measures import try_measuring
from tclose.passes.microaggregate.analyses.workload import Parts8, Workload
from tclose.passes.microaggregate.utility import quiet

Counts = NDArray[Any]  # of records: unsigned, as small as can be, or int64

# Numbers of an attribute, original and released: float64 (n,) each.
_Pair = tuple[Float64, Float64]


@dataclass(frozen=True, eq=False)
class RecordCounts:
    """Counts of some records, in two rows: by their values, and by the released ones.

    Records are counted in the smallest type that holds as many: there may be many regions.
    ``ranges`` (2, q): those that meet each query; ``parts`` (2, p): those in each part of each
    column, one column after the other; ``cells`` int64 (c,) and ``in_cells`` (2, c): of the tables
    of each two columns with categories, one table after the other and row by row, places of the
    cells that are not empty, and records in them; ``sums`` float64 (2, s): of each column with
    categories and each number, the sums of the numbers less their shift, category by category;
    ``unchanged`` int64 (QIs + 1,): records that are released as they are by each quasi-identifier,
    and by all.
    """

    ranges: Counts
    parts: Counts
    cells: Int64
    in_cells: Counts
    sums: Float64
    unchanged: Int64


class RecordCounter:
    """Counts the records of a region, whose quasi-identifiers come one after the other.

    Parameters
    ----------
    codes : int64 (p, n): confidential values as positions in their distributions, in the order of
        the keys

    ``failure``: why the records cannot be counted, or empty.
    """

    def __init__(self, workload: Workload, codes: Int64) -> None:
        self._workload, self._codes = workload, codes
        self._quasi: list[tuple[Parts8, Parts8]] = []
        self._same: list[NDArray[Any]] = []
        self.failure = workload.failure

    def add(self, original: Keys, find: Callable[[], tuple[Keys, NDArray[Any]]]) -> None:
        """Take the next quasi-identifier: keys of the records, class by class.

        Parameters
        ----------
        find : released keys of the records, and which stayed as they were
        """
        if not self.failure:
            _, self.failure = try_measuring(lambda: self._add(original, *find()))

    def _add(self, original: Keys, released: Keys, same: NDArray[Any]) -> None:
        column = self._workload.quasi[len(self._quasi)]
        self._quasi.append((column.find(original), column.find(released)))
        self._same.append(same)

    def count(self, order: Int64, numbers: Sequence[_Pair]) -> tuple[RecordCounts, ...]:
        """Count what was added; nothing where that failed.

        Parameters
        ----------
        order : of the records, class by class
        numbers : of the compared columns, in the same order
        """
        counted = None
        if not self.failure:
            counted, self.failure = try_measuring(lambda: self._count(order, numbers))
        return () if counted is None else (counted,)

    def _count(self, order: Int64, numbers: Sequence[_Pair]) -> RecordCounts:
        work = self._workload
        released = [
            column.find(codes[order])
            for column, codes in zip(work.confidential, self._codes, strict=False)
        ]
        sides = [[*(pair[side] for pair in self._quasi), *released] for side in (0, 1)]
        n_parts = [column.n_parts for column in work.columns]
        tables = np.array([_count_tables(codes, work) for codes in sides])
        cells = np.flatnonzero(tables.any(axis=0))
        chosen = numbers[: work.shifts.size]
        small = np.min_scalar_type(order.size)
        ranges = np.array([count_ranges(codes, n_parts, work.queries) for codes in sides])
        return RecordCounts(
            ranges.astype(small),
            np.array([_count_parts(codes, n_parts) for codes in sides]).astype(small),
            cells,
            tables[:, cells].astype(small),
            np.array([_sum_numbers(sides[i], [pair[i] for pair in chosen], work) for i in (0, 1)]),
            np.array([int(same.sum()) for same in (*self._same, np.all(self._same, axis=0))]),
        )


def _count_parts(codes: Sequence[Parts8], n_parts: Sequence[int]) -> Int64:
    return np.concatenate(
        [np.bincount(c, minlength=n) for c, n in zip(codes, n_parts, strict=True)]
    )


def _count_tables(codes: Sequence[Parts8], work: Workload) -> Int64:
    """Count the records in each cell of the tables of two columns, one after the other."""
    columns = work.columns
    tables = [np.empty(0, dtype=np.int64)]
    for i, j in work.pairs:
        n_rows, n_columns = columns[i].n_parts, columns[j].n_parts
        cells = codes[i].astype(np.int64) * n_columns + codes[j]
        tables.append(np.bincount(cells, minlength=n_rows * n_columns))
    return np.concatenate(tables)


@quiet
def _sum_numbers(codes: Sequence[Parts8], numbers: Sequence[Float64], work: Workload) -> Float64:
    """Sum each number less its shift over the records of each part of each categorical column."""
    shifted = np.empty((len(numbers), codes[0].size if codes else 0))
    for row, values, shift in zip(shifted, numbers, work.shifts, strict=True):
        np.subtract(values, shift, out=row)
    sums = [
        sum_by_group(codes[place].astype(np.int64), shifted, work.columns[place].n_parts).ravel()
        for place in work.categorical
    ]
    return np.concatenate([np.empty(0), *sums])


def sum_counts(parts: Sequence[RecordCounts]) -> RecordCounts:
    """The counts of all parts, of which there is one at least, with all cells among them."""
    n_cells = max((int(part.cells[-1]) + 1 for part in parts if part.cells.size), default=0)
    in_cells = np.zeros((2, n_cells), dtype=np.int64)
    for part in parts:
        in_cells[:, part.cells] += part.in_cells
    return RecordCounts(
        _add(part.ranges for part in parts),
        _add(part.parts for part in parts),
        np.arange(n_cells),
        in_cells,
        np.sum([part.sums for part in parts], axis=0),
        _add(part.unchanged for part in parts),
    )


def _add(counts: Iterable[Counts]) -> Int64:
    return reduce(np.add, (one.astype(np.int64) for one in counts))
