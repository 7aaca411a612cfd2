"""Starts of near records, whatever their confidential values are like.

Clusters of near records lose little by themselves; those that are above t are merged with near ones
until they are within it, which loses the more, the more confidential values depend on the
quasi-identifiers. So what it loses is measured, before a search is spent on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import log, sqrt
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.clustering.mdav import mdav
from tclose.kernels.refinement.repair import WAYS, Way, merge_classes
from tclose.kernels.refinement.search import LEAST_GAIN
from tclose.methods.clustering_problem import (
    FEW_RECORDS,
    Clustering,
    ClusteringProblem,
    group_classes,
)
from tclose.methods.microaggregation.natural_classes import keep_natural
from tclose.methods.released_loss import by_ranges, measure_released, released_weights
from tclose.methods.scaling import take_scaled
from tclose.model.array_types import Int64
from tclose.privacy.t_closeness import find_above, make_target

# Records that MDAV clusters together, at most: its time per record grows with them.
NEAR_RECORDS = 4096
# The same for a start that is searched at length: of larger blocks less is lost, in a fraction of
# the search's time.
SEARCHED_RECORDS = 32_768
# Records of which near clusters are tried without a look at some of them.
MOST_UNJUDGED = 32_768
# Of more, those of so many are judged first, one after the other: of all parts of the table.
JUDGED_RECORDS = 2048, 8192, 32_768
# Records whose classes above t are merged in every way, after that: which is cheapest of some need
# not be of all, as near classes are nearer. Of more records it takes too long.
MOST_BY_ALL_WAYS = 131_072
# How much more than all the first ones may be taken to lose: what so few lose can fall that far.
FIRST_MARGIN = 64.0
# What merged clusters of near records may lose, as a share of what the balanced start loses: where
# nothing is searched, before a short search, and where it is long, as a search saves more of a
# balanced start's loss.
NEAR_SHARE_UNSEARCHED, NEAR_SHARE_SHORT, NEAR_SHARE = 0.8, 0.6, 0.4
# How many classes they have at least where they are released as they are, or nearly so, as a share
# of the balanced ones: few large classes can lose less than many and be of less use.
LEAST_CLASSES = 2 / 3
# The share of the records that one class may have, or so many times k in a small table. Merging can
# end in such a one, which loses little more than the many that it would be: of 20,000 discharges
# with two confidential attributes 317 classes, one of 2,452 records, lost a tenth less than 3,269,
# and range counts were off by three times as much.
MOST_OF_RECORDS, LARGE_CLASS = 0.1, 20
# What the fewest may lose, as a share of what as many may; others the root of the share that they
# are of as many.
MUCH_LESS = 0.25
# What those may lose of many records to be searched first, as a share of what the balanced start
# loses: a search from this one ends with as much, after many rounds.
NEAR_SHARE_FIRST = 0.1
# The same of what a search from the balanced start has ended with: one from the near ones saves
# half of theirs, or little more.
NEAR_SHARE_OF_SEARCHED = 2.5
# Records that a cluster may have above k where it is searched, up to 2k - 1: it can lose some then.
ROOM = 3
# What all may be taken to lose, in times what they may: it can fall faster still.
FALLS_FASTER = 1.5
# What clusters of another size, or with natural classes kept or not, may lose in times those that
# lose least to be searched as well, and how many of all are: the first need not end best.
NEARLY_LEAST, MOST_ALIKE = 2.0, 3


class Merged(NamedTuple):
    """Labels (n,) in which classes above t are merged, their loss, and the way that was taken."""

    labels: Int64
    loss: float
    way: Way


@dataclass(frozen=True, eq=False)
class NearStart:
    """A start of clusters of near records, as soon as it is known what it may lose.

    ``groups``, ``is_natural``: from `find_natural`.
    """

    problem: ClusteringProblem
    groups: Int64
    is_natural: NDArray[np.bool_]

    def find_before(self, loss: float, balanced: Int64, *, is_searched: bool) -> Clustering | None:
        """The clusters, if they are a better start than balanced ones, whose labels these are.

        Of few records those that promise so much are made again of larger blocks.
        """
        most_lost = (NEAR_SHARE_SHORT if is_searched else NEAR_SHARE_UNSEARCHED) * loss
        found = self._find_best(most_lost, NEAR_RECORDS, loss)
        if found is None:
            return None
        lost = measure_released(self.problem.scaled, found.labels)
        share = (found.labels.max() + 1) / (LEAST_CLASSES * (balanced.max() + 1))
        if share < 1 and lost > max(MUCH_LESS, sqrt(share)) * most_lost:
            return None
        if NEAR_RECORDS < balanced.size <= SEARCHED_RECORDS:
            return self._find_best(lost, SEARCHED_RECORDS, lost) or found
        return found

    def find_first(self, loss: float) -> list[Clustering]:
        """The clusters that a search has to begin with, if any, as from `find_beside`.

        ``loss``: of the balanced start.
        """
        if self.groups.size <= SEARCHED_RECORDS:
            return []
        most_lost = NEAR_SHARE_FIRST * loss
        return self._find_all(most_lost, NEARLY_LEAST * most_lost)

    def find_beside(self, loss: float, searched: float) -> list[Clustering]:
        """The clusters from which a search may end with less loss than from balanced ones.

        These lost so much before a search, and so much after it. Of one size or two, with natural
        classes kept and without, those that lose least first.
        """
        most_lost = max(searched, min(NEAR_SHARE * loss, NEAR_SHARE_OF_SEARCHED * searched))
        return self._find_all(most_lost, most_lost)

    def _find_all(self, most_lost: float, most_of_each: float) -> list[Clustering]:
        """Clusters of all kinds that lose nearly as little as the best, which may lose so much."""
        k = self.problem.k
        sizes = {k} if self.groups.size <= FEW_RECORDS else {k, min(k + ROOM, 2 * k - 1)}

        def make(kind: tuple[int, NDArray[np.bool_]]) -> Merged | None:
            return self._merge(*kind, most_of_each, SEARCHED_RECORDS)

        kinds = list(product(sorted(sizes), self._list_kept()))
        made: list[Merged | None] = self.problem.apply(make, kinds)
        found = [one for one in made if one is not None]
        least = min((one.loss for one in found), default=0.0)
        nearly = NEARLY_LEAST * least if least <= most_lost else -np.inf
        found = sorted((one for one in found if one.loss <= nearly), key=attrgetter("loss"))
        return [Clustering(one.labels) for one in found[:MOST_ALIKE]]

    def _find_best(
        self, most_lost: float, most_records: int, most_unmerged: float
    ) -> Clustering | None:
        """Clusters of k that lose least, natural classes kept or not, if they lose no more."""
        best = None
        for is_kept in self._list_kept():
            found = self._merge(self.problem.k, is_kept, most_lost, most_records, most_unmerged)
            if found is not None:
                most_lost = most_unmerged = found.loss
                best = Clustering(found.labels)
        return best

    def _list_kept(self) -> list[NDArray[np.bool_]]:
        """Natural classes to keep: none, or all."""
        none = np.zeros_like(self.is_natural)
        return [none, self.is_natural] if self.is_natural.any() else [none]

    def _merge(
        self,
        size: int,
        is_kept: NDArray[np.bool_],
        most_lost: float,
        most_records: int,
        most_unmerged: float = -np.inf,
    ) -> Merged | None:
        """Clusters beside the natural classes that are kept, as from `merge_above`.

        ``most_records``: that MDAV clusters together. None where nothing may be lost: equal records
        would be joined one by one, for no gain.
        """
        if most_lost <= LEAST_GAIN:
            return None
        rest = np.flatnonzero(~is_kept[self.groups])
        ways = WAYS if rest.size <= MOST_UNJUDGED else self._judge(rest, size, most_lost)
        if not ways:
            return None
        start = keep_natural(
            self.problem, self.groups, is_kept,
            lambda rows: cluster_near(self.problem, rows, size, most_records),
        )  # fmt: skip
        merged = merge_above(self.problem, start.labels, most_lost, most_unmerged, ways)
        while merged is not None and self._is_lump(merged.labels):
            # Another way may lose little more, and leave no lump.
            ways = [way for way in ways if way != merged.way]
            if not ways:
                return None
            merged = merge_above(self.problem, start.labels, most_lost, most_unmerged, ways)
        return merged

    def _is_lump(self, labels: Int64) -> bool:
        """Return whether a class has so many of the records that they are of little use."""
        sizes = np.bincount(labels)
        return bool(sizes.max() > max(MOST_OF_RECORDS * labels.size, LARGE_CLASS * self.problem.k))

    def _judge(self, rows: Int64, size: int, most_lost: float) -> Sequence[Way]:
        """The ways to merge near clusters of some rows; none if they cannot lose so little.

        By a few of the rows. The more there are, the less is lost, as near ones are nearer, and
        more are at hand to be merged with; from all of them it is taken to fall as from the last
        ones before. A start that is refused takes little time then, and privacy depends on none.
        """
        one_in = [rows.size // n for n in JUDGED_RECORDS if rows.size >= 2 * n]
        most_lost *= FALLS_FASTER
        found = self._merge_thinned(rows, size, one_in[0], FIRST_MARGIN * most_lost)
        for before, after in pairwise(one_in):
            if found is None:
                break
            lost = before * found.loss
            steps = log(after) / log(before / after)  # from these to all, of those to these
            most_after = (most_lost * lost**steps) ** (1 / (1 + steps))
            found = self._merge_thinned(rows, size, after, most_after)
        if found is None:
            return []
        return WAYS if rows.size <= MOST_BY_ALL_WAYS else [found.way]

    def _merge_thinned(
        self, rows: Int64, size: int, one_in: int, most_lost: float
    ) -> Merged | None:
        """Near clusters of one in so many rows, if all lose no more as these do."""
        members = rows[one_in // 2 :: one_in]
        sample = _take(self.problem, members)
        near = cluster_near(sample, np.arange(members.size), size)
        return merge_above(sample, near.labels, most_lost / one_in)


def cluster_larger(problem: ClusteringProblem, size: int) -> Clustering:
    """Near clusters of so many records or more, merged until they are within t."""
    n_records = problem.keys[0].size
    near = cluster_near(problem, np.arange(n_records), size, SEARCHED_RECORDS)
    ways = WAYS if n_records <= MOST_BY_ALL_WAYS else WAYS[:1]
    merged = merge_above(problem, near.labels, np.inf, np.inf, ways)
    return near if merged is None else Clustering(merged.labels)


def merge_above(
    problem: ClusteringProblem,
    labels: Int64,
    most_lost: float,
    most_unmerged: float = -np.inf,
    ways: Sequence[Way] = WAYS,
) -> Merged | None:
    """Merge classes above t until they are within it, in the cheapest of some ways.

    None if they lose more than ``most_lost``, or than ``most_unmerged`` where none is above t; it
    is given up as soon as that is known.
    """
    scaled, (order, starts) = problem.scaled, group_classes(labels)
    loss, way = measure_released(scaled, labels), ways[0]
    above = find_above(order, starts, problem.codes, problem.distributions, problem.max_emds)
    most_lost = max(most_lost, -np.inf if above.size else most_unmerged)
    if above.size and loss <= most_lost:
        tables = zip(problem.distributions, problem.max_emds, strict=True)
        references = problem.codes, tuple(make_target(d, limit) for d, limit in tables)
        labels, n_classes, way = merge_classes(
            by_ranges(scaled), scaled.nominal, released_weights(scaled), labels, np.diff(starts),
            above, references, most_lost - loss, ways,
        )  # fmt: skip
        loss = measure_released(scaled, labels) if n_classes else np.inf
    return Merged(labels, loss, way) if loss <= most_lost else None


def cluster_near(
    problem: ClusteringProblem, rows: Int64, size: int, most: int = NEAR_RECORDS
) -> Clustering:
    """Clusters of ``size`` by MDAV in blocks of up to so many records, cut along quasi-identifiers.

    The blocks are not balanced, so the clustering does not name them.
    """
    labels, n_clusters = np.empty(rows.size, dtype=np.int64), 0
    for block in _cut_near(problem, rows, max(most, 2 * size)):
        members = np.sort(block)
        part = take_scaled(problem.scaled, rows[members])
        of_block = mdav(part.numeric, part.nominal, size, part.weights)
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
        most,
    )
    return np.split(order, starts[1:, 0])


def _take(problem: ClusteringProblem, rows: Int64) -> ClusteringProblem:
    """A part of the records, held to the same."""
    return replace(
        problem,
        keys=[column[rows] for column in problem.keys],
        scaled=take_scaled(problem.scaled, rows),
        codes=np.ascontiguousarray(problem.codes[:, rows]),
        cut=None,
    )
