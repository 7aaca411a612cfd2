"""Joint attributes: their combinations counted in each partition, numbered over the whole table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tclose.data.keys import Encoding
from tclose.data.value_counts import own_values
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution, make_distribution
from tclose.passes.summarise.records import DISTRIBUTIONS, JOINTS, Source
from tclose.passes.summarise.summarise_task import JOINT_COUNTS, VALUE_COUNTS, PartitionSummary
from tclose.privacy.joint import Joint, encode_joint, number_combinations, place_parts
from tclose.runtime.artifacts.artifacts import Workspace


@dataclass(frozen=True, eq=False)
class Combiner:
    """The counts of combinations from pass 1, by the values' codes in the whole table.

    ``confidential``: the encodings of the attributes that are combined, in the source's order.
    """

    source: Source
    pieces: Sequence[PartitionSummary]
    workspace: Workspace
    confidential: tuple[Encoding, ...]

    def write(self) -> tuple[Encoding, ...]:
        """Number the combinations and write their distributions; returns the joint encodings."""
        joints = []
        tables = [self._table(a) for a in range(len(self.confidential))]
        for j, attribute in enumerate(self.source.joint):
            places = self._places(attribute)
            counted = [
                self._count(j, index, key, tables)
                for index, piece in enumerate(self.pieces)
                for key in piece.joint_spans[j]
            ]
            rows = np.concatenate(counted, axis=1)
            widths = [tables[a].values.size for a in places]
            combinations, counts = number_combinations(rows[:-1], widths, rows[-1])
            joints.append(Joint(places, combinations))
            distribution = make_distribution(np.arange(counts.size), counts)
            self.workspace.new_file(DISTRIBUTIONS, len(tables) + j).write(distribution)
        self.workspace.save(JOINTS, tuple(joints))
        return tuple(map(encode_joint, self.source.joint))

    def counts(self, j: int, index: int, key: tuple[Any, ...]) -> np.ndarray:
        """Codes of a joint attribute in an input and release partition, and their counts."""
        joint = self.workspace.load(JOINTS)[j]
        tables = {a: self._table(a) for a in joint.places}
        counted = self._count(j, index, key, tables)
        rows = np.empty(counted.shape[1], dtype=[("value", np.int64), ("count", np.int64)])
        rows["value"] = joint.combinations.find(counted[:-1])
        rows["count"] = counted[-1]
        return np.sort(rows, order="value")

    def _count(self, j: int, index: int, key: tuple[Any, ...], tables: Any) -> Int64:
        """Codes of the parts and counts of the combinations, of one partition: int64 (p + 1, u)."""
        start, stop = self.pieces[index].joint_spans[j].get(key, (0, 0))
        rows = self.workspace.file(JOINT_COUNTS, index, j).read()[:, start:stop]
        codes = [
            self._table_codes(a, index, key, tables[a])[of_part]
            for a, of_part in zip(self._places(self.source.joint[j]), rows, strict=False)
        ]
        return np.array([*codes, rows[-1]], dtype=np.int64)

    def _table_codes(self, a: int, index: int, key: tuple[Any, ...], table: Distribution) -> Int64:
        """Return the table's codes of an attribute's values in an input and release partition."""
        piece = self.pieces[index]
        start, stop = piece.spans[a].get(key, (0, 0))
        values = self.workspace.file(VALUE_COUNTS, index, a).read()["value"][start:stop]
        encoding = self.confidential[a]
        if encoding.column.kind is not Kind.NOMINAL:
            return np.searchsorted(table.values, values).astype(np.int64)
        own = own_values(piece.table.columns[encoding.column.name].categories)
        return cast(
            Int64, encoding.encode(pa.array(own, type=encoding.type))[values].astype(np.int64)
        )

    def _places(self, attribute: Attribute) -> tuple[int, ...]:
        return place_parts(attribute, [e.column.name for e in self.confidential])

    def _table(self, a: int) -> Distribution:
        return self.workspace.file(DISTRIBUTIONS, a).read()
