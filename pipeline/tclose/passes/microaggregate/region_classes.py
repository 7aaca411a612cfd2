"""Microaggregation of one region: clusters, their released values, distances, repair, loss."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding, Keys
from tclose.kernels import aggregate
from tclose.kernels.refinement.repair import merge_classes
from tclose.methods.clustering_problem import ClusteringProblem, SubsetCut
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.methods.generalisation.generalise import Generalised, ancestors_of, generalise_column
from tclose.methods.scaling import Scaled, scale_columns
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR, LOW_MEDIAN, REPRESENTATIVE
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.losses import (
    Losses,
    Pair,
    measure_aggregation,
    measure_generalising,
)
from tclose.passes.microaggregate.merge_classes import merge_until
from tclose.passes.microaggregate.refine_classes import make_refiner
from tclose.passes.microaggregate.representatives import (
    Wanted,
    choose_representatives,
    group_classes,
)
from tclose.passes.microaggregate.rounds import Round
from tclose.passes.plan.plan import Plan
from tclose.privacy.bound_models import meet_all
from tclose.privacy.person_closeness import PersonDemand
from tclose.privacy.t_closeness import find_above, make_target


@dataclass(frozen=True, eq=False)
class RegionRecords:
    """The records of a region, subset by subset, within a subset by position.

    ``keys``: of each quasi-identifier (n,); ``codes`` int64 (p, n): confidential values as
    positions in their distribution; ``subset_starts`` int64 (S + 1,); ``cells`` int64 (n,) of the
    further confidential attributes, in which blocks are balanced too. ``others``: numbers of the
    compared columns that are no quasi-identifiers, which nothing but the losses depends on.
    ``name``: the region's place in the plan, which draws depend on; ``share``: its part of all
    records. ``persons`` int64 (n,): whose each is, if several may be of one.
    """

    keys: list[Keys]
    codes: Int64
    subset_starts: Int64
    take: Int64
    n_clusters: int
    cells: Int64 | None = None
    others: tuple[Pair, ...] = ()
    name: tuple[int, int] = (0, 0)
    share: float = 1.0
    persons: Int64 | None = None


@dataclass(frozen=True, eq=False)
class RegionClusters:
    """Clusters of a region, before it is decided what they release.

    ``labels`` int64 (n,); ``levels``: of generalisation, where levels were chosen for the region;
    ``n_repaired``, ``n_violating``, ``rounds``: see `RegionClasses`.
    """

    labels: Int64
    levels: FullDomain | None = None
    n_repaired: int = 0
    n_violating: int = 0
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, eq=False)
class RegionClasses:
    """Classes of a region in the order of their released keys.

    ``released``: keys of each quasi-identifier, one per class (c,); records of class i are
    ``order[starts[i]:starts[i+1]]``; ``n_clusters``: those made, some of which may be released
    alike and be one class; ``n_repaired``: classes merged as they were above t or failed a further
    model; ``n_violating``: classes that merging within the region could not repair; ``levels``: of
    each quasi-identifier, where levels were chosen for the region.
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


def microaggregate_region(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None = None,
) -> RegionClasses:
    """Classes of a region, each within t wherever merging within the region can achieve that."""
    clusters = cluster_region(records, plan, distributions, person_demand)
    return release_region(clusters, records, plan)


def cluster_region(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
) -> RegionClusters:
    """Cluster a region, each cluster within t wherever merging can achieve that.

    Algorithm 3 (Soria-Comas et al. 2015, section 7) in blocks; rounds of exchanges that lower the
    loss; exact verification of each class as released; merging of those above t with their cheapest
    neighbours.
    """
    scaled = scale_columns(list(plan.encodings), records.keys)
    merger = _Merger(records, plan, distributions, scaled, person_demand)
    refiner = make_refiner(
        scaled,
        records.codes,
        distributions,
        tuple(float(t) for t in plan.max_emds),
        plan.k,
        (plan.seed, *records.name),
    )
    labels, block_starts, levels = _make_clusters(records, plan, distributions, scaled)
    if plan.method.cuts_by_subsets and block_starts is None:
        labels = merger.merge(labels)  # near records, of which exchanges would bring far ones
    labels, rounds = refiner.refine(
        labels, plan.search_budget, merger.merge, records.share, block_starts
    )
    n_repaired = n_violating = 0
    if plan.method.holds_t and levels is None:
        labels, n_repaired, n_violating = merger.repair(labels)
    return RegionClusters(labels, levels, n_repaired, n_violating, rounds)


