"""The confidential values of each release partition, counted from the summaries of pass 1."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.value_counts import own_values
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution, make_distribution
from tclose.passes.plan.plan import Plan
from tclose.passes.summarise.input_summary import InputSummary
from tclose.passes.summarise.joint_counts import Combiner
from tclose.passes.summarise.summarise_task import VALUE_COUNTS, PartitionSummary
from tclose.privacy.t_closeness import with_metric
from tclose.runtime.artifacts.artifacts import Workspace

Key = tuple[Any, ...]  # of a release partition: its partition values


@dataclass(frozen=True, eq=False)
class PartitionValueCounts:
    """Distributions of release partitions; ``distributions``: those of the whole table.

    ``opened``: the counts of pass 1 that were mapped already, by partition and attribute.
    """

    plan: Plan
    workspace: Workspace
    summary: InputSummary
    distributions: tuple[Distribution, ...]
    opened: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def of(self, key: Key, attribute: int) -> Distribution | None:
        """Return a release partition's distribution over the table's values."""
        if not self.distributions:
            return None
        table = self.distributions[attribute]
        if not self.plan.partition_columns:
            return table
        counts = np.zeros(table.values.size, dtype=np.int64)
        for index, piece in enumerate(self.summary.pieces):
            rows = self._counts(index, piece, key, attribute)
            counts[np.searchsorted(table.values, rows["value"])] += rows["count"]
        encoding = self.plan.confidential[attribute]
        distribution = make_distribution(np.array(table.values), counts)
        return with_metric(distribution, encoding.column, encoding.texts)

    def _counts(self, index: int, piece: PartitionSummary, key: Key, attribute: int) -> np.ndarray:
        """Distinct values of a release partition in a partition, ascending, and their counts."""
        n_released = self.plan.n_released
        if attribute >= n_released:
            return self._combiner.counts(attribute - n_released, index, key)
        start, stop = piece.spans[attribute].get(key, (0, 0))
        rows = self._map_counts(index, attribute)[start:stop]
        encoding = self.plan.confidential[attribute]
        if encoding.column.kind is not Kind.NOMINAL:
            return rows
        own = own_values(piece.table.columns[encoding.column.name].categories)
        codes = encoding.encode(pa.array(own, type=encoding.type))
        rows = rows.copy()
        rows["value"] = codes[rows["value"]]
        return np.sort(rows, order="value")

    def _map_counts(self, index: int, attribute: int) -> np.ndarray:
        if (index, attribute) not in self.opened:
            counts = self.workspace.file(VALUE_COUNTS, index, attribute)
            self.opened[index, attribute] = counts.read()
        return self.opened[index, attribute]

    @property
    def _combiner(self) -> Combiner:
        released = self.plan.confidential[: self.plan.n_released]
        return Combiner(self.summary.source, self.summary.pieces, self.workspace, released)

    def count_ties(self, key: Key, attribute: int, tie_codes: Int64) -> Int64:
        """Records of each straddling value in the partitions before each: (partitions, u)."""
        in_each = np.zeros((len(self.summary.pieces), tie_codes.size), dtype=np.int64)
        if not tie_codes.size:
            return in_each
        tie_values = self.distributions[attribute].values[tie_codes]
        for index, piece in enumerate(self.summary.pieces):
            rows = self._counts(index, piece, key, attribute)
            at = np.minimum(np.searchsorted(rows["value"], tie_values), max(rows.size - 1, 0))
            if rows.size:
                in_each[index] = np.where(rows["value"][at] == tie_values, rows["count"][at], 0)
        return np.cumsum(in_each, axis=0) - in_each
