"""Starts of a search: several partitions of a region, of which that with the least loss is taken.

Clusters of a record per quantile subset are like the table, whatever that loses; clusters of near
records lose little, and are above t where it binds.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.algorithm3 import cluster_blocks
from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.clustering.mdav import mdav
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, SubsetCut
from tclose.methods.microaggregation.natural_classes import find_natural, keep_natural
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64

# What more of the records may be in classes above t than in the plain start, which is balanced.
MORE_ABOVE = 0.2
# Records that MDAV clusters together, at most: its time per record grows with them.
NEAR_RECORDS = 4096
# The same for a start that is searched at length: of larger blocks less is lost, in a fraction of
# the search's time.
SEARCHED_RECORDS = 32_768
# Blocks, of about so many records, by which many records are judged before all are clustered.
SAMPLED_BLOCKS = 32
SAMPLED_RECORDS = 1024
# How much larger the share above t may look there: of smaller blocks clusters are not as near.
SAMPLED_MARGIN = 0.1
# What near clusters may lose, as a share of the other starts' loss: of k records each, they have no
# room for moves, and a search that has some ends at less loss where the start's is not much more.
NEAR_SHARE = 0.5


def choose_start(
    problem: ClusteringProblem, plain: Clustering, *, at_length: bool = False
) -> Clustering:
    """The start that loses least, of those with few more records above t than the plain one.

    One more keeps the natural classes and cuts the rest of the records into subsets of its own;
    another clusters the rest by nearness alone. ``at_length``: for a search that is worth more
    preparation: nearness is looked for in larger blocks, a last start has all records clustered by
    it, and a start of near records has the best of the others beside it. Where natural classes take
    too much of what the rest needs to be like the table, or near records have like confidential
    values, more of them are above t.
    """
    groups, is_natural = find_natural(problem)
    assert plain.block_starts is not None
    by_class = _group(plain)
    blocks = by_class[0], by_class[1][plain.block_starts]
    most_above = _share_above(problem, by_class) + MORE_ABOVE
    starts = [(plain, _measure(problem, by_class))]

    def add(
        is_kept: NDArray[np.bool_], cluster: Callable[[Int64], Clustering], most_lost: float
    ) -> None:
        start = keep_natural(problem, groups, is_kept, cluster)
        by_class = _group(start)
        loss = _measure(problem, by_class)
        if loss <= most_lost and _share_above(problem, by_class) <= most_above:
            starts.append((start, loss))

    def cluster_alike(rows: Int64) -> Clustering:
        return cluster_by_subsets(take_scaled(problem.scaled, rows), _cut(problem, rows))

    def cluster_close(rows: Int64) -> Clustering:
        return cluster_near(problem, rows, SEARCHED_RECORDS if at_length else NEAR_RECORDS)

    if is_natural.any():
        add(is_natural, cluster_alike, starts[0][1])
    balanced, most_lost = starts[-1][0], NEAR_SHARE * starts[-1][1]
    none = np.zeros_like(is_natural)
    for is_kept in (none, is_natural) if at_length and is_natural.any() else (is_natural,):
        rest = np.flatnonzero(~is_kept[groups])
        if _may_be_near(problem, rest, blocks, most_lost, most_above):
            add(is_kept, cluster_close, min(most_lost, starts[-1][1]))
    best = starts[-1][0]
    return replace(best, beside=balanced) if at_length and best is not balanced else best


def _may_be_near(
    problem: ClusteringProblem,
    rows: Int64,
    blocks: tuple[Int64, Int64],
    most_lost: float,
    most_above: float,
) -> bool:
    """Return whether near clusters of some rows can do, judged by those of a few of many blocks.

    A start that is refused takes little time then, and privacy depends on none. ``blocks``: the
    records by the blocks of the plain start, which are of near records, too, and where each begins.
    """
    if rows.size <= SAMPLED_BLOCKS * SAMPLED_RECORDS:
        return True
    sampled = _sample_blocks(rows, *blocks, problem.k)
    n_sampled = sum(block.size // _count_parts(block) for block in sampled)
    n_above, lost = 0, 0.0
    for block in sampled:
        members = block
        if _count_parts(block) > 1:
            parts = _cut_near(problem, block, SAMPLED_RECORDS)
            members = block[np.sort(parts[len(parts) // 2])]
        sample = _take(problem, members)
        start = cluster_near(sample, np.arange(members.size), SAMPLED_RECORDS)
        by_class = _group(start)
        n_above += round(_share_above(sample, by_class) * members.size)
        lost += _measure(sample, by_class)
        share_above = n_above / n_sampled * rows.size / problem.keys[0].size
        is_little = lost * rows.size <= most_lost * n_sampled
        if not is_little or share_above > most_above + SAMPLED_MARGIN:
            return False  # more blocks can only add to both
    return True


def _sample_blocks(rows: Int64, order: Int64, starts: Int64, k: int) -> list[Int64]:
    """The rows that are in some blocks, ascending; small blocks beside each other are one."""
    n_blocks = starts.size - 1
    n_together = max(1, SAMPLED_RECORDS * n_blocks // rows.size)
    begins = np.unique(n_blocks * np.arange(SAMPLED_BLOCKS) // SAMPLED_BLOCKS)
    ends = np.minimum(begins + n_together, n_blocks)
    is_asked = np.zeros(order.size, dtype=bool)
    is_asked[rows] = True
    blocks = [order[starts[i] : starts[j]] for i, j in zip(begins, ends, strict=True)]
    sampled = [np.sort(block[is_asked[block]]) for block in blocks]
    return [members for members in sampled if members.size >= k]


def _count_parts(block: Int64) -> int:
    """How many parts a block is cut into, of which one is judged."""
    return 1 << max(0, (block.size - 1) // SAMPLED_RECORDS).bit_length()


def _take(problem: ClusteringProblem, rows: Int64) -> ClusteringProblem:
    """A part of the records, held to the same."""
    return replace(
        problem,
        keys=[column[rows] for column in problem.keys],
        scaled=take_scaled(problem.scaled, rows),
        codes=np.ascontiguousarray(problem.codes[:, rows]),
        cut=None,
    )


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


def cluster_near(problem: ClusteringProblem, rows: Int64, most: int = NEAR_RECORDS) -> Clustering:
    """MDAV in blocks of up to so many records, which are cut along the quasi-identifiers.

    The blocks are not balanced, so the clustering does not name them.
    """
    labels, n_clusters = np.empty(rows.size, dtype=np.int64), 0
    for block in _cut_near(problem, rows, most):
        members = np.sort(block)
        part = take_scaled(problem.scaled, rows[members])
        of_block = mdav(part.numeric, part.nominal, problem.k, part.weights)
        labels[members] = n_clusters + of_block
        n_clusters += int(of_block.max()) + 1
    return Clustering(labels)


def _cut_near(problem: ClusteringProblem, rows: Int64, most: int) -> list[Int64]:
    """Blocks of near rows, each as places among the rows."""
    scaled = take_scaled(problem.scaled, rows)
    order, starts, _ = cut_blocks(
        scaled.numeric,
        scaled.nominal,
        scaled.weights,
        scaled.heights,
        scaled.n_levels,
        np.zeros(rows.size, np.int64),
        np.array([0, rows.size]),
        np.ones(1, np.int64),
        rows.size,
        max(most, 2 * problem.k),
    )
    return np.split(order, starts[1:, 0])


def take_scaled(scaled: Scaled, rows: Int64) -> Scaled:
    """Some records, by their rows."""
    numeric, nominal = scaled.numeric[:, rows], scaled.nominal[:, rows]
    return replace(
        scaled, numeric=np.ascontiguousarray(numeric), nominal=np.ascontiguousarray(nominal)
    )


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


def _group(clustering: Clustering) -> tuple[Int64, Int64]:
    """The records class by class, and where each class begins."""
    by_class: tuple[Int64, Int64] = group_by_label(
        clustering.labels, int(clustering.labels.max()) + 1
    )
    return by_class


def _share_above(problem: ClusteringProblem, by_class: tuple[Int64, Int64]) -> float:
    """The share of the records in classes that do not hold what is asked."""
    order, starts = by_class
    failing = ~problem.holds(order, starts)
    return int(np.diff(starts)[failing].sum()) / int(order.size)


def _measure(problem: ClusteringProblem, by_class: tuple[Int64, Int64]) -> float:
    """The loss of classes, as a release has it."""
    scaled = problem.scaled
    values, levels = np.ascontiguousarray(scaled.numeric.T), np.ascontiguousarray(scaled.nominal.T)
    columns = values, levels, scaled.weights
    return float(measure_classes(*columns, scaled.n_levels, *by_class).sum())
