"""Clusters of one region: starts, searches, and repair of those that do not hold."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from tclose.kernels.emd.person_shares import share_rows
from tclose.methods.clustering_problem import (
    FEW_RECORDS,
    Clustering,
    ClusteringProblem,
    SubsetCut,
    group_classes,
)
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.methods.released_loss import measure_released
from tclose.methods.scaling import Scaled, scale_columns
from tclose.model.array_types import Int64
from tclose.model.attributes import ANCESTOR
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.losses import lose_by_aggregate
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.release_classes import aggregate_column
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.passes.microaggregate.search.make_refiners import make_person_refiner, make_refiner
from tclose.passes.microaggregate.search.mend_persons import PersonMender
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.microaggregate.search.rounds import Round, SearchState, still_saves
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import LEAN, SearchBudget
from tclose.privacy.person_closeness import PersonDemand
from tclose.runtime.engines.thread_parts import map_side_by_side
from tclose.runtime.monitoring.task_shares import part_of_task, tell_share

# Of the time for a region: clusters, searches, those from other starts, what the best go on for;
# the same where none is compared, and each is run to its end.
SHARES_OF_STEPS = 0.1, 0.3, 0.5, 0.95
SHARES_OF_WHOLE_STEPS = 0.1, 0.5, 0.95, 0.95
# What a search may lose, in times the one that loses least, when they are compared, to go on: after
# two more rounds that save as much as its last two.
NEARLY_BEST = 1.1
# The same where a part of the budget is spent, as starts that lose alike end far apart: one of
# Adult that had lost 1.19 times as much as the best ended with .92 of what that did.
MAY_BE_BEST = 1.2
# What may be lost in times the least where more classes are of more use: of heavy tails 2,861 lost
# 1.2 per cent more than 1,988, and range counts were off by 30 per cent in place of 38.
NO_WORSE = 1.02
# Share of the pairs of records in a class of a start that are of one person, up to which a table
# that is not small is only searched for classes that have none. Below, united classes lose a tenth
# less to a third more, and a few of them have thousands of records.
MOST_PAIRS = 0.01
# Records of a table in which, of persons with few such pairs, both searches are run.
SMALL_TABLE = 25_000


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


def cluster_region(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
) -> RegionClusters:
    """Cluster a region, each cluster within t wherever merging can achieve that.

    Algorithm 3 (Soria-Comas et al. 2015, section 7) in blocks; rounds of exchanges that lower the
    loss; exact verification of each class as released; merging of those above t with their cheapest
    neighbours. Of several searches and starts the one that ends at the least loss.
    """
    scaled = scale_columns(list(plan.encodings), records.keys)
    merger = Merger(records, plan, distributions, scaled, person_demand)
    start = _make_clusters(records, plan, distributions, scaled)
    tell_share(SHARES_OF_STEPS[0])
    searches = _make_searches(merger, distributions, start)
    is_small = plan.n_records <= FEW_RECORDS
    are_several = len(searches) > 1 or start.beside is not None
    compared = plan.search_budget.to_compare if are_several and not is_small else None
    gives_up = plan.search_budget.ends_by_gain and not is_small
    first, middle, last, at_end = SHARES_OF_WHOLE_STEPS if compared is None else SHARES_OF_STEPS

    def lose(end: _End) -> tuple[int, float]:
        return end.clusters.n_violating, _measure_loss(end.clusters.labels, records, plan, scaled)

    def best_of(ends: Sequence[_End]) -> _End:
        return min(ends, key=lose) if len(ends) > 1 else ends[0]

    ends: list[_End] = []
    seconds: list[float] = []

    def keep_best(found: Sequence[_End]) -> None:
        ends.append(best_of(found))
        seconds.extend(end.clusters.search_seconds for end in found)

    # Of those that are alike the first promises most, where nothing is compared.
    n_alike = 1 if compared is None and not is_small else None
    runs: list[tuple[_Search, Sequence[Clustering]]] = [
        (search, [start, *start.alike][:n_alike]) for search in searches
    ]
    if _has_ancestors(plan) and plan.search_budget.n_rounds:
        runs.append((_Search(merger), [start]))  # searches know nothing of them, and may lose more
    is_all = compared is None and start.beside is None
    for found in _search_alike(runs, compared, (first, at_end if is_all else middle), gives_up):
        keep_best(found)
    if start.beside is not None:
        best = best_of(ends)
        tried = searches if is_small else [best.search]
        beside = start.beside(best.clusters.labels)
        runs = [(search, alike[:n_alike]) for alike in beside for search in tried]
        for found in _search_alike(runs, compared, (middle, last), gives_up, best):
            keep_best(found)
    if compared is not None:
        for gone_on in list(_go_on([(end, lose(end)) for end in ends], last, at_end)):
            keep_best([gone_on])
    chosen = _choose(ends, lose, 1.0 if is_small else NO_WORSE) if len(ends) > 1 else ends[0]
    return replace(chosen.clusters, search_seconds=sum(seconds))


def _choose(
    ends: Sequence["_End"], lose: Callable[["_End"], tuple[int, float]], no_worse: float
) -> "_End":
    """The end with least classes that do not hold; of those that lose no more most classes.

    ``no_worse``: what these may lose in times the least.
    """
    lost = [lose(end) for end in ends]
    n_violating, least = min(lost)
    chosen = [
        (int(end.clusters.labels.max()), -loss, end)
        for end, (n_failing, loss) in zip(ends, lost, strict=True)
        if n_failing == n_violating and loss <= no_worse * least
    ]
    return max(chosen, key=itemgetter(0, 1))[2]


@dataclass(frozen=True, eq=False)
class _Search:
    """The search from a start, and the repair of what it ends with.

    ``refiner``: None where nothing is searched; ``mender``: where persons are counted; ``budget``:
    another one than the plan's.
    """

    merger: Merger
    refiner: Refiner | None = None
    mender: PersonMender | None = None
    budget: SearchBudget | None = None

    def run(
        self,
        start: Clustering,
        compared: SearchBudget | None = None,
        state: SearchState | None = None,
        most_lost: float = math.inf,
    ) -> "_End":
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
        return _End(self, searched, state, clusters)


@dataclass(frozen=True, eq=False)
class _End:
    """The end of a search: its labels, ``searched`` int64 (n,), and clusters after repair."""

    search: _Search
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

    def go_on(self) -> "_End":
        """The end of the search that goes on from here with its whole budget."""
        return self.search.run(Clustering(self.searched, self.clusters.levels), state=self.state)


def _search_alike(
    runs: Sequence[tuple[_Search, Sequence[Clustering]]],
    compared: SearchBudget | None,
    of_task: tuple[float, float],
    gives_up: bool,
    best: _End | None = None,
) -> Iterator[list[_End]]:
    """Run each search from the starts that are alike, during a part of the task.

    ``gives_up``: one is given up once it will end far from the best of those before that are like
    it, or from the ``best`` of others.
    """
    (begin, end), n_done = of_task, 0
    step = (end - begin) / max(sum(len(alike) for _, alike in runs), 1)
    least = best.most_lost if best is not None and gives_up else math.inf
    for search, alike in runs:
        found: list[_End] = []
        most_lost = least
        for start in alike:
            with part_of_task(begin + n_done * step, begin + (n_done + 1) * step):
                found.append(search.run(start, compared, most_lost=most_lost))
            n_done += 1
            if gives_up:
                most_lost = min(most_lost, found[-1].most_lost)
        least = least if best is None else most_lost
        yield found


def _go_on(
    ends: Sequence[tuple[_End, tuple[int, float]]], begin: float, end: float
) -> Iterator[_End]:
    """Go on with the searches that may end best: classes that do not hold, and loss, of each."""
    searched = [(one, lost) for one, lost in ends if one.search.refiner is not None]
    n_violating, loss = min(lost for _, lost in searched)
    nearly = [
        one
        for one, (n_failing, lost) in searched
        if (n_failing, lost - still_saves(one.clusters.rounds)) <= (n_violating, MAY_BE_BEST * loss)
    ]
    step = (end - begin) / len(nearly)
    for number, one in enumerate(nearly):
        with part_of_task(begin + number * step, begin + (number + 1) * step):
            yield one.go_on()


def _make_searches(
    merger: Merger, distributions: tuple[Distribution, ...], start: Clustering
) -> list[_Search]:
    """The searches in a region: by the table of records, or where persons count, by both tables.

    By both no class gets two records of a person. Where persons have many that are near each other,
    classes with several of hers may lose far less, or far more: which only shows at the end, so
    both searches are run there, and in small tables. Of few records a short search can end better
    than a long one, and takes next to nothing.
    """
    records, plan, scaled, demand = merger.records, merger.plan, merger.scaled, merger.person_demand
    of_records = scaled, records.codes, distributions
    key, n_threads = (plan.seed, *records.name), records.n_threads
    searches = []
    if demand is not None and plan.persons is not None and plan.persons.n_several:
        assert records.persons is not None
        refiner = make_person_refiner(*of_records, (records.persons, demand), key, n_threads)
        searches.append(_Search(merger, refiner, PersonMender(refiner, demand)))
        if plan.n_records > SMALL_TABLE and _share_pairs(records.persons, start) <= MOST_PAIRS:
            return searches
    if not plan.search_budget.n_rounds:
        return [*searches, _Search(merger)]
    limits = tuple(float(t) for t in plan.max_emds)
    refiner = make_refiner(*of_records, limits, plan.k, key, n_threads)
    searches.append(_Search(merger, refiner))
    if plan.n_records <= FEW_RECORDS and plan.search_budget.n_perturbed:
        searches += [replace(search, budget=LEAN) for search in searches]
    return searches


def _share_pairs(persons: Int64, start: Clustering) -> float:
    """Share of the pairs of records in a class of a start that are of one person."""
    order, starts = group_classes(start.labels)
    n_persons, shares = share_rows(persons[order], starts)
    sizes = np.diff(starts)
    n_others = 1 / (shares * np.repeat(n_persons, sizes)) - 1  # of the record's person in its class
    return float(n_others.sum()) / max(float((sizes * (sizes - 1)).sum()), 1.0)


def _has_ancestors(plan: Plan) -> bool:
    """Return whether classes release the lowest common ancestor of a quasi-identifier's values."""
    return any(e.column.aggregate == ANCESTOR and not e.generalised for e in plan.encodings)


