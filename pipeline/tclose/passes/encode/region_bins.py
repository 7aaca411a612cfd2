"""Bins of records, and the ranks of a region's records in them: exact, by counting alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.blocks import find_leaves
from tclose.model.array_types import Float64, Int64
from tclose.passes.plan.plan import Plan, Region, ReleasePartition


def bin_records(
    release_partition: ReleasePartition,
    strata: NDArray[np.int32],
    numeric: Float64,
    nominal: NDArray[np.int32],
    positions: Int64,
    units: Int64 | None = None,
) -> Int64:
    """Bin of each record of a release partition: its subset and cell, then its place; int64 (n,).

    ``strata``: subset * n_cells + cell; ``positions`` int64 (n,): in the table; ``units`` int64
    (n,): where regions are of units.
    """
    tree, regions = release_partition.tree, release_partition.unit_regions
    leaves = find_leaves(numeric, nominal, strata, positions, tree.axes, tree.thresholds)
    places = leaves
    if regions is not None and units is not None:
        places = regions.find(units, leaves, tree.n_leaves)
    of_stratum = strata.astype(np.int64) * release_partition.n_places
    return cast(Int64, release_partition.first_bin + of_stratum + places)


def locate_regions(
    plan: Plan, regions: Sequence[Region], histogram: Int64
) -> Iterator[tuple[Int64, Int64]]:
    """Yield the row ranges of each region's records in every encoded partition.

    A record's rank in its subset is by (leaf, position); partitions follow each other in position.
    A region takes a range of ranks of each subset, which is a range of rows in each partition;
    where regions are of units, all records that were placed in it.

    Parameters
    ----------
    regions : those of a release partition one after the other
    histogram : int64 (partitions, bins): records of each partition in each bin

    Yields
    ------
    starts, stops : int64 (partitions, S * cells): rows of the partition, which is sorted by bin
    """
    for index, of_partition in groupby(regions, key=lambda region: region.release_partition):
        ranks = _find_ranks(plan.release_partitions[index], histogram)
        for region in of_partition:
            yield ranks.rows_before(region.first_cluster), ranks.rows_before(region.last_cluster)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Records of a release partition by partition, stratum (subset and cell) and place.

    A place is a leaf, or a region of units. ``counts``, ``through`` int64 (partitions, strata,
    places): in a place, and up to its end; ``totals`` int64 (strata, places): the latter of all
    partitions; ``starts`` int64 (partitions, strata): where a stratum's rows begin.
    """

    release_partition: ReleasePartition
    counts: Int64
    through: Int64
    totals: Int64
    starts: Int64

    def rows_before(self, cluster: int) -> Int64:
        """Row of each partition and stratum at which a cluster's records begin, or a region's."""
        if self.release_partition.unit_regions is not None:
            return self.starts + (self.through[:, :, cluster - 1] if cluster else 0)
        of_subset = self.release_partition.subsets.records_before(
            cluster, self.release_partition.n_clusters
        )
        sizes = self.totals[:, -1].reshape(-1, self.release_partition.cells.n_cells)
        shared = [share_out(of_cell, int(n)) for of_cell, n in zip(sizes, of_subset, strict=True)]
        rows = self.starts.copy()
        for s, rank in enumerate(np.concatenate(shared)):
            leaf = int(np.searchsorted(self.totals[s], rank, side="right"))
            if leaf:
                rows[:, s] += self.through[:, s, leaf - 1]
            if leaf < self.totals.shape[1]:
                inside = rank - (self.totals[s, leaf - 1] if leaf else 0)
                in_leaf = self.counts[:, s, leaf]
                earlier = np.cumsum(in_leaf) - in_leaf
                rows[:, s] += np.clip(inside - earlier, 0, in_leaf)
        return rows


def _find_ranks(release_partition: ReleasePartition, histogram: Int64) -> _Ranks:
    before = histogram[:, : release_partition.first_bin].sum(axis=1, keepdims=True)
    counts = histogram[
        :, release_partition.first_bin : release_partition.first_bin + release_partition.n_bins
    ]
    counts = counts.reshape(histogram.shape[0], -1, release_partition.n_places)
    through = np.cumsum(counts, axis=2)
    of_stratum = through[:, :, -1]
    starts = before + np.cumsum(of_stratum, axis=1) - of_stratum
    return _Ranks(release_partition, counts, through, through.sum(axis=0), starts)


def share_out(sizes: Int64, total: int) -> Int64:
    """Apportion the first ``total`` records of a subset to its cells: int64 (L,).

    The records are dealt out so that every beginning holds each cell in proportion: record r of
    the n of a cell has its turn at (r + 1/2) / n, of equals the first cell. What is before an
    earlier end is before a later one, too.
    """
    n_cells, n_records = sizes.size, int(sizes.sum())
    if n_cells == 1 or total >= n_records:
        return np.minimum(sizes, total)
    # No cell can be further ahead of its proportion than half a record of each cell.
    shares = sizes * (total / n_records - n_cells / n_records) - 1
    taken = np.clip(np.floor(shares).astype(np.int64), 0, sizes)
    turns = [((r + 0.5) / n, c) for c, (r, n) in enumerate(zip(taken, sizes, strict=True)) if r < n]
    heapify(turns)
    for _ in range(total - int(taken.sum())):
        _, c = heappop(turns)
        taken[c] += 1
        if taken[c] < sizes[c]:
            heappush(turns, ((taken[c] + 0.5) / sizes[c], c))
    return cast(Int64, taken)
