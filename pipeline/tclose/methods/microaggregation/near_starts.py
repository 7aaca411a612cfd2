"""Starts of near records, whatever their confidential values are like.

Clusters of near records lose little by themselves; those that are above t are merged with near ones
until they are within it, which loses the more, the more confidential values depend on the
quasi-identifiers. So what it loses is measured, before a search is spent on it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.clustering.mdav import mdav
from tclose.kernels.refinement.repair import merge_classes
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, group_classes
from tclose.methods.microaggregation.natural_classes import keep_natural
from tclose.methods.released_loss import by_ranges, measure_released
from tclose.methods.scaling import take_scaled
from tclose.model.array_types import Int64
from tclose.privacy.t_closeness import find_above, make_target

# Records that MDAV clusters together, at most: its time per record grows with them.
NEAR_RECORDS = 4096
# The same for a start that is searched at length: of larger blocks less is lost, in a fraction of
# the search's time.
SEARCHED_RECORDS = 32_768
# Records of which near clusters are tried without a look at some blocks of them.
MOST_UNJUDGED = 32_768
# Blocks, of about so many records, by which more are judged before all are clustered.
SAMPLED_BLOCKS = 8
SAMPLED_RECORDS = 2048
# The same of the first one, which tells where hardly any near records can be within t.
FIRST_SAMPLED = 512
# From the middle one on they are taken by steps, so that the first few are of all parts; and how
# many times what may be lost on average these may lose.
SAMPLED_STEP = 5
SAMPLED_UNEVEN = 3.0
# One in so many records, by which those are judged again that blocks let pass: first fewer, then
# more; and how much more may be lost by what these tell.
FIRST_THINNED, THINNED = 16, 4
THINNED_MARGIN = 1.5
# How much more may be lost there, where a long search is worth a mistake: of smaller blocks
# clusters are not as near, nor what they are merged with.
SAMPLED_MARGIN = 3.0
# What merged clusters of near records may lose, as a share of what the balanced start loses: where
# nothing is searched, and where it is, as a search saves more of a balanced start's loss.
NEAR_SHARE_UNSEARCHED, NEAR_SHARE = 0.5, 0.4
# How many classes they have at least where they are released as they are, or nearly so, as a share
# of the balanced ones: few large classes can lose less than many and be of less use.
LEAST_CLASSES = 2 / 3
# What fewer may lose, as a share of what as many may.
MUCH_LESS = 0.25
# The same of what a search from the balanced start has ended with: one from the near ones saves
# half of theirs, or little more.
NEAR_SHARE_OF_SEARCHED = 2.0


@dataclass(frozen=True, eq=False)
class NearStart:
    """A start of clusters of near records, as soon as it is known what it may lose.

    ``groups``, ``is_natural``: from `find_natural`; ``blocks``: the records int64 (n,) by blocks of
    near ones, and where each block begins.
    """

    problem: ClusteringProblem
    groups: Int64
    is_natural: NDArray[np.bool_]
    blocks: tuple[Int64, Int64]

    def find_before(self, loss: float, balanced: Int64, *, is_searched: bool) -> Clustering | None:
        """The clusters, if they are a better start than balanced ones, whose labels these are.

        Of few records those that promise so much are made again of larger blocks.
        """
        most_lost = (NEAR_SHARE if is_searched else NEAR_SHARE_UNSEARCHED) * loss
        found = self._find(most_lost, 1.0, NEAR_RECORDS, loss)
        if found is None:
            return None
        lost = measure_released(self.problem.scaled, found.labels)
        is_few = found.labels.max() + 1 < LEAST_CLASSES * (balanced.max() + 1)
        if is_few and lost > MUCH_LESS * most_lost:
            return None
        if NEAR_RECORDS < balanced.size <= SEARCHED_RECORDS:
            return self._find(lost, 1.0, SEARCHED_RECORDS, lost) or found
        return found

    def find_beside(self, loss: float, searched: float) -> Clustering | None:
        """The clusters, if a search may end with less loss from them than from balanced ones.

        These lost so much before a search, and so much after it.
        """
        most_lost = min(NEAR_SHARE * loss, NEAR_SHARE_OF_SEARCHED * searched)
        return self._find(most_lost, SAMPLED_MARGIN, SEARCHED_RECORDS)

    def _find(
        self, most_lost: float, margin: float, most_records: int, most_unmerged: float = -np.inf
    ) -> Clustering | None:
        """The clusters that lose least, natural classes kept or not, if they lose no more.

        ``most_records``: that MDAV clusters together; ``most_unmerged``: see `merge_above`.
        """
        best, none = None, np.zeros_like(self.is_natural)
        for is_kept in (none, self.is_natural) if self.is_natural.any() else (none,):
            rest = np.flatnonzero(~is_kept[self.groups])
            if rest.size > MOST_UNJUDGED and not (
                self._may_do(rest, margin * most_lost)
                and self._falls(rest, THINNED_MARGIN * most_lost)
            ):
                continue
            start = keep_natural(
                self.problem, self.groups, is_kept,
                lambda rows: cluster_near(self.problem, rows, most_records),
            )  # fmt: skip
            found = merge_above(self.problem, start.labels, most_lost, most_unmerged)
            if found is not None:
                labels, most_lost = found
                most_unmerged = most_lost
                best = Clustering(labels)
        return best

    def _may_do(self, rows: Int64, most_lost: float) -> bool:
        """Return whether near clusters of some rows can lose so little, by a few of many blocks.

        A start that is refused takes little time then, and privacy depends on none. Those that lose
        far too much are refused at the first block, which is one of the middle.
        """
        sampled = _sample_blocks(rows, *self.blocks, self.problem.k)
        mosts = [FIRST_SAMPLED, *[SAMPLED_RECORDS] * len(sampled)][: len(sampled)]
        n_sampled = sum(map(_count_sampled, sampled, mosts))
        of_all, looked_at, lost = most_lost * n_sampled / rows.size, 0, 0.0
        for block, most_records in zip(sampled, mosts, strict=True):
            members = block
            if _count_sampled(block, most_records) < block.size:
                parts = _cut_near(self.problem, block, most_records)
                members = block[np.sort(parts[len(parts) // 2])]
            sample = _take(self.problem, members)
            near = cluster_near(sample, np.arange(members.size), SAMPLED_RECORDS)
            looked_at += members.size
            most = min(of_all, SAMPLED_UNEVEN * most_lost * looked_at / rows.size)
            found = merge_above(sample, near.labels, most - lost)
            if found is None:
                return False  # more blocks can only add to it
            labels, of_block = found
            if members.size >= 2 * self.problem.k and of_block > 0 and not labels.any():
                return False  # what is within t only as one class is not near
            lost += of_block
        return True

    def _falls(self, rows: Int64, most_lost: float) -> bool:
        """Return whether loss falls to so little the more of the rows there are.

        From one in 16 to one in 4 it falls by some factor, as near ones are nearer, and more are at
        hand to be merged with; it is taken to fall by that again to all of them.
        """
        first = self._lose_thinned(rows, FIRST_THINNED, np.inf)
        return self._lose_thinned(rows, THINNED, float(np.sqrt(first * most_lost))) < np.inf

    def _lose_thinned(self, rows: Int64, one_in: int, most_lost: float) -> float:
        """The loss of all rows if they lose as one in so many do; inf if that is above a limit."""
        members = rows[one_in // 2 :: one_in]
        sample = _take(self.problem, members)
        near = cluster_near(sample, np.arange(members.size))
        found = merge_above(sample, near.labels, most_lost / one_in)
        return np.inf if found is None else one_in * found[1]


def merge_above(
    problem: ClusteringProblem, labels: Int64, most_lost: float, most_unmerged: float = -np.inf
) -> tuple[Int64, float] | None:
    """Labels (n,) in which classes above t are merged until they are within it, and their loss.

    None if they lose more than ``most_lost``, or than ``most_unmerged`` where none is above t; it
    is given up as soon as that is known.
    """
    scaled, (order, starts) = problem.scaled, group_classes(labels)
    loss = measure_released(scaled, labels)
    above = find_above(order, starts, problem.codes, problem.distributions, problem.max_emds)
    most_lost = max(most_lost, -np.inf if above.size else most_unmerged)
    if above.size and loss <= most_lost:
        tables = zip(problem.distributions, problem.max_emds, strict=True)
        references = problem.codes, tuple(make_target(d, limit) for d, limit in tables)
        labels, n_classes = merge_classes(
            by_ranges(scaled), scaled.nominal, scaled.weights, labels, np.diff(starts), above,
            references, most_lost - loss,
        )  # fmt: skip
        loss = measure_released(scaled, labels) if n_classes else np.inf
    return (labels, loss) if loss <= most_lost else None


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


def _sample_blocks(rows: Int64, order: Int64, starts: Int64, k: int) -> list[Int64]:
    """The rows that are in some blocks, ascending; small blocks beside each other are one.

    The first block is one of the middle, and the first few are of all parts.
    """
    n_blocks = starts.size - 1
    n_together = max(1, SAMPLED_RECORDS * n_blocks // rows.size)
    parts = (SAMPLED_BLOCKS // 2 + SAMPLED_STEP * np.arange(SAMPLED_BLOCKS)) % SAMPLED_BLOCKS
    begins = parts * n_blocks // SAMPLED_BLOCKS
    begins = begins[np.sort(np.unique(begins, return_index=True)[1])]
    ends = np.minimum(begins + n_together, n_blocks)
    is_asked = np.zeros(order.size, dtype=bool)
    is_asked[rows] = True
    blocks = [order[starts[i] : starts[j]] for i, j in zip(begins, ends, strict=True)]
    sampled = [np.sort(block[is_asked[block]]) for block in blocks]
    return [members for members in sampled if members.size >= k]


def _count_sampled(block: Int64, most: int) -> int:
    """How many records of a block are judged: one of the equal parts that it is cut into."""
    return block.size // (1 << max(0, (block.size - 1) // most).bit_length())


def _take(problem: ClusteringProblem, rows: Int64) -> ClusteringProblem:
    """A part of the records, held to the same."""
    return replace(
        problem,
        keys=[column[rows] for column in problem.keys],
        scaled=take_scaled(problem.scaled, rows),
        codes=np.ascontiguousarray(problem.codes[:, rows]),
        cut=None,
    )
