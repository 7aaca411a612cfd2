"""Coarse cuts along the quasi-identifiers: which records of a subset go to the same region.

The cuts are taken from a sample, so they decide where regions meet, never how many records of a
subset a region gets: that is decided by exact ranks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.assign_subsets import assign_subsets
from tclose.kernels.clustering.blocks import axis_keys, widest_axis
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64
from tclose.passes.plan.quantile_subsets import Subsets

# Smaller regions would be more parallel, but classes meet no others than those of their region:
# four regions of 134,000 records lost half as much again as one. Not a quarter of a million: tables
# of a million are cut as before when some records have left.
MIN_REGION_RECORDS = 240_000
MAX_REGION_RECORDS = 500_000
USUAL_REGIONS = 16
LEAVES_PER_REGION = 16
SAMPLE_PER_LEAF = 64
MAX_SAMPLE = 500_000
# The axis of a node whose records are drawn, by numbers made of their positions.
DRAWN = -1
# How far from a half, as a share of the records, halves of equal keys may be.
NEARLY_HALF = 0.1
# How far apart the shares of subsets that a cut puts into the first half may be: their standard
# deviation, beyond what that of a sample is by chance.
MOST_UNEVEN = 0.01


def count_regions(n_records: int, most_records: int | None = None) -> int:
    """Regions of a release partition: a power of two, by the number of records alone.

    ``most_records``: of a region, for methods that look at fewer of them together.
    """
    if most_records is not None:
        return 1 << (ceil(n_records / most_records) - 1).bit_length()
    most = max(1, n_records // MIN_REGION_RECORDS)
    least = ceil(n_records / MAX_REGION_RECORDS)
    usual = min(most, USUAL_REGIONS)
    if usual >= least:
        return 1 << (usual.bit_length() - 1)
    return 1 << (least - 1).bit_length()


def sample_size(n_records: int, class_size: int, most_records: int | None = None) -> int:
    """Records that the coarse cuts are taken from; they decide where, never how many."""
    n_regions = count_regions(n_records, most_records)
    if n_regions == 1:
        return 0
    return min(n_regions * LEAVES_PER_REGION * class_size * SAMPLE_PER_LEAF, MAX_SAMPLE)


@dataclass(frozen=True, eq=False)
class CoarseTree:
    """Cuts that order a release partition's records by place, as `find_leaves` takes them."""

    axes: NDArray[np.int32]
    thresholds: Float64

    @property
    def n_leaves(self) -> int:
        """Leaves, from left to right."""
        return self.axes.size + 1


def grow_tree(
    scaled: Scaled, subsets: NDArray[np.int32], n_subsets: int, n_leaves: int, n_regions: int = 1
) -> CoarseTree:
    """Cut a sample in halves along its quasi-identifiers.

    Regions are cut apart along what makes their halves most alike, all subsets at one key, or their
    records are drawn; leaves within them along what is widest, each subset at its own key.

    Returns
    -------
    A tree with ``n_leaves`` (a power of two) leaves.
    """
    axes = np.zeros(n_leaves - 1, dtype=np.int32)
    thresholds = np.zeros((n_subsets, n_leaves - 1))
    counts = np.zeros(scaled.n_levels, dtype=np.int64)
    columns = scaled.numeric, scaled.nominal
    members: list[Int64] = [np.argsort(subsets, kind="stable")]  # halves stay in that order
    for node in range(n_leaves - 1):
        rows = members[node]
        left = np.arange(rows.size) % 2 == 0
        if node < n_regions - 1:
            axes[node], thresholds[:, node] = _divide(scaled, rows, subsets)
            if axes[node] != DRAWN:
                left = axis_keys(*columns, axes[node], rows) <= thresholds[0, node]
        elif rows.size:
            axes[node] = widest_axis(*columns, scaled.weights, scaled.heights, rows, counts)
            keys = axis_keys(*columns, axes[node], rows)
            thresholds[:, node] = _halve(keys)
            for s, of_subset in _by_subset(subsets[rows]):
                thresholds[s, node] = _halve(keys[of_subset])
            left = keys <= thresholds[subsets[rows], node]
        members += [rows[left], rows[~left]]
    return CoarseTree(axes, thresholds)


def _by_subset(subsets: NDArray[np.int32]) -> Iterator[tuple[int, slice]]:
    """Each subset in an ascending list of them, and where its records are."""
    ends = [0, *(np.flatnonzero(subsets[1:] != subsets[:-1]) + 1).tolist(), subsets.size]
    for start, stop in pairwise(ends):
        yield int(subsets[start]), slice(start, stop)


def _divide(scaled: Scaled, rows: Int64, subsets: NDArray[np.int32]) -> tuple[int, float]:
    """The quasi-identifier along which the spread of rows falls most if they are halved, and where.

    Halves of two categories have one each, those of twenty are nearly as wide as the whole. What
    confidential values depend on is left aside: a region has as many records of every subset, so
    some would have to be with others than those near them. Where nothing is left records are drawn:
    each half is like the whole then, with fewer near records, but none of them is apart.
    """
    best, found = 0.0, (DRAWN, 0.0)
    for axis in _axes(scaled) if rows.size else ():
        keys = axis_keys(scaled.numeric, scaled.nominal, axis, rows)
        cut = _halve(keys)
        is_left = keys <= cut
        share = float(is_left.mean())
        if (
            abs(share - 0.5) > NEARLY_HALF
            or _measure_unevenness(is_left, subsets[rows]) > MOST_UNEVEN
        ):
            continue
        fall = _measure_fall(scaled, axis, rows, is_left)
        if fall > best:
            best, found = fall, (axis, cut)
    return found