def repair_clusters(
    labels: Int64,
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    person_demand: PersonDemand | None,
) -> RegionClusters:
    """Merge whole clusters, int64 (n,), until all hold what the plan asks, wherever that can be."""
    scaled = scale_columns(list(plan.encodings), records.keys)
    merger = _Merger(records, plan, distributions, scaled, person_demand)
    labels, n_repaired, n_violating = merger.repair(labels)
    return RegionClusters(labels, None, n_repaired, n_violating)


def release_region(
    clusters: RegionClusters, records: RegionRecords, plan: Plan, wanted: Wanted | None = None
) -> RegionClasses:
    """Release the clusters of a region; those that are released alike are one class.

    ``wanted``: of each quasi-identifier that is released as representatives, in their order,
    records to be released of each value; by default as many as the region has.
    """
    labels, levels = clusters.labels, clusters.levels
    if any(e.column.aggregate == REPRESENTATIVE for e in plan.encodings):
        released, order, starts = _join_alike(
            labels, _represent(labels, records.keys, plan, wanted)
        )
    else:
        released, order, starts = _release_classes(labels, records.keys, plan, levels)
    losses = _measure_losses(labels, released, (order, starts), records, plan, levels)
    n_clusters = int(labels.max()) + 1
    node = None if levels is None else levels.node
    return RegionClasses(
        released, order, starts, losses, n_clusters, clusters.n_repaired, clusters.n_violating,
        clusters.rounds, node,
    )  # fmt: skip


def _represent(labels: Int64, keys: list[Keys], plan: Plan, wanted: Wanted | None) -> list[Keys]:
    """Released keys of each cluster: representatives, and aggregates of the other attributes."""
    by_class = aggregate.group_by_label(labels, int(labels.max()) + 1)
    released: list[Keys] = []
    targets = iter(wanted or ())
    for encoding, column in zip(plan.encodings, keys, strict=True):
        if encoding.column.aggregate == REPRESENTATIVE:
            target = None if wanted is None else next(targets)
            released.append(choose_representatives(encoding, column, by_class, target))
        else:
            released.append(aggregate_column(encoding, column, *by_class))
    return released


