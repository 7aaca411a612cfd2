"""Classes in which all records of a person are together.

A person is a unit: she is clustered by the record of hers that is nearest to their middle, and all
of her records follow. Then persons are exchanged among near classes, which brings classes within t
and lowers the loss of all records, and whole classes are united until k persons and every t, over
rows and over persons, hold as released.
"""

from dataclasses import replace

import numpy as np

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, represent_classes
from tclose.methods.scaling import Scaled, scale_for_search
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.region_clusters import (
    cluster_region,
    repair_clusters,
)
from tclose.passes.microaggregate.region_records import RegionRecords, select_records
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.microaggregate.search.make_refiners import make_refiner
from tclose.passes.microaggregate.search.refine_units import (
    UnitRefiner,
    make_unit_refiner,
    number_units,
)
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.search_budget import OFF
from tclose.privacy.person_closeness import PersonDemand


def cluster_persons(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
) -> RegionClusters:
    """Cluster a region so that all records of a person are in one cluster.

    The parameters are those of `cluster_region`.
    """
    assert records.persons is not None
    assert person_demand is not None
    scaled = scale_for_search(list(plan.encodings), records.keys)
    unit_of = number_units(records.persons)
    medoids = find_medoids(scaled, unit_of)
    taken = select_records(records, np.sort(medoids))
    start = cluster_region(taken, replace(plan, search_budget=OFF), distributions, None)
    of_units = np.empty(medoids.size, dtype=np.int64)
    of_units[unit_of[np.sort(medoids)]] = start.labels
    labels = of_units[unit_of]
    if plan.search_budget.n_rounds == 0:
        return repair_clusters(labels, records, plan, distributions, person_demand)
    refiner = _make_refiner(records, plan, distributions, scaled, person_demand)
    labels, rounds = refiner.refine(labels, plan.search_budget, records.share)
    mended = repair_clusters(labels, records, plan, distributions, person_demand)
    if not mended.n_repaired:
        return replace(mended, rounds=rounds)
    # What was united is divided better among its neighbours.
    labels, more = refiner.refine(mended.labels, plan.search_budget, records.share, len(rounds))
    clusters = repair_clusters(labels, records, plan, distributions, person_demand)
    n_repaired = mended.n_repaired + clusters.n_repaired
    return replace(clusters, n_repaired=n_repaired, rounds=(*rounds, *more))


def find_medoids(scaled: Scaled, unit_of: Int64) -> Int64:
    """Find the record of each unit that is nearest to the middle of all of its: int64 (u,).

    Of several the first one. ``unit_of`` int64 (n,): whose each record is, from 0 without gaps.
    """
    order, starts = group_by_label(unit_of, int(unit_of.max()) + 1)
    values = np.ascontiguousarray(scaled.numeric.T)
    levels = np.ascontiguousarray(scaled.nominal.T)
    centres, modes = represent_classes(
        values, levels, scaled.weights, scaled.n_levels, order, starts, CENTRE, np.empty(0)
    )
    apart = ((values - centres[unit_of]) ** 2).sum(axis=1)
    apart += ((levels != modes[unit_of]) * scaled.weights).sum(axis=1)
    nearest = np.lexsort((np.arange(unit_of.size), apart, unit_of))
    medoids: Int64 = nearest[starts[:-1]]
    return medoids


def _make_refiner(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    scaled: Scaled,
    demand: PersonDemand,
) -> UnitRefiner:
    assert records.persons is not None
    rows = make_refiner(
        scaled,
        records.codes,
        distributions,
        tuple(float(t) for t in plan.max_emds),
        plan.k,
        (plan.seed, *records.name),
        records.n_threads,
    )
    return make_unit_refiner(rows, records.persons, demand, plan.max_emds)
