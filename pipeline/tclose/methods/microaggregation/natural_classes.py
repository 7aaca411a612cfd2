"""Natural classes: groups of records with equal quasi-identifiers that meet all that is asked.

They lose nothing, so a search that begins with clusters of mixed records has to find them again.
Here they are classes from the start, and only the other records are clustered.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.algorithm3 import cluster_blocks
from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, SubsetCut
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64

# What more of the records may stand in classes above t than in the other start, which is balanced.
MORE_ABOVE = 0.1


def cluster_by_subsets(scaled: Scaled, cut: SubsetCut) -> Clustering:
    """Algorithm 3 in blocks of records: clusters of each block, and where each block's begin."""
    columns = scaled.numeric, scaled.nominal, scaled.weights
    order, starts, sizes = cut_blocks(
        *columns,
        scaled.n_levels,
        cut.cells,
        cut.subset_starts,
        cut.take,
        cut.n_clusters,
        cut.block_clusters,
    )
    labels = cluster_blocks(*columns, order, starts, sizes, cut.take)
    block_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return Clustering(labels, block_starts=block_starts)


def keep_natural(problem: ClusteringProblem, plain: Clustering) -> Clustering:
    """The start that keeps the natural classes, if it loses no more than the plain one.

    The other records are cut into subsets of their own. Where natural classes take too much of
    what these need to be like the table, more of them are above t, and the plain start remains.
    """
    groups, is_natural = find_natural(problem)
    if not is_natural.any():
        return plain
    kept = _cluster_others(problem, groups, is_natural)
    if _share_above(problem, kept) > _share_above(problem, plain) + MORE_ABOVE:
        return plain
    return kept if _measure(problem, kept) <= _measure(problem, plain) else plain


def find_natural(problem: ClusteringProblem) -> tuple[Int64, NDArray[np.bool_]]:
    """Group the records by their quasi-identifiers.

    Returns
    -------
    groups : int64 (n,): of each record, from 0 without gaps, ascending by their keys
    is_natural : bool (groups,): whether a group has k records and meets every t and model
    """
    n_records = problem.keys[0].size
    by_keys = np.lexsort(problem.keys[::-1])
    changes = np.zeros(n_records, dtype=bool)
    changes[:1] = True
    for column in problem.keys:
        changes[1:] |= column[by_keys[1:]] != column[by_keys[:-1]]
    groups = np.empty(n_records, dtype=np.int64)
    groups[by_keys] = np.cumsum(changes) - 1
    n_groups = int(changes.sum())
    is_natural = np.zeros(n_groups, dtype=bool)
    large = np.bincount(groups, minlength=n_groups) >= problem.k
    rows = np.flatnonzero(large[groups])
    if rows.size:
        labels = (np.cumsum(large) - 1)[groups[rows]]
        order, starts = group_by_label(labels, int(large.sum()))
        is_natural[large] = problem.holds(rows[order], starts)
    return groups, is_natural


def _cluster_others(
    problem: ClusteringProblem, groups: Int64, is_natural: NDArray[np.bool_]
) -> Clustering:
    """Natural classes, after the clusters of the other records; at least k of these, or none."""
    is_natural = is_natural.copy()
    while 0 < (others := np.flatnonzero(~is_natural[groups])).size < problem.k:
        is_natural[_find_nearest(problem.scaled, groups, is_natural, others)] = False
    labels = (np.cumsum(is_natural) - 1)[groups]
    if not others.size:
        return Clustering(labels, block_starts=np.zeros(1, np.int64))
    clustered = cluster_by_subsets(_take_records(problem.scaled, others), _cut(problem, others))
    assert clustered.block_starts is not None
    labels += clustered.block_starts[-1]
    labels[others] = clustered.labels
    return replace(clustered, labels=labels)


def _cut(problem: ClusteringProblem, rows: Int64) -> SubsetCut:
    """Subsets of some records, which are in the order of the whole region's subsets."""
    cut = problem.cut
    assert cut is not None
    n_clusters = max(1, rows.size // int(cut.take.sum()))
    n_subsets = rows.size // n_clusters
    sizes = np.full(n_subsets, n_clusters)
    sizes[n_subsets // 2] += rows.size - n_clusters * n_subsets
    return SubsetCut(
        cut.cells[rows],
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        np.ones(n_subsets, dtype=np.int64),
        n_clusters,
        cut.block_clusters,
    )


def _take_records(scaled: Scaled, rows: Int64) -> Scaled:
    numeric, nominal = scaled.numeric[:, rows], scaled.nominal[:, rows]
    return replace(
        scaled, numeric=np.ascontiguousarray(numeric), nominal=np.ascontiguousarray(nominal)
    )


def _find_nearest(
    scaled: Scaled, groups: Int64, is_natural: NDArray[np.bool_], others: Int64
) -> int:
    """The natural class that is nearest to all others together."""
    _, first = np.unique(groups, return_index=True)
    distances: Float64 = np.zeros(first.size)
    for row in others.tolist():
        for values in scaled.numeric:
            distances += (values[first] - values[row]) ** 2
        for codes, weight in zip(scaled.nominal, scaled.weights.tolist(), strict=True):
            distances += weight * (codes[first] != codes[row])
    distances[~is_natural] = np.inf
    return int(np.argmin(distances))


def _share_above(problem: ClusteringProblem, clustering: Clustering) -> float:
    """The share of the records in classes that do not hold what is asked."""
    order, starts = group_by_label(clustering.labels, int(clustering.labels.max()) + 1)
    failing = ~problem.holds(order, starts)
    return int(np.diff(starts)[failing].sum()) / int(order.size)


def _measure(problem: ClusteringProblem, clustering: Clustering) -> float:
    """The loss of classes, as a release has it."""
    scaled, labels = problem.scaled, clustering.labels
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    values, levels = np.ascontiguousarray(scaled.numeric.T), np.ascontiguousarray(scaled.nominal.T)
    columns = values, levels, scaled.weights
    loss: float = measure_classes(*columns, scaled.n_levels, order, starts)
    return loss
