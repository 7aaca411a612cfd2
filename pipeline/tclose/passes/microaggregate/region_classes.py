"""Classes of one region: the values that its clusters release, and what they lose."""

from dataclasses import dataclass

import numpy as np

from tclose.data.keys import Keys
from tclose.kernels import aggregate
from tclose.methods.clustering_problem import group_classes
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.analyses.record_counts import RecordCounter
from tclose.passes.microaggregate.losses import (
    Losses,
    measure_aggregation,
    measure_generalising,
)
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.release_classes import (
    aggregate_column,
    generalise_clusters,
    join_alike,
    release_classes,
)
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.microaggregate.search.rounds import Round
from tclose.passes.microaggregate.shares.representatives import (
    MORE_LOSS,
    Allotment,
    aggregate_others,
    find_choices,
    keep_shares,
    release_cheapest,
    represented,
)
from tclose.passes.plan.plan import Plan
from tclose.privacy.person_closeness import PersonDemand


@dataclass(frozen=True, eq=False)
class RegionClasses:
    """Classes of a region in the order of their released keys.

    ``released``: keys of each quasi-identifier, one per class (c,); records of class i are
    ``order[starts[i]:starts[i+1]]``; ``n_clusters``: those made, some of which may be released
    alike and be one class; ``n_repaired``: classes merged as they were above t or failed a further
    model; ``n_violating``: classes that merging within the region could not repair; ``levels``: of
    each quasi-identifier, where levels were chosen for the region; ``search_seconds``: of the
    processors, from starts to clusters.
    """

    released: list[Keys]
    order: Int64
    starts: Int64
    losses: Losses
    n_clusters: int
    n_repaired: int
    n_violating: int
    rounds: tuple[Round, ...] = ()
    levels: tuple[int, ...] | None = None
    search_seconds: float = 0.0


def release_region(
    clusters: RegionClusters,
    records: RegionRecords,
    plan: Plan,
    allotment: Allotment | None = None,
    person_demand: PersonDemand | None = None,
) -> RegionClasses:
    """Release the clusters of a region; those that are released alike are one class.

    ``allotment``: what it has to release of the values of representatives; by default as many
    records of each as it has.
    """
    labels, levels = clusters.labels, clusters.levels
    if represented(plan):
        released, order, starts = _represent(labels, records, plan, allotment, person_demand)
    else:
        released, order, starts = release_classes(labels, records.keys, plan, levels, records.gaps)
    losses = _measure_losses(labels, released, (order, starts), records, plan, levels)
    n_clusters = int(labels.max()) + 1
    node = None if levels is None else levels.node
    return RegionClasses(
        released, order, starts, losses, n_clusters, clusters.n_repaired, clusters.n_violating,
        clusters.rounds, node, clusters.search_seconds,
    )  # fmt: skip


def _represent(
    labels: Int64,
    records: RegionRecords,
    plan: Plan,
    allotment: Allotment | None,
    person_demand: PersonDemand | None,
) -> tuple[list[Keys], Int64, Int64]:
    """Classes whose attributes with categories release representatives, as by `join_alike`."""
    by_class = group_classes(labels)
    others, other_loss = aggregate_others(records, plan, by_class)
    columns = {}
    for place, j in enumerate(represented(plan)):
        encoding, known = plan.encodings[j], records.gaps.keep_known(j, by_class)
        choices = find_choices(encoding, records.keys[j], known)
        if allotment is None:
            columns[j] = release_cheapest(encoding, choices)
        else:
            wanted = allotment.wanted[place]
            columns[j] = release_cheapest(encoding, choices, wanted, allotment.apart)
    more_loss = MORE_LOSS if allotment is None else allotment.more_loss
    keep_shares(list(columns.values()), other_loss, more_loss)
    released = [others[j] if j in others else columns[j].keys() for j in range(len(plan.encodings))]
    if person_demand is None:
        return join_alike(labels, released)
    return _join_persons(labels, released, records, plan, person_demand)


def _join_persons(
    labels: Int64,
    released: list[Keys],
    records: RegionRecords,
    plan: Plan,
    demand: PersonDemand,
) -> tuple[list[Keys], Int64, Int64]:
    """The same where classes of clusters that are released alike have to hold over persons.

    Clusters of those that do not release the usual aggregates again, by which they hold.
    """
    assert records.persons is not None
    is_usual = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
    while True:
        keys, order, starts = join_alike(labels, released)
        holds = demand.holds(starts, records.persons[order], records.codes[:, order])
        failing = np.unique(labels[order[np.repeat(~holds, np.diff(starts))]])
        if is_usual[failing].all():
            return keys, order, starts
        is_usual[failing] = True
        by_class = aggregate.group_by_label(labels, is_usual.size)
        for j in represented(plan):
            known = records.gaps.keep_known(j, by_class)
            usual = aggregate_column(plan.encodings[j], records.keys[j], *known)
            released[j] = np.where(is_usual, usual, released[j])


def _measure_losses(
    labels: Int64, released: list[Keys], by_class: tuple[Int64, Int64],
    records: RegionRecords, plan: Plan, levels: FullDomain | None,
) -> Losses:  # fmt: skip
    """Measure the losses of classes that are released as aggregates or generalised."""
    encoded = plan.encodings, records.keys
    work = records.workload
    counter = None if work is None else RecordCounter(work, records.codes)
    if not plan.method.generalises:
        return measure_aggregation(
            *encoded, released, by_class, records.others, counter, records.gaps
        )
    clusters = group_classes(labels)
    generalised = [
        generalise_clusters(j, encoding, keys, clusters, levels)
        for j, (encoding, keys) in enumerate(zip(*encoded, strict=True))
    ]
    return measure_generalising(*encoded, generalised, clusters, records.others, counter)