@dataclass(frozen=True, eq=False)
class _Merger:
    """Merges classes that are above t as they would be released."""

    records: RegionRecords
    plan: Plan
    distributions: tuple[Distribution, ...]
    scaled: Scaled
    person_demand: PersonDemand | None

    def merge(self, labels: Int64) -> Int64:
        """Labels (n,) of clusters that are within t, if merging can achieve that."""
        order, starts = aggregate.group_by_label(labels, int(labels.max()) + 1)
        above = self._find_above(order, starts)
        return self._merge_some(labels, starts, above) if above.size else labels

    def merge_above(self, labels: Int64) -> tuple[Int64, int, int]:
        """The same for classes as released; also how many were merged, how many are above still."""
        n_merged = 0
        while True:
            order, starts = self._group(labels)
            above = self._find_above(order, starts)
            if not above.size or starts.size == 2:
                return labels, n_merged, above.size
            n_before = int(labels.max()) + 1
            labels = self._merge_some(_labels_of(order, starts), starts, above)
            n_merged += above.size
            if int(labels.max()) + 1 == n_before:
                return labels, n_merged, above.size

    def repair(self, labels: Int64) -> tuple[Int64, int, int]:
        """`merge_above`, then for the further models: merging undoes none and raises no EMD."""
        labels, n_merged, n_violating = self.merge_above(labels)
        if self.person_demand is not None:
            return self._repair_persons(labels, n_merged, n_violating)
        requirements = self.plan.privacy_models.by_class
        if not requirements:
            return labels, n_merged, n_violating
        codes = self.records.codes

        def holds(order: Int64, starts: Int64) -> NDArray[np.bool_]:
            return meet_all(requirements, starts, codes[:, order], self.distributions)

        order, starts = self._group(labels)
        scaled = self.scaled
        labels, n_more, n_failing = merge_until(
            _labels_of(order, starts), scaled.numeric, scaled.nominal, holds, scaled.weights
        )
        return labels, n_merged + n_more, n_violating + n_failing

    def _repair_persons(
        self, labels: Int64, n_merged: int, n_violating: int
    ) -> tuple[Int64, int, int]:
        """Unite classes until k and t hold over persons, also as released.

        A union may be farther from the table over persons than its parts, so classes that are
        released alike, and are one, are looked at again.
        """
        demand, persons, codes = self.person_demand, self.records.persons, self.records.codes
        assert demand is not None
        assert persons is not None

        def holds(order: Int64, starts: Int64) -> NDArray[np.bool_]:
            return demand.holds(starts, persons[order], codes[:, order])

        scaled = self.scaled
        while True:
            _, order, starts = _release_classes(labels, self.records.keys, self.plan)
            labels = _labels_of(order, starts)
            labels, n_more, n_failing = merge_until(
                labels, scaled.numeric, scaled.nominal, holds, scaled.weights
            )
            n_merged += n_more
            if not n_more or n_failing:
                return labels, n_merged, n_violating + n_failing

    def _group(self, labels: Int64) -> tuple[Int64, Int64]:
        """Group records by classes as released; by clusters where these will release other values.

        Clusters that are within t by themselves are so together, if they are released alike.
        """
        if any(e.column.aggregate == REPRESENTATIVE for e in self.plan.encodings):
            return group_classes(labels)
        _, order, starts = _release_classes(labels, self.records.keys, self.plan)
        return order, starts

    def _merge_some(self, labels: Int64, starts: Int64, above: Int64) -> Int64:
        scaled = self.scaled
        labels, _ = merge_classes(
            scaled.numeric, scaled.nominal, scaled.weights, labels, np.diff(starts), above,
            self._targets,
        )  # fmt: skip
        return labels

    def _find_above(self, order: Int64, starts: Int64) -> Int64:
        return find_above(order, starts, self.records.codes, self.distributions, self.plan.max_emds)

    @property
    def _targets(self) -> tuple[Any, ...]:
        limits = self.plan.max_emds
        tables = zip(self.distributions, limits, strict=True)
        return self.records.codes, tuple(make_target(d, limit) for d, limit in tables)


def _make_clusters(
    records: RegionRecords,
    plan: Plan,
    distributions: tuple[Distribution, ...],
    scaled: Scaled,
) -> tuple[Int64, Int64 | None, FullDomain | None]:
    """Cluster of each record, where blocks' clusters begin, and levels of generalisation."""
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
        )
    )
    return clustering.labels, clustering.block_starts, clustering.levels


def _cut_by_subsets(records: RegionRecords, plan: Plan) -> SubsetCut:
    cells = (
        np.zeros(records.keys[0].size, dtype=np.int64) if records.cells is None else records.cells
    )
    return SubsetCut(
        cells, records.subset_starts, records.take, records.n_clusters, plan.block_clusters
    )


def _labels_of(order: Int64, starts: Int64) -> Int64:
    labels = np.empty(order.size, dtype=np.int64)
    labels[order] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return labels


def _release_classes(
    labels: Int64, keys: list[Keys], plan: Plan, levels: FullDomain | None = None
) -> tuple[list[Keys], Int64, Int64]:
    """Released keys of each cluster; clusters with equal ones become one equivalence class."""
    n_labels = int(labels.max()) + 1
    order, starts = aggregate.group_by_label(labels, n_labels)
    released: list[Any] = []
    for j, (encoding, column) in enumerate(zip(plan.encodings, keys, strict=True)):
        if encoding.generalised:
            released.append(_generalise(j, encoding, column, (order, starts), levels).texts)
        else:
            released.append(aggregate_column(encoding, column, order, starts))
    return _join_alike(labels, released)


