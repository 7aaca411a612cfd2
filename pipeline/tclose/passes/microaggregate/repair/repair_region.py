"""Repair of a region's clusters: those that fail what is asked are merged with near ones."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Keys
from tclose.kernels.refinement.repair import merge_classes
from tclose.methods.clustering_problem import group_classes, label_records
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.model.attributes import REPRESENTATIVE
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.release_classes import release_classes
from tclose.passes.microaggregate.repair.merge_until import merge_until
from tclose.passes.plan.plan import Plan
from tclose.privacy.bound_models import meet_all
from tclose.privacy.person_closeness import PersonDemand
from tclose.privacy.t_closeness import find_above, make_target

Mend = Callable[[Int64], Int64]
# How often classes that are released alike are mended, before they are united alone.
MOST_MENDED = 4


@dataclass(frozen=True, eq=False)
class Merger:
    """Merges classes that are above t as they would be released."""

    records: RegionRecords
    plan: Plan
    distributions: tuple[Distribution, ...]
    scaled: Scaled
    person_demand: PersonDemand | None

    def merge(self, labels: Int64) -> Int64:
        """Labels (n,) of clusters that are within t, if merging can achieve that."""
        order, starts = group_classes(labels)
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
            labels = self._merge_some(label_records(order, starts), starts, above)
            n_merged += above.size
            if int(labels.max()) + 1 == n_before:
                return labels, n_merged, above.size

    def repair(self, labels: Int64, mend: Mend | None = None) -> tuple[Int64, int, int]:
        """`merge_above`, then for the further models: merging undoes none and raises no EMD.

        ``mend``: exchanges that bring classes within k and t over persons, as far as they can.
        """
        labels, n_merged, n_violating = self.merge_above(labels)
        if self.person_demand is not None:
            return self._repair_persons(labels, n_merged, n_violating, mend)
        requirements = self.plan.privacy_models.by_class
        if not requirements:
            return labels, n_merged, n_violating
        codes = self.records.codes

        def holds(order: Int64, starts: Int64) -> NDArray[np.bool_]:
            return meet_all(requirements, starts, codes[:, order], self.distributions)

        order, starts = self._group(labels)
        scaled = self.scaled
        labels, n_more, n_failing = merge_until(
            label_records(order, starts), scaled.numeric, scaled.nominal, holds, scaled.weights
        )
        return labels, n_merged + n_more, n_violating + n_failing

    def _repair_persons(
        self, labels: Int64, n_merged: int, n_violating: int, mend: Mend | None
    ) -> tuple[Int64, int, int]:
        """Mend classes, or else unite them, until k and t hold over persons, also as released.

        A union may be farther from the table over persons than its parts. So classes that are
        released alike, and are one, are looked at by themselves; as exchanges and unions change
        what is released, they are looked for again.
        """
        demand, persons, codes = self.person_demand, self.records.persons, self.records.codes
        assert demand is not None
        assert persons is not None

        def holds(order: Int64, starts: Int64) -> NDArray[np.bool_]:
            return demand.holds(starts, persons[order], codes[:, order])

        scaled, n_failing = self.scaled, 0
        for attempt in count():
            _, order, starts = self._release(labels)
            labels = label_records(order, starts)
            if n_failing or holds(order, starts).all():
                break
            if mend is not None and attempt < MOST_MENDED:
                labels, n_more, n_violating = self.merge_above(mend(labels))
                n_merged += n_more
            labels, n_more, n_failing = merge_until(
                labels, scaled.numeric, scaled.nominal, holds, scaled.weights
            )
            n_merged += n_more
        return labels, n_merged, n_violating + n_failing

    def _group(self, labels: Int64) -> tuple[Int64, Int64]:
        """Group records by classes as released; by clusters where these will release other values.

        Clusters that are within t by themselves are so together, if they are released alike.
        """
        if any(e.column.aggregate == REPRESENTATIVE for e in self.plan.encodings):
            return group_classes(labels)
        _, order, starts = self._release(labels)
        return order, starts

    def _release(self, labels: Int64) -> tuple[list[Keys], Int64, Int64]:
        records = self.records
        return release_classes(labels, records.keys, self.plan, None, records.gaps)

    def _merge_some(self, labels: Int64, starts: Int64, above: Int64) -> Int64:
        scaled = self.scaled
        labels, _, _ = merge_classes(
            scaled.numeric, scaled.nominal, scaled.weights, labels, np.diff(starts), above,
            self._targets, np.inf,
        )  # fmt: skip
        return labels

    def _find_above(self, order: Int64, starts: Int64) -> Int64:
        return find_above(order, starts, self.records.codes, self.distributions, self.plan.max_emds)

    @property
    def _targets(self) -> tuple[Any, ...]:
        limits = self.plan.max_emds
        tables = zip(self.distributions, limits, strict=True)
        return self.records.codes, tuple(make_target(d, limit) for d, limit in tables)
