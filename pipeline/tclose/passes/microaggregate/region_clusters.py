"""Clusters of one region: starts, searches, and repair of those that do not hold."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tclose.errors import TaskError
from tclose.kernels.emd.person_shares import share_rows
from tclose.methods.clustering_problem import (
    FEW_RECORDS,
    Clustering,
    ClusteringProblem,
    SubsetCut,
    group_classes,
)
from tclose.methods.released_loss import measure_released
from tclose.methods.scaling import Scaled, favour_wholes, scale_columns, scale_for_search
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.losses import lose_by_aggregate
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.release_classes import aggregate_column
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.passes.microaggregate.search.compared_searches import (
    RegionClusters,
    SearchEnd,
    SearchEnds,
    SearchRun,
    go_on,
    search_alike,
)
from tclose.passes.microaggregate.search.make_refiners import make_person_refiner, make_refiner
from tclose.passes.microaggregate.search.mend_persons import PersonMender
from tclose.passes.microaggregate.search.model_searches import search_for_models
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import LEAN
from tclose.privacy.person_closeness import PersonDemand
from tclose.runtime.engines.thread_parts import map_side_by_side
from tclose.runtime.monitoring.task_shares import tell_share

# Of the time for a region: clusters, searches, those from other starts, what the best go on for;
# the same where none is compared, and each is run to its end.
SHARES_OF_STEPS = 0.1, 0.3, 0.5, 0.95
SHARES_OF_WHOLE_STEPS = 0.1, 0.5, 0.95, 0.95
# The share that these are of all where classes may have to be made again for further models.
BEFORE_MODELS = 0.5
# What may be lost in times the least where more classes are of more use: of heavy tails 2,861 lost
# 1.2 per cent more than 1,988, and range counts were off by 30 per cent in place of 38.
NO_WORSE = 1.02
# Share of the pairs of records in a class of a start that are of one person, up to which a table
# that is not small is only searched for classes that have none. Below, united classes lose a tenth
# less to a third more, and a few of them have thousands of records.
MOST_PAIRS = 0.01
# Records of a table in which, of persons with few such pairs, both searches are run.
SMALL_TABLE = 25_000


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
    searched = favour_wholes(scaled)
    # Other methods are what they are published as.
    scaled = searched if plan.method.cuts_by_subsets else scaled
    merger = Merger(records, plan, distributions, scaled, person_demand)
    start = _make_clusters(records, plan, distributions, scaled)
    searches = _make_searches(merger, distributions, start, searched)
    is_small = plan.n_records <= FEW_RECORDS
    are_several = len(searches) > 1 or start.beside is not None
    compared = plan.search_budget.to_compare if are_several and not is_small else None
    gives_up = plan.search_budget.ends_by_gain and not is_small
    before_models = 1.0 if start.larger is None else BEFORE_MODELS
    shares = SHARES_OF_WHOLE_STEPS if compared is None else SHARES_OF_STEPS
    first, middle, last, at_end = (before_models * share for share in shares)

    def lose(end: SearchEnd) -> tuple[int, float]:
        return end.clusters.n_violating, _measure_loss(end.clusters.labels, records, plan, scaled)

    tell_share(first)
    ends = SearchEnds(lose, 1.0 if is_small else NO_WORSE)
    # Of those that are alike the first promises most, where nothing is compared.
    n_alike = 1 if compared is None and not is_small else None
    runs: list[tuple[SearchRun, Sequence[Clustering]]] = [
        (search, [start, *start.alike][:n_alike]) for search in searches
    ]
    is_all = compared is None and start.beside is None
    for found in search_alike(runs, compared, (first, at_end if is_all else middle), gives_up):
        ends.keep_best(found)
    if start.beside is not None:
        best = ends.best
        tried = searches if is_small else [best.search]
        beside = start.beside(best.clusters.labels)
        runs = [(search, alike[:n_alike]) for alike in beside for search in tried]
        for found in search_alike(runs, compared, (middle, last), gives_up, best):
            ends.keep_best(found)
    if compared is not None:
        go_on(ends, last, at_end)
    if start.larger is not None:
        search_for_models(ends, searches[0], start, at_end)
    return ends.choose()


def _make_searches(
    merger: Merger, distributions: tuple[Distribution, ...], start: Clustering, scaled: Scaled
) -> list[SearchRun]:
    """The searches in a region: by the table of records, or where persons count, by both tables.

    By both no class gets two records of a person. Where persons have many that are near each other,
    classes with several of hers may lose far less, or far more: which only shows at the end, so
    both searches are run there, and in small tables. Of few records a short search can end better
    than a long one, and takes next to nothing.
    """
    records, plan, demand = merger.records, merger.plan, merger.person_demand
    of_records = scaled, records.codes, distributions
    key, n_threads = (plan.seed, *records.name), records.n_threads
    searches = []
    if demand is not None and plan.persons is not None and plan.persons.n_several:
        assert records.persons is not None
        refiner = make_person_refiner(*of_records, (records.persons, demand), key, n_threads)
        searches.append(SearchRun(merger, refiner, PersonMender(refiner, demand)))
        if plan.n_records > SMALL_TABLE and _share_pairs(records.persons, start) <= MOST_PAIRS:
            return searches
    if not plan.search_budget.n_rounds:
        return [*searches, SearchRun(merger)]
    limits = tuple(float(t) for t in plan.max_emds)
    remake = partial(make_refiner, *of_records, key=key, n_threads=n_threads)
    searches.append(SearchRun(merger, remake(limits, plan.k), remake=remake))
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


def _measure_loss(labels: Int64, records: RegionRecords, plan: Plan, scaled: Scaled) -> float:
    """The loss of clusters, nearly or by what they release, as `measure_released` has it."""
    if plan.n_records > FEW_RECORDS:
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
    scaled = scale_for_search(list(plan.encodings), records.keys)
    merger = Merger(records, plan, distributions, scaled, person_demand)
    labels, n_repaired, n_violating = merger.repair(labels)
    return RegionClusters(labels, None, n_repaired, n_violating)


def _make_clusters(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    scaled: Scaled,
) -> Clustering:
    """Cluster the records of the region by the plan's method.

    Raises
    ------
    TaskError
        It did not number the classes of all records: kernels would write where nothing is.
    """
    clustering = plan.method.make_classes(
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
    if not _are_numbered(clustering.labels, records.keys[0].size):
        raise TaskError(
            f"method.name {plan.method.name}: its labels are not int64 (n,) from 0 without gaps, "
            "one for each record; correct the method"
        )
    return clustering


def _are_numbered(labels: Int64, n_records: int) -> bool:
    """Return whether labels are those of classes of which each has a record."""
    if labels.shape != (n_records,) or labels.dtype != np.int64 or labels.min() < 0:
        return False
    return bool(labels.max() < n_records and np.bincount(labels).all())


def _cut_by_subsets(records: RegionRecords, plan: Plan) -> SubsetCut:
    cells = (
        np.zeros(records.keys[0].size, dtype=np.int64) if records.cells is None else records.cells
    )
    return SubsetCut(
        cells, records.subset_starts, records.take, records.n_clusters, plan.block_clusters
    )