def _join_alike(labels: Int64, released: list[Any]) -> tuple[list[Keys], Int64, Int64]:
    """Make one class of clusters with equal released keys; classes in the order of their keys."""
    n_labels = int(labels.max()) + 1
    by_keys = np.lexsort(released[::-1])
    changed = find_changes([column[by_keys] for column in released])
    class_of = np.empty(n_labels, dtype=np.int64)
    class_of[by_keys] = np.cumsum(changed) - 1
    order, starts = aggregate.group_by_label(class_of[labels], int(changed.sum()))
    return [column[by_keys][changed] for column in released], order, starts


def _generalise(
    j: int, encoding: Encoding, keys: Keys, by_class: tuple[Int64, Int64], levels: FullDomain | None
) -> Generalised:
    """Generalise quasi-identifier j of clusters: to its level, or to cover their values."""
    if levels is not None:
        return levels.release(j, keys, *by_class)
    return generalise_column(encoding, keys, *by_class, ancestors_of(encoding))


def _measure_losses(
    labels: Int64, released: list[Keys], by_class: tuple[Int64, Int64],
    records: RegionRecords, plan: Plan, levels: FullDomain | None,
) -> Losses:  # fmt: skip
    """Measure the losses of classes that are released as aggregates or generalised."""
    encoded = plan.encodings, records.keys
    if not plan.method.generalises:
        return measure_aggregation(*encoded, released, by_class, records.others)
    clusters = aggregate.group_by_label(labels, int(labels.max()) + 1)
    generalised = [
        _generalise(j, encoding, keys, clusters, levels)
        for j, (encoding, keys) in enumerate(zip(*encoded, strict=True))
    ]
    return measure_generalising(*encoded, generalised, clusters, records.others)


def find_changes(columns: list[Keys]) -> NDArray[np.bool_]:
    """Return where any of the sorted columns differs from the row before; the first row does."""
    changed = np.zeros(columns[0].size, dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def aggregate_column(encoding: Encoding, keys: Keys, order: Int64, starts: Int64) -> Keys:
    """Aggregate each cluster's keys, in keys of the release's type (c,).

    Numeric and date: mean, median or lower median; ordinal: lower median; nominal: mode, ties to
    the value that is commoner in the whole table, or the lowest common ancestor of the values in
    their taxonomy.
    """
    tree = tree_of(encoding)
    if tree is not None and encoding.column.aggregate == ANCESTOR:
        return tree.lowest_common(keys, order, starts)
    if encoding.is_nominal:
        assert encoding.priority is not None
        return cast(Keys, aggregate.modes(keys, order, starts, encoding.priority))
    if encoding.column.kind is Kind.ORDINAL:
        return cast(Keys, aggregate.lower_medians(keys, order, starts))
    rounded = keys.dtype == np.int64 and encoding.release_type == encoding.type
    if encoding.column.aggregate == LOW_MEDIAN:
        values = aggregate.lower_medians(keys, order, starts)
        return cast(Keys, values) if rounded else _as_released(values.astype(float), encoding)
    if encoding.column.aggregate == "median":
        return _middle_values(keys, order, starts, rounded, encoding)
    if rounded:
        return cast(Keys, aggregate.integer_means(keys, order, starts))
    return _as_released(aggregate.float_means(keys.astype(np.float64), order, starts), encoding)


def _middle_values(
    keys: Keys, order: Int64, starts: Int64, rounded: bool, encoding: Encoding
) -> Keys:
    lower = aggregate.lower_medians(keys, order, starts)
    upper = aggregate.upper_medians(keys, order, starts)
    if rounded:
        return cast(Keys, lower + (upper - lower + 1) // 2)
    return _as_released(lower + (upper - lower) / 2, encoding)


def _as_released(values: Float64, encoding: Encoding) -> Float64:
    """Floats as the release holds them: single precision stays; decimals get their point."""
    if pa.types.is_decimal(encoding.type):
        return cast(Float64, values / 10.0**encoding.type.scale)
    if pa.types.is_floating(encoding.type):
        values = values.astype(encoding.type.to_pandas_dtype()).astype(np.float64)
    return values + 0.0
