"""Starts of a search: several partitions of a region, of which that is taken which promises most.

Clusters of a record per quantile subset are like the table, whatever that loses: they are balanced.
Some or all of the records may be clustered otherwise, see `natural_classes`, `near_starts` and
`halved_starts`.
"""

import math
from dataclasses import replace
from operator import attrgetter
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
    group_classes,
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
from tclose.privacy.t_closeness import find_above

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
# In times what the best of two starts loses, natural classes kept or not, what the other one may
# lose to be searched as well: of few combinations of values a search that began with natural
# classes ended with 1.4 times what one did that had begun without, and 1.07 times as much.
NEARLY_AS_GOOD = 1.5
# Of balanced clusters that nothing searches, the share above t from which larger ones are tried,
# and that of these up to which they are; how much larger each is than the one before, and how many.
MANY_ABOVE, FEW_ABOVE = 1 / 3, 0.1
EACH_LARGER, MOST_LARGER = 1.5, 5
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
    (balanced, *others), loss = _keep_natural(problem, plain, groups, is_natural)
    near, n_records = NearStart(problem, groups, is_natural), plain.labels.size
    if search == "long" and (first := near.find_first(loss)):
        return replace(
            first[0],
            alike=first[1:],
            beside=lambda labels: [
                *_keep_balanced(near, [balanced, *others], loss, labels),
                *_find_halves(near, loss, labels),
            ],
        )
    if search == "long" or (search == "short" and n_records <= FEW_RECORDS):
        alike = others if search == "long" else ()
        return replace(
            balanced, alike=alike, beside=lambda labels: _find_beside(near, loss, labels)
        )
    if search == "off" and (larger := _choose_larger(problem, balanced)) is not None:
        balanced, loss = larger, measure_released(problem.scaled, larger.labels)
    of_near = near.find_before(loss, balanced.labels, is_searched=search != "off")
    start = of_near or balanced
    of_start = loss if of_near is None else measure_released(problem.scaled, start.labels)
    share = HALVED_SHARE if search == "off" or of_near is None else SHARE_OF_NEAR
    halved = find_halved(problem, share * of_start, start.labels)
    if halved is None or of_near is None or search == "off":
        return halved or start
    return replace(start, beside=lambda _: [[halved]])


def _keep_balanced(
    near: NearStart, balanced: list[Clustering], loss: float, labels: Int64
) -> list[list[Clustering]]:
    """Balanced clusters, unless they lose far too much to be searched; as from `_find_beside`."""
    searched = measure_released(near.problem.scaled, labels)
    return [balanced] if loss <= MOST_SAVED * searched else []


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
) -> tuple[list[Clustering], float]:
    """Natural classes, and the rest of the records cut into subsets of its own, or the plain start.

    The better one first, which loses so much, and the other if it is nearly as good. Natural
    classes are kept if they lose no more once what is above t beside them is merged: where they
    take too much of what the rest needs to be like the table, much is.
    """
    loss = measure_released(problem.scaled, plain.labels)
    if not is_natural.any():
        return [plain], loss

    def cluster(rows: Int64) -> Clustering:
        size = int(problem.cut.take.sum()) if problem.cut is not None else problem.k
        return cluster_by_subsets(take_scaled(problem.scaled, rows), _cut(problem, rows, size))

    start = keep_natural(problem, groups, is_natural, cluster)
    most_lost = NEARLY_AS_GOOD * loss
    merged = merge_above(problem, start.labels, most_lost, most_lost)
    if merged is None:
        return [plain], loss
    by_loss = [start, plain] if merged.loss <= loss else [plain, start]
    least, most = sorted((merged.loss, loss))
    return by_loss if most <= NEARLY_AS_GOOD * least else by_loss[:1], least


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


def _choose_larger(problem: ClusteringProblem, balanced: Clustering) -> Clustering | None:
    """Balanced clusters or larger ones, merged until they are within t, whichever lose less.

    Where many are above t, as with few values that are as far from each other, which the size is
    not made for, and larger ones are not; None where that is not so.
    """
    larger = _find_larger(problem, balanced.labels)
    if larger is None:
        return None
    merged = [merge_above(problem, one.labels, np.inf, np.inf) for one in (balanced, larger)]
    least = min((one for one in merged if one is not None), key=attrgetter("loss"), default=None)
    return None if least is None else Clustering(least.labels)


def _find_larger(problem: ClusteringProblem, labels: Int64) -> Clustering | None:
    """Balanced clusters of the least of some sizes of which hardly any is above t."""
    share, attribute = _share_above(problem, labels)
    size = labels.size / (labels.max() + 1)
    if share <= MANY_ABOVE:
        return None
    for _ in range(MOST_LARGER):
        size *= EACH_LARGER
        larger = cluster_balanced(problem, math.ceil(size), attribute)
        if _share_above(problem, larger.labels)[0] <= FEW_ABOVE:
            return larger
    return None


def _share_above(problem: ClusteringProblem, labels: Int64) -> tuple[float, int]:
    """The largest share of classes above t in an attribute without an order, and which that is."""
    order, starts = group_classes(labels)
    shares = [(0.0, 0)]
    for a, distribution in enumerate(problem.distributions):
        if distribution.metric is not None:
            of_one = problem.codes[a : a + 1], (distribution,), problem.max_emds[a : a + 1]
            above = find_above(order, starts, *of_one)
            shares.append((above.size / (starts.size - 1), a))
    return max(shares)


def cluster_balanced(problem: ClusteringProblem, size: int, attribute: int) -> Clustering:
    """Clusters of so many records or more, each of another subset of all, by an attribute."""
    rows = np.argsort(problem.codes[attribute], kind="stable")
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