def _axes(scaled: Scaled) -> Iterator[int]:
    """Quasi-identifiers by their lowest rows, numeric ones first."""
    yield from range(scaled.numeric.shape[0])
    lowest = 0
    while lowest < scaled.nominal.shape[0]:
        yield scaled.numeric.shape[0] + lowest
        lowest += int(scaled.heights[lowest])


def _measure_unevenness(is_left: NDArray[np.bool_], subsets: NDArray[np.int32]) -> float:
    """Standard deviation over subsets of their shares on the left, beyond that by chance alone.

    ``is_left``, ``subsets``: of sampled records (n,), these ascending.
    """
    n_left = np.array([int(is_left[one].sum()) for _, one in _by_subset(subsets)])
    sizes = np.array([one.stop - one.start for _, one in _by_subset(subsets)])
    n, share = int(sizes.sum()), float(n_left.sum()) / int(sizes.sum())
    squares = float((sizes * (n_left / sizes - share) ** 2).sum()) / n
    by_chance = share * (1.0 - share) * (sizes.size - 1) / n
    return sqrt(max(0.0, squares - by_chance))


def _measure_fall(scaled: Scaled, axis: int, rows: Int64, is_left: NDArray[np.bool_]) -> float:
    """The spread of rows along an axis, less that within both halves of them."""
    halves = rows[is_left], rows[~is_left]
    within = sum(half.size * _measure_spread(scaled, axis, half) for half in halves)
    return _measure_spread(scaled, axis, rows) - within / rows.size


def _measure_spread(scaled: Scaled, axis: int, rows: Int64) -> float:
    """As `widest_axis` has it; added up one after the other, which is the same everywhere."""
    if not rows.size:
        return 0.0
    if axis < scaled.numeric.shape[0]:
        values = scaled.numeric[axis, rows]
        mean = np.cumsum(values)[-1] / rows.size
        return float(np.cumsum((values - mean) ** 2)[-1]) / rows.size
    lowest, spread = axis - scaled.numeric.shape[0], 0.0
    for j in range(lowest, lowest + int(scaled.heights[lowest])):
        n_alike = int((np.bincount(scaled.nominal[j, rows]) ** 2).sum())
        spread += float(scaled.weights[j]) * 0.5 * (1.0 - n_alike / rows.size**2)
    return spread


def _halve(keys: Float64) -> float:
    """The key at which keys are cut in two: up to it there are half of them, or somewhat more.

    Where that is far more, because many are equal, and nearly half of them are below it, the cut is
    there: of 49 and 51 per cent the first ones are a half, in every subset.
    """
    middle = (keys.size - 1) // 2
    median = float(np.partition(keys, middle)[middle])
    below, n_through = keys[keys < median], int((keys <= median).sum())
    is_near = n_through <= (0.5 + NEARLY_HALF) * keys.size
    if is_near or below.size < (0.5 - NEARLY_HALF) * keys.size:
        return median
    return float(below.max())


def one_leaf(subsets: Subsets, n_cells: int = 1) -> CoarseTree:
    """The tree of a release partition that has one region."""
    return CoarseTree(np.empty(0, dtype=np.int32), np.empty((subsets.sizes.size * n_cells, 0)))


def sample_leaves(
    plan_subsets: Subsets,
    codes: Int64,
    scaled: Scaled,
    n_regions: int,
    cells: tuple[Int64 | int, int] = (0, 1),
    *,
    is_balanced: bool = True,
) -> CoarseTree:
    """Grow the coarse tree of a release partition of several regions from its sample.

    ``codes``, ``cells``: of the sample's records int64 (n,), and how many cells there are;
    ``is_balanced``: whether classes take records of all subsets. Others are made of near records,
    and go the farther the less confidential values depend on places within a region.
    """
    of_cell, n_cells = cells
    n_strata = plan_subsets.sizes.size * n_cells
    n_supported = max(1, codes.size // (n_strata * SAMPLE_PER_LEAF))
    finest = 1 << (n_supported.bit_length() - 1)
    n_leaves = max(n_regions, min(finest, n_regions * LEAVES_PER_REGION))
    unseen = np.zeros(plan_subsets.tie_codes.size, dtype=np.int64)
    subsets = assign_subsets(
        codes, plan_subsets.cut_codes, plan_subsets.cut_ranks, plan_subsets.tie_codes,
        plan_subsets.tie_rule, unseen,
    )  # fmt: skip
    strata = (subsets * n_cells + of_cell).astype(np.int32)
    return grow_tree(scaled, strata, n_strata, n_leaves, n_regions if is_balanced else 1)