def _measure_loss(labels: Int64, records: RegionRecords, plan: Plan, scaled: Scaled) -> float:
    """The loss of clusters, nearly or by what they release, as `measure_released` has it."""
    if plan.n_records > FEW_RECORDS and not _has_ancestors(plan):
        return measure_released(scaled, labels)
    by_class = group_classes(labels)
    loss = 0.0
    for j, (encoding, keys) in enumerate(zip(plan.encodings, records.keys, strict=True)):
        known = records.gaps.keep_known(j, by_class)
        released = aggregate_column(encoding, keys, *known)
        one_class = 1.0 if encoding.table_loss is None else encoding.table_loss.by_range
        lost = lose_by_aggregate(encoding, keys, released, known)
        loss += encoding.column.attribute.weight / one_class * lost
    return loss


def repair_clusters(
    labels: Int64,
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
) -> RegionClusters:
    """Merge whole clusters, int64 (n,), until all hold what the plan asks, wherever that can be."""
    scaled = scale_columns(list(plan.encodings), records.keys)
    merger = Merger(records, plan, distributions, scaled, person_demand)
    labels, n_repaired, n_violating = merger.repair(labels)
    return RegionClusters(labels, None, n_repaired, n_violating)


def _make_clusters(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    scaled: Scaled,
) -> Clustering:
    """Cluster the records of the region by the plan's method."""
    return plan.method.make_classes(
        ClusteringProblem(
            plan.encodings,
            plan.confidential,
            records.keys,
            scaled,
            records.codes,
            distributions,
            plan.k,
            plan.max_emds,
            plan.privacy_models,
            plan.bucket_of,
            _cut_by_subsets(records, plan) if plan.method.cuts_by_subsets else None,
            partial(map_side_by_side, n_threads=records.n_threads),
        )
    )


def _cut_by_subsets(records: RegionRecords, plan: Plan) -> SubsetCut:
    cells = (
        np.zeros(records.keys[0].size, dtype=np.int64) if records.cells is None else records.cells
    )
    return SubsetCut(
        cells, records.subset_starts, records.take, records.n_clusters, plan.block_clusters
    )
