"""Searches of a region from several starts, and what each ends with, of which the best is taken."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter

from tclose.methods.clustering_problem import Clustering
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.passes.microaggregate.search.mend_persons import PersonMender
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.microaggregate.search.rounds import Round, SearchState, still_saves
from tclose.passes.plan.search_budget import SearchBudget
from tclose.runtime.monitoring.task_shares import part_of_task

# What a search may lose, in times the one that loses least, when they are compared, to go on: after
# two more rounds that save as much as its last two.
NEARLY_BEST = 1.1
# The same where a part of the budget is spent, as starts that lose alike end far apart: one of
# Adult that had lost 1.19 times as much as the best ended with .92 of what that did.
MAY_BE_BEST = 1.2


@dataclass(frozen=True, eq=False)
class RegionClusters:
    """Clusters of a region, before it is decided what they release.

    ``labels`` int64 (n,); ``levels``: of generalisation, where levels were chosen for the region;
    ``n_repaired``: clusters merged as they were above t or failed a further model;
    ``n_violating``: those that merging within the region could not repair; ``search_seconds``: of
    the processors, from starts to clusters.
    """

    labels: Int64
    levels: FullDomain | None = None
    n_repaired: int = 0
    n_violating: int = 0
    rounds: tuple[Round, ...] = ()
    search_seconds: float = 0.0

    def without_labels(self) -> "RegionClusters":
        """The same, with no label of a record."""
        none, levels = self.labels[:0], self.levels
        return replace(
            self, labels=none, levels=None if levels is None else replace(levels, labels=none)
        )


@dataclass(frozen=True, eq=False)
class SearchRun:
    """The search from a start, and the repair of what it ends with.

    ``refiner``: None where nothing is searched; ``mender``: where persons are counted; ``budget``:
    another one than the plan's; ``remake``: the refiner for classes within other distances, of
    another k.
    """

    merger: Merger
    refiner: Refiner | None = None
    mender: PersonMender | None = None
    budget: SearchBudget | None = None
    remake: Callable[[tuple[float, ...], int], Refiner] | None = None

    def run(
        self,
        start: Clustering,
        compared: SearchBudget | None = None,
        state: SearchState | None = None,
        most_lost: float = math.inf,
    ) -> "SearchEnd":
        """Search, and repair what that ends with.

        ``compared``: the part of the budget that is used; ``state``: of a search that goes on;
        ``most_lost``: it is given up where it is to end with more.
        """
        labels, levels, plan = start.labels, start.levels, self.merger.plan
        rounds: tuple[Round, ...] = ()
        state = replace(state or SearchState(), most_lost=most_lost)
        began = time.process_time()
        if self.refiner is not None:
            share, merge = self.merger.records.share, self.merger.merge
            budget = compared or self.budget or plan.search_budget
            labels, rounds = self.refiner.refine(
                labels, budget, merge, share, start.block_starts, state
            )
        searched, mend = labels, None if self.mender is None else self.mender.mend
        if mend is not None:
            labels = mend(labels)
        n_repaired = n_violating = 0
        if plan.method.holds_t and levels is None:
            labels, n_repaired, n_violating = self.merger.repair(labels, mend)
        seconds = time.process_time() - began
        clusters = RegionClusters(labels, levels, n_repaired, n_violating, rounds, seconds)
        return SearchEnd(self, searched, state, clusters)

    def held_to(
        self, k: int, max_emds: Sequence[Fraction], budget: SearchBudget | None = None
    ) -> "SearchRun":
        """The same of classes of so many records or more, within such distances."""
        refiner = None if self.remake is None else self.remake(tuple(map(float, max_emds)), k)
        return replace(self, refiner=refiner, budget=budget or self.budget)


@dataclass(frozen=True, eq=False)
class SearchEnd:
    """The end of a search: its labels, ``searched`` int64 (n,), and clusters after repair."""

    search: SearchRun
    searched: Int64
    state: SearchState
    clusters: RegionClusters

    @property
    def most_lost(self) -> float:
        """The loss up to which another search is nearly as good: as searched or as repaired."""
        refiner, clusters = self.search.refiner, self.clusters
        if refiner is None or not clusters.rounds:
            return math.inf
        return NEARLY_BEST * max(clusters.rounds[-1].loss, refiner.measure(clusters.labels).loss)

    def go_on(self) -> "SearchEnd":
        """The end of the search that goes on from here with its whole budget."""
        return self.search.run(Clustering(self.searched, self.clusters.levels), state=self.state)


@dataclass(eq=False)
class SearchEnds:
    """The ends of searches that are kept.

    ``lose``: classes of an end that do not hold, and its loss; ``no_worse``: what one may lose in
    times the least to be chosen as it has more classes.
    """

    lose: Callable[[SearchEnd], tuple[int, float]]
    no_worse: float = 1.0
    kept: list[SearchEnd] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)

    def keep_best(self, found: Sequence[SearchEnd]) -> None:
        """Keep the best of some; the time of all counts."""
        self.kept.append(self._best_of(found))
        self._seconds.extend(end.clusters.search_seconds for end in found)

    @property
    def best(self) -> SearchEnd:
        """The one with least classes that do not hold, and of these with least loss."""
        return self._best_of(self.kept)

    def drop_worse(self) -> None:
        """Keep those only that may be chosen: their labels take memory."""
        self.kept = [end for end, _ in self._list_chosen()]

    def choose(self) -> RegionClusters:
        """The end with least classes that do not hold; of those that lose no more most classes."""
        chosen = [(int(end.clusters.labels.max()), -loss, end) for end, loss in self._list_chosen()]
        clusters = max(chosen, key=itemgetter(0, 1))[2].clusters
        return replace(clusters, search_seconds=sum(self._seconds))

    def _list_chosen(self) -> list[tuple[SearchEnd, float]]:
        """Those with least classes that do not hold, of which none loses more; and their losses."""
        lost = [self.lose(end) for end in self.kept] if len(self.kept) > 1 else [(0, 0.0)]
        n_violating, least = min(lost)
        return [
            (end, loss)
            for end, (n_failing, loss) in zip(self.kept, lost, strict=True)
            if n_failing == n_violating and loss <= self.no_worse * least
        ]

    def _best_of(self, ends: Sequence[SearchEnd]) -> SearchEnd:
        return min(ends, key=self.lose) if len(ends) > 1 else ends[0]


def search_alike(
    runs: Sequence[tuple[SearchRun, Sequence[Clustering]]],
    compared: SearchBudget | None,
    of_task: tuple[float, float],
    gives_up: bool,
    best: SearchEnd | None = None,
) -> Iterator[list[SearchEnd]]:
    """Run each search from the starts that are alike, during a part of the task.

    ``gives_up``: one is given up once it will end far from the best of those before that are like
    it, or from the ``best`` of others.
    """
    (begin, end), n_done = of_task, 0
    step = (end - begin) / max(sum(len(alike) for _, alike in runs), 1)
    least = best.most_lost if best is not None and gives_up else math.inf
    for search, alike in runs:
        found: list[SearchEnd] = []
        most_lost = least
        for start in alike:
            with part_of_task(begin + n_done * step, begin + (n_done + 1) * step):
                found.append(search.run(start, compared, most_lost=most_lost))
            n_done += 1
            if gives_up:
                most_lost = min(most_lost, found[-1].most_lost)
        least = least if best is None else most_lost
        yield found


def go_on(ends: SearchEnds, begin: float, end: float) -> None:
    """Go on with the searches that may end best: classes that do not hold, and loss, of each."""
    searched = [(one, ends.lose(one)) for one in ends.kept]
    n_violating, loss = min(lost for _, lost in searched)
    nearly = [
        one
        for one, (n_failing, lost) in searched
        if (n_failing, lost - still_saves(one.clusters.rounds)) <= (n_violating, MAY_BE_BEST * loss)
    ]
    step = (end - begin) / len(nearly)
    for number, one in enumerate(nearly):
        with part_of_task(begin + number * step, begin + (number + 1) * step):
            ends.keep_best([one.go_on()])
