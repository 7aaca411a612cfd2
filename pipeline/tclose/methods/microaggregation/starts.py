"""Starts of a search: several partitions of a region, of which that is taken which promises most.

Clusters of a record per quantile subset are like the table, whatever that loses: they are balanced.
Some or all of the records may be clustered otherwise, see `natural_classes`, `near_starts` and
`halved_starts`.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.algorithm3 import cluster_blocks
from tclose.kernels.clustering.blocks import cut_blocks
from tclose.methods.clustering_problem import (
    FEW_RECORDS,
    Clustering,
    ClusteringProblem,
    SubsetCut,
)
from tclose.methods.microaggregation.halved_starts import find_halved
from tclose.methods.microaggregation.natural_classes import find_natural, keep_natural
from tclose.methods.microaggregation.near_starts import (
    NearStart,
    merge_above,
)
from tclose.methods.released_loss import measure_released
from tclose.methods.scaling import Scaled, take_scaled
from tclose.model.array_types import Int64

# What halves may lose as a share of another start before a search, or without one: large classes
# that lose a little less are of less use than small ones.
HALVED_SHARE = 2 / 3
# The same of near clusters before a short search, which saves most of what halves lose, and hardly
# any of what was lost by merging.
SHARE_OF_NEAR = 2.0
# The same of what a long search from another start has ended with.
HALVED_SHARE_OF_SEARCHED = 4.0
# In times what a search from near clusters has ended with, what balanced ones may lose to be
# searched as well: thirty rounds from some that lost 156 times it came to 5 times it.
MOST_SAVED = 100.0
# What follows the choice of a start.
Search = Literal["off", "short", "long"]


def choose_start(
    problem: ClusteringProblem, plain: Clustering, search: Search = "off"
) -> Clustering:
    """The best start: balanced clusters, with natural classes or without, or near ones, or halves.

    Before a long search others are looked for only of many records, and taken where they lose far
    less: it is known afterwards what they have to be better than, and they are found ``beside``
    then. Before a short one halves are found beside near clusters.
    """
    groups, is_natural = find_natural(problem)
    balanced, loss = _keep_natural(problem, plain, groups, is_natural)
    near, n_records = NearStart(problem, groups, is_natural), plain.labels.size
    if search == "long" and (first := near.find_first(loss)):
        return replace(
            first[0],
            alike=first[1:],
            beside=lambda labels: [
                *_keep_balanced(near, balanced, loss, labels),
                *_find_halves(near, loss, labels),
            ],
        )
    if search == "long" or (search == "short" and n_records <= FEW_RECORDS):
        return replace(balanced, beside=lambda labels: _find_beside(near, loss, labels))
    of_near = near.find_before(loss, balanced.labels, is_searched=search != "off")
    start = of_near or balanced
    of_start = loss if of_near is None else measure_released(problem.scaled, start.labels)
    share = HALVED_SHARE if search == "off" or of_near is None else SHARE_OF_NEAR
    halved = find_halved(problem, share * of_start, start.labels)
    if halved is None or of_near is None or search == "off":
        return halved or start
    return replace(start, beside=lambda _: [[halved]])


def _keep_balanced(
    near: NearStart, balanced: Clustering, loss: float, labels: Int64
) -> list[list[Clustering]]:
    """Balanced clusters, unless they lose far too much to be searched; as from `_find_beside`."""
    searched = measure_released(near.problem.scaled, labels)
    return [[balanced]] if loss <= MOST_SAVED * searched else []


def _find_beside(near: NearStart, loss: float, labels: Int64) -> list[list[Clustering]]:
    """Near clusters and halves, as far as a search may end with less loss from them, best first.

    ``loss``: of the balanced start; ``labels``: what a search of that ended with.
    """
    searched = measure_released(near.problem.scaled, labels)
    limits = (np.inf, np.inf) if labels.size <= FEW_RECORDS else (loss, searched)
    of_near = near.find_beside(*limits)
    found = [*([of_near] if of_near else []), *_find_halves(near, loss, labels)]

    def lose(alike: list[Clustering]) -> float:
        return min(measure_released(near.problem.scaled, one.labels) for one in alike)

    return sorted(found, key=lose)


def _find_halves(near: NearStart, loss: float, labels: Int64) -> list[list[Clustering]]:
    """Halves, as far as a search may end with less loss from them; as from `_find_beside`."""
    searched = measure_released(near.problem.scaled, labels)
    most_lost = min(HALVED_SHARE * loss, HALVED_SHARE_OF_SEARCHED * searched)
    halved = find_halved(near.problem, most_lost, labels, is_small=labels.size <= FEW_RECORDS)
    return [] if halved is None else [[halved]]


def _keep_natural(
    problem: ClusteringProblem, plain: Clustering, groups: Int64, is_natural: NDArray[np.bool_]
) -> tuple[Clustering, float]:
    """Natural classes, and the rest of the records cut into subsets of its own, or the plain start.

    And what it loses. Natural classes are kept if they lose no more once what is above t beside
    them is merged: where they take too much of what the rest needs to be like the table, much is.
    """
    loss = measure_released(problem.scaled, plain.labels)
    if not is_natural.any():
        return plain, loss

    def cluster(rows: Int64) -> Clustering:
        size = int(problem.cut.take.sum()) if problem.cut is not None else problem.k
        return cluster_by_subsets(take_scaled(problem.scaled, rows), _cut(problem, rows, size))

    start = keep_natural(problem, groups, is_natural, cluster)
    merged = merge_above(problem, start.labels, loss, loss)
    return (plain, loss) if merged is None else (start, merged.loss)


def cluster_by_subsets(scaled: Scaled, cut: SubsetCut) -> Clustering:
    """Algorithm 3 in blocks of records: clusters of each block, and where each block's begin."""
    columns = scaled.numeric, scaled.nominal, scaled.weights
    order, starts, sizes = cut_blocks(
        *columns,
        scaled.heights,
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


def cluster_balanced(problem: ClusteringProblem, size: int) -> Clustering:
    """Clusters of so many records or more, each of another subset of all.

    Subsets are of the attribute that the first of the further models is asked of.
    """
    rows = np.argsort(problem.codes[problem.privacy_models.by_class[0].attribute], kind="stable")
    found = cluster_by_subsets(take_scaled(problem.scaled, rows), _cut(problem, rows, size))
    labels = np.empty_like(found.labels)
    labels[rows] = found.labels
    return replace(found, labels=labels)


def _cut(problem: ClusteringProblem, rows: Int64, size: int) -> SubsetCut:
    """As many subsets of some records, in the order in which these are given, as of a cluster."""
    cut = problem.cut
    assert cut is not None
    n_clusters = max(1, rows.size // size)
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
