"""Mondrian multidimensional partitioning: halves of halves, cut at medians.

LeFevre, DeWitt, Ramakrishnan, *Mondrian multidimensional k-anonymity* (ICDE 2006), with
any requirement in place of k, as Li, Li and Venkatasubramanian (TKDE 22, 2010) use it for t.

A cut is strict: no value is on both sides. It is made along the attribute with the widest span
in the class; where that one has no cut whose halves both meet the requirement, along the next.

The tree grows level by level. The open classes of a level are tried together: one call of the
requirement tells for each of them whether its best untried cut may be made.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import DataError, InfeasibleError
from tclose.kernels.aggregate import group_by_label
from tclose.methods.clustering_problem import label_records
from tclose.model.array_types import Bools, Float64, Int64

Holds = Callable[[Int64, Int64], Bools]


def partition_mondrian(
    numeric: Float64, nominal: NDArray[np.int32], n_levels: Int64, holds: Holds
) -> Int64:
    """Classes of records, none of which can be cut any further.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers divided by their range
    nominal : int32 (q, n): codes from 0, in the order in which the values may be cut (of a
        taxonomy: its leaves from left to right)
    n_levels : int64 (q,): how many codes each nominal one has
    holds : takes records ``order`` int64 (m,) and ``starts`` int64 (c + 1,), where class i is
        ``order[starts[i]:starts[i + 1]]``, and gives bool (c,): which classes meet the requirement.
        It depends on the classes alone, not on how their records are ordered.

    Returns
    -------
    int64 (n,): class of each record. Classes are numbered in the order of the cuts: those of a
    lower half come before those of the upper one. The same whatever order the records come in.

    Raises
    ------
    DataError
        No record.
    InfeasibleError
        Nothing can be cut and all records together do not meet the requirement.
    """
    axes = _make_axes(numeric, nominal, n_levels)
    n_records = axes.ranks.shape[1]
    if n_records == 0:
        raise DataError("there is no record to make classes of; check the input and its filters")
    order, starts = np.arange(n_records), np.array([0, n_records])
    is_open = np.ones(1, dtype=bool)
    while is_open.any():
        order, starts, is_open = _grow_level(axes, order, starts, is_open, holds)
    if starts.size == 2 and not holds(order, starts)[0]:
        raise InfeasibleError(
            "all records in one class do not meet the requirement, so nothing does; ask for a "
            "smaller k or a larger t"
        )
    return label_records(order, starts)


@dataclass(frozen=True, eq=False)
class _Axes:
    """Quasi-identifiers as ranks int64 (a, n) of their distinct values and those values' places.

    ``places``: of each attribute float64 (u,), ascending; a difference of places is a span, as a
    share of the attribute's range.
    """

    ranks: Int64
    places: tuple[Float64, ...]


def _make_axes(numeric: Float64, nominal: NDArray[np.int32], n_levels: Int64) -> _Axes:
    ranks = np.empty((numeric.shape[0] + nominal.shape[0], numeric.shape[1]), dtype=np.int64)
    places = []
    widths = [1] * numeric.shape[0] + [max(int(n) - 1, 1) for n in n_levels]
    for j, (row, width) in enumerate(zip([*numeric, *nominal], widths, strict=True)):
        values, ranks[j] = np.unique(row, return_inverse=True)
        places.append(values / float(width))
    return _Axes(ranks, tuple(places))


def _grow_level(
    axes: _Axes, order: Int64, starts: Int64, is_open: Bools, holds: Holds
) -> tuple[Int64, Int64, Bools]:
    """Cut every open class that can be cut; the halves are open, whatever else is left is not.

    Returns
    -------
    order, starts, is_open : of the classes after the cuts, each in the place of its parent
    """
    members, ends = _take_classes(order, starts, is_open)
    sizes = np.diff(ends)
    preferred, spans = _rank_axes(axes, members, ends)
    is_upper = np.zeros(members.size, dtype=bool)
    n_lower = np.zeros(sizes.size, dtype=np.int64)
    for turn in range(preferred.shape[0]):
        tried = (n_lower == 0) & (spans[turn] > 0)
        if not tried.any():
            break
        _try_axis(axes, members, ends, preferred[turn], tried, (is_upper, n_lower), holds)
    moved = members[np.lexsort((is_upper, np.repeat(np.arange(sizes.size), sizes)))]
    order = order.copy()
    order[np.repeat(is_open, np.diff(starts))] = moved
    is_cut = np.zeros(is_open.size, dtype=bool)
    is_cut[is_open] = n_lower > 0
    middles = starts[:-1][is_cut] + n_lower[n_lower > 0]
    after = np.repeat(is_cut, 1 + is_cut)
    return order, np.sort(np.concatenate([starts, middles])), after


def _take_classes(order: Int64, starts: Int64, chosen: Bools) -> tuple[Int64, Int64]:
    """Records of the chosen classes alone and where each class begins."""
    sizes = np.diff(starts)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[chosen])])
    return order[np.repeat(chosen, sizes)], ends


def _rank_axes(axes: _Axes, members: Int64, ends: Int64) -> tuple[Int64, Float64]:
    """Attributes of each class from the widest to the narrowest, and their spans: both (a, c)."""
    spans = np.empty((len(axes.places), ends.size - 1))
    for j, places in enumerate(axes.places):
        ranks = axes.ranks[j][members]
        lowest = np.minimum.reduceat(ranks, ends[:-1])
        spans[j] = places[np.maximum.reduceat(ranks, ends[:-1])] - places[lowest]
    preferred = np.argsort(-spans, axis=0, kind="stable")
    return preferred, np.take_along_axis(spans, preferred, axis=0)


def _try_axis(
    axes: _Axes,
    members: Int64,
    ends: Int64,
    chosen: Int64,
    tried: Bools,
    halves: tuple[Bools, Int64],
    holds: Holds,
) -> None:
    """Try both cuts next to the median of each class's ``chosen`` attribute; enter those made.

    ``halves``: is_upper bool (m,), the side of each record, and n_lower int64 (c,), records of the
    lower half, 0 for classes that are not cut.
    """
    is_upper, n_lower = halves
    inside = np.repeat(tried, np.diff(ends))
    records, starts = _take_classes(members, ends, tried)
    sizes = np.diff(starts)
    ranks = axes.ranks[np.repeat(chosen[tried], sizes), records]
    medians, below, upto = _find_medians(ranks, starts)
    # Of two equally balanced cuts, the one that leaves the median in the lower half comes first.
    closed_first = np.abs(2 * upto - sizes) <= np.abs(2 * below - sizes)
    waiting = np.ones(sizes.size, dtype=bool)
    for is_first in (True, False):
        takes_median = closed_first == is_first
        lower = np.where(takes_median, upto, below)
        ready = waiting & (lower > 0) & (lower < sizes)
        sides = ranks > np.repeat(medians - ~takes_median, sizes)
        passed = _test_halves(records, starts, sides, ready, holds)
        cut = np.repeat(passed, sizes)
        is_upper[np.flatnonzero(inside)[cut]] = sides[cut]
        n_lower[np.flatnonzero(tried)[passed]] = lower[passed]
        waiting &= ~passed


def _find_medians(ranks: Int64, starts: Int64) -> tuple[Int64, Int64, Int64]:
    """Lower median of each class, how many records are below it, and how many up to it."""
    n_ranks = int(ranks.max()) + 1
    sizes = np.diff(starts)
    first = np.arange(sizes.size) * n_ranks
    ascending = np.sort(ranks + np.repeat(first, sizes))
    medians = ascending[starts[:-1] + (sizes - 1) // 2]
    below = np.searchsorted(ascending, medians, side="left") - starts[:-1]
    upto = np.searchsorted(ascending, medians, side="right") - starts[:-1]
    return medians - first, below, upto


def _test_halves(
    records: Int64, starts: Int64, is_upper: Bools, ready: Bools, holds: Holds
) -> Bools:
    """Return which of the ``ready`` classes may be cut: those of which both halves hold."""
    passed = np.zeros(ready.size, dtype=bool)
    if not ready.any():
        return passed
    ready_records, ends = _take_classes(records, starts, ready)
    of_class = np.repeat(np.arange(ends.size - 1), np.diff(ends))
    halves = 2 * of_class + is_upper[np.repeat(ready, np.diff(starts))]
    by_half, half_starts = group_by_label(halves, 2 * (ends.size - 1))
    passed[ready] = holds(ready_records[by_half], half_starts).reshape(-1, 2).all(axis=1)
    return passed
