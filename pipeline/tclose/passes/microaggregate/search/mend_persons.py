"""Exchanges that bring classes within k and t over persons, as far as the search has not.

Where each record of a class is of another person its distribution is the same over records and over
persons. So a class that fails is rid of second records, and brought within t of both tables, by
exchanges with near classes that have none. Unions of classes would lose more, and may need most of
a region: records of a person meet in them, so a union may be farther from the table of persons than
its parts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.refinement.neighbours import CENTRE, represent_classes
from tclose.kernels.refinement.refine_blocks import HowSearched, refine_blocks
from tclose.kernels.refinement.search import LARGEST_MENDED, LEAST_GAIN
from tclose.methods.clustering_problem import group_classes
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search.cut_points import cut_points
from tclose.passes.microaggregate.search.group_threads import map_groups
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.privacy.person_closeness import PersonDemand

BLOCK_CLASSES, SWEEPS = 64, 2
# Another round, among other neighbours, follows one that leaves no more of those that failed.
MOST_LEFT, MOST_ROUNDS = 0.8, 4


@dataclass(frozen=True, eq=False)
class PersonMender:
    """Mends classes of a region: exchanges by the ``refiner``, until they hold the ``demand``."""

    refiner: Refiner
    demand: PersonDemand

    def mend(self, labels: Int64) -> Int64:
        """Labels (n,) of as many classes, of which fewer fail."""
        n_failing = labels.size
        for r in range(MOST_ROUNDS):
            by_class = group_classes(labels)
            persons, codes = self.refiner.persons[by_class[0]], self.refiner.codes[:, by_class[0]]
            measures = self.demand.measure(by_class[1], persons, codes)
            failing = (measures.n_persons < self.demand.k) | measures.above.any(axis=0)
            if not 0 < failing.sum() <= MOST_LEFT * n_failing:
                break
            n_failing, sizes = int(failing.sum()), np.diff(by_class[1])
            taken = (sizes <= LARGEST_MENDED) & (failing | (measures.n_persons == sizes))
            labels = self._run_round(labels, by_class, np.flatnonzero(taken), failing, r)
        return labels

    def _run_round(
        self,
        labels: Int64,
        by_class: tuple[Int64, Int64],
        taken: Int64,
        failing: NDArray[np.bool_],
        r: int,
    ) -> Int64:
        """Group near ones of the classes that are taken, and mend those that fail."""
        refiner = self.refiner
        if taken.size < 2:
            return labels
        columns = refiner.values, refiner.levels, refiner.weights, refiner.n_levels
        points = represent_classes(*columns, *by_class, CENTRE, np.zeros(failing.size))
        of_taken = points[0][taken], points[1][taken]
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((*refiner.key, 2, r))))
        cut = cut_points(of_taken, refiner.weights, refiner.n_levels, BLOCK_CLASSES, rng)
        groups = _take_groups(taken[cut[0]], cut[1], failing)
        records = refiner.as_kernels_take(int(np.diff(by_class[1])[taken].max()))
        mended, how = labels.copy(), HowSearched(refiner.k, n_sweeps=SWEEPS)

        def mend_groups(some: tuple[Int64, Int64], _: int) -> None:
            refine_blocks(records, mended, by_class, some, how, LEAST_GAIN)

        map_groups(mend_groups, groups, refiner.n_threads)
        return mended


def _take_groups(classes: Int64, starts: Int64, wanted: NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """The groups with a class that is wanted."""
    sizes = np.diff(starts)
    is_wanted = np.add.reduceat(wanted[classes].astype(np.int64), starts[:-1]) > 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[is_wanted])])
    return classes[np.repeat(is_wanted, sizes)], ends
