"""Classes of a release of a series: persons who were together before stay together.

Units are classes of their own, and only the records of newcomers are clustered, among themselves:
whatever is united with a unit is another cell, and has to hold by itself. Classes that persons left
are united, where that is asked.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from tclose.methods.scaling import scale_for_search
from tclose.model.array_types import Int32, Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.region_clusters import (
    cluster_region,
    repair_clusters,
)
from tclose.passes.microaggregate.region_records import RegionRecords, select_records
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.microaggregate.unions.unite_classes import EarlierClasses, unite_classes
from tclose.passes.plan.plan import Plan
from tclose.privacy.person_closeness import PersonDemand
from tclose.privacy.t_closeness import class_distances


@dataclass(frozen=True, eq=False)
class SeriesUnits:
    """The units of persons who have to stay together.

    ``units`` int32 (persons,): of each person, -1 of newcomers; ``placed`` int64 (2, releases,
    persons): classes of the earlier releases, and who left these, where departures are united for
    groups of ``departed_k``, else None; ``limits``: the t of each confidential attribute over time.
    """

    units: Int32
    placed: Int64 | None
    departed_k: int
    limits: tuple[Fraction, ...]


def cluster_series(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
    made_k: int,
    series: SeriesUnits | None,
) -> RegionClusters:
    """Cluster a region of a release of a series.

    Parameters
    ----------
    made_k : records that clusters are made of, at least, where there are as many
    series : None of the first release
    """
    made_k = min(made_k, records.keys[0].size)
    roomy = replace(plan, k=made_k)
    if series is None:
        return cluster_region(records, roomy, distributions, person_demand)
    assert records.persons is not None
    of_records = series.units[records.persons]
    stays = of_records >= 0
    labels = np.empty(of_records.size, dtype=np.int64)
    _, labels[stays] = np.unique(of_records[stays], return_inverse=True)
    n_units = int(labels[stays].max(initial=-1)) + 1
    new = np.flatnonzero(~stays)
    if new.size >= 2 * made_k:
        taken = select_records(records, new)
        limits = _limit_newcomers(taken, plan, distributions, series.limits)
        near = replace(roomy, max_emds=limits)
        labels[new] = n_units + cluster_region(taken, near, distributions, person_demand).labels
    else:
        labels[new] = n_units
    verified_plan = replace(plan, max_emds=plan.verification_limits)
    clusters = repair_clusters(labels, records, verified_plan, distributions, person_demand)
    if series.placed is None:
        return clusters
    placed = series.placed[:, :, records.persons]
    earlier = EarlierClasses(placed[0], placed[1], series.departed_k)
    scaled = scale_for_search(list(plan.encodings), records.keys)
    united = unite_classes(clusters.labels, scaled, earlier)
    again = repair_clusters(united, records, verified_plan, distributions, person_demand)
    return replace(again, n_repaired=clusters.n_repaired + again.n_repaired)


def _limit_newcomers(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    over_time: tuple[Fraction, ...],
) -> tuple[Fraction, ...]:
    """The t that classes of newcomers are made for.

    Some class of theirs is as far from the table as all of them are. Where that leaves little room,
    they are made within the middle between that and what they are held to.
    """
    ends = np.array([0, records.keys[0].size])
    limits = []
    for codes, table, made_for, t, most in zip(
        records.codes,
        distributions,
        plan.max_emds,
        plan.verification_limits,
        over_time,
        strict=True,
    ):
        whole = Fraction(ceil(class_distances(codes, ends, table)[0] * 1000), 1000)
        held_to = min(t, most) if whole < t else most
        limits.append(max(made_for, (whole + held_to) / 2))
    return tuple(limits)
