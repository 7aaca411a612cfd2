"""Where a record goes, and where the records of a region stand: exact ranks, by counting alone."""

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from pipeline.kernels.blocks import find_leaves
from pipeline.model import Float64, Int64
from pipeline.stages.plan import Domain, Plan, Region


def bin_records(
    domain: Domain, strata: NDArray[np.int32], numeric: Float64, nominal: NDArray[np.int32]
) -> Int64:
    """Bin of each record of a domain: its subset and cell, then its leaf; int64 (n,).

    ``strata``: subset * n_cells + cell.
    """
    leaves = find_leaves(numeric, nominal, strata, domain.tree.axes, domain.tree.thresholds)
    return domain.first_bin + strata.astype(np.int64) * domain.tree.n_leaves + leaves


def locate_region(plan: Plan, region: Region, histogram: Int64) -> tuple[Int64, Int64]:
    """Where the records of a region stand in every encoded partition.

    A record's rank in its subset is by (leaf, position); partitions follow each other in position.
    A region takes a stretch of ranks of each subset, which is a stretch of rows in each partition.

    Parameters
    ----------
    histogram : int64 (partitions, bins): records of each partition in each bin

    Returns
    -------
    starts, stops : int64 (partitions, S * cells): rows of the partition, which is sorted by bin
    """
    domain = plan.domains[region.domain]
    n_cells = domain.cells.n_cells
    before = histogram[:, : domain.first_bin].sum(axis=1, keepdims=True)
    counts = histogram[:, domain.first_bin : domain.first_bin + domain.n_bins]
    counts = counts.reshape(histogram.shape[0], -1, domain.tree.n_leaves)
    of_stratum = counts.sum(axis=2)
    stratum_starts = before + np.cumsum(of_stratum, axis=1) - of_stratum
    sizes = of_stratum.sum(axis=0).reshape(-1, n_cells)
    ends = []
    for cluster in (region.first_cluster, region.last_cluster):
        of_subset = domain.subsets.records_before(cluster, domain.n_clusters)
        ranks = [share_out(of_cell, int(n)) for of_cell, n in zip(sizes, of_subset, strict=True)]
        ends.append(stratum_starts + _rows_before(counts, np.concatenate(ranks)))
    return ends[0], ends[1]


def share_out(sizes: Int64, total: int) -> Int64:
    """How many of the first ``total`` records of a subset come from each of its cells: int64 (L,).

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
    return taken


def _rows_before(counts: Int64, ranks: Int64) -> Int64:
    """Records of each partition and subset whose rank in the subset is below ``ranks`` (S,)."""
    totals = np.cumsum(counts.sum(axis=0), axis=1)
    n_partitions, n_subsets, n_leaves = counts.shape
    rows = np.empty((n_partitions, n_subsets), dtype=np.int64)
    for s in range(n_subsets):
        leaf = int(np.searchsorted(totals[s], ranks[s], side="right"))
        rows[:, s] = counts[:, s, :leaf].sum(axis=1)
        if leaf < n_leaves:
            inside = ranks[s] - (totals[s, leaf - 1] if leaf else 0)
            in_leaf = counts[:, s, leaf]
            earlier = np.cumsum(in_leaf) - in_leaf
            rows[:, s] += np.clip(inside - earlier, 0, in_leaf)
    return rows
