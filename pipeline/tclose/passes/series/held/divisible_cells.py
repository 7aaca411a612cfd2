"""Cells of which some persons may leave, whoever they are.

If those who left a cell were let go as soon as they hold by themselves, whoever stays would be
known to be above a t: of a cell of ten with two ill persons in it, the five who left and have to
stay have both. So it is not decided by their values, but by what the releases so far say of the
cell: whichever of its persons had left, so many of them would hold, and so would the others. Then
nobody learns anything from who stays (Kenthapadi, Mishra and Nissim, *Simulatable auditing*, PODS
2005).

Of g persons out of n, of whom c have a value up to some point, at least g - (n - c) and at most
the smaller of g and c do. The largest differences to the table bound the distance of any g.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.tree_counts import count_below
from tclose.model.array_types import Bools, Int64, Integers
from tclose.model.distribution import Distribution
from tclose.passes.series.series_cells import KnownRelease


def find_divisible(
    window: Sequence[KnownRelease], cells: Integers, n_left: Int64, asked: Bools, k: int
) -> Bools:
    """Find the cells of which any persons may leave, so many as have: bool (c,).

    Parameters
    ----------
    window : the earlier releases, the one before last
    cells : (persons,): of each person
    n_left : int64 (c,): persons of each cell who left
    asked : bool (c,): cells of the release before that are looked at; others are not found
    """
    sizes = np.bincount(cells[window[-1].rows], minlength=asked.size)
    divisible = asked & (n_left >= k) & (sizes - n_left >= k)
    for release in window:
        chosen = np.flatnonzero(divisible[cells[release.rows]])
        order, starts = group_by_label(cells[release.rows[chosen]].astype(np.int64), asked.size)
        for cell in np.flatnonzero(np.diff(starts)).tolist():
            members = chosen[order[starts[cell] : starts[cell + 1]]]
            parts = {int(n_left[cell]), members.size - int(n_left[cell])}
            divisible[cell] = all(
                bound_parts(codes[members].astype(np.int64), part, table) <= limit
                for limit, codes, table in zip(
                    release.limits, release.codes, release.tables, strict=True
                )
                for part in parts
            )
    return divisible


def bound_parts(codes: Int64, n_part: int, table: Distribution) -> Fraction:
    """A bound on the distance to the table of any part of a group of records.

    Parameters
    ----------
    codes : int64 (n,): positions of the group's values in the distribution
    n_part : records of the part, 1 to n
    """
    counts = np.bincount(codes, minlength=table.values.size)
    metric = table.metric
    if metric is None:
        if table.values.size == 1:
            return Fraction(0)
        differences = _bound_counts(
            np.cumsum(counts)[:-1], codes.size, n_part, table.cumulative[:-1], table.n_records
        )
        work, scale = int(differences.sum()), table.values.size - 1
    else:
        below = count_below(metric.paths, counts, metric.below.size)
        differences = _bound_counts(below, codes.size, n_part, metric.below, table.n_records)
        work, scale = int((differences * metric.numerators).sum()), metric.denominator
    return Fraction(work, n_part * table.n_records * scale)


def _bound_counts(counts: Int64, n_group: int, n_part: int, of_table: Int64, n_table: int) -> Int64:
    """The largest difference of shares at each point, in parts of 1 / (part x table): int64 (m,).

    Parameters
    ----------
    counts, of_table : int64 (m,): records of the group and of the table up to each point
    """
    fewest = np.maximum(0, n_part - (n_group - counts))
    most = np.minimum(n_part, counts)
    expected = of_table * n_part
    largest: Int64 = np.maximum(
        np.abs(fewest * n_table - expected), np.abs(most * n_table - expected)
    )
    return largest
