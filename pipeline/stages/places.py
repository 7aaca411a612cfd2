"""Where a record goes, and where the records of a region stand: exact ranks, by counting alone."""

import numpy as np
from numpy.typing import NDArray

from pipeline.kernels.blocks import find_leaves
from pipeline.model import Float64, Int64
from pipeline.stages.plan import Domain, Plan, Region


def bin_records(
    domain: Domain, subsets: NDArray[np.int32], numeric: Float64, nominal: NDArray[np.int32]
) -> Int64:
    """Bin of each record of a domain: its subset, then its leaf; int64 (n,)."""
    leaves = find_leaves(numeric, nominal, subsets, domain.tree.axes, domain.tree.thresholds)
    return domain.first_bin + subsets.astype(np.int64) * domain.tree.n_leaves + leaves


def locate_region(plan: Plan, region: Region, histogram: Int64) -> tuple[Int64, Int64]:
    """Where the records of a region stand in every encoded partition.

    A record's rank in its subset is by (leaf, position); partitions follow each other in position.
    A region takes a stretch of ranks of each subset, which is a stretch of rows in each partition.

    Parameters
    ----------
    histogram : int64 (partitions, bins): records of each partition in each bin

    Returns
    -------
    starts, stops : int64 (partitions, S): rows of the partition, which is sorted by bin
    """
    domain = plan.domains[region.domain]
    before = histogram[:, : domain.first_bin].sum(axis=1, keepdims=True)
    counts = histogram[:, domain.first_bin : domain.first_bin + domain.n_bins]
    counts = counts.reshape(histogram.shape[0], domain.subsets.sizes.size, domain.tree.n_leaves)
    of_subset = counts.sum(axis=2)
    subset_starts = before + np.cumsum(of_subset, axis=1) - of_subset
    ranks = [
        domain.subsets.records_before(cluster, domain.n_clusters)
        for cluster in (region.first_cluster, region.last_cluster)
    ]
    starts, stops = (subset_starts + _rows_before(counts, rank) for rank in ranks)
    return starts, stops


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
