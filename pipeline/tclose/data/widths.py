"""Bytes that records take as Arrow arrays, dictionaries expanded."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.model.array_types import Int64

WIDE_RECORD = 256  # pass-through columns that take more stay in their files
OFFSET_BYTES = 8  # of a text: where it starts and, in a copy, where it stops


@dataclass(frozen=True)
class PassthroughWidths:
    """Bytes that columns of some records take: of each, and of the largest record."""

    columns: dict[str, int]
    n_records: int = 0
    largest: int = 0

    def merge(self, other: "PassthroughWidths") -> "PassthroughWidths":
        """The same of both sets of records."""
        names = self.columns | other.columns
        return PassthroughWidths(
            {name: self.columns.get(name, 0) + other.columns.get(name, 0) for name in names},
            self.n_records + other.n_records,
            max(self.largest, other.largest),
        )

    def beside(self, other: "PassthroughWidths") -> "PassthroughWidths":
        """Add the widths of other columns of the same records; none is larger than both largest."""
        return PassthroughWidths(
            self.columns | other.columns,
            max(self.n_records, other.n_records),
            self.largest + other.largest,
        )

    @property
    def per_record(self) -> float:
        """Bytes of a record, on average."""
        return sum(self.columns.values()) / max(1, self.n_records)


NO_WIDTHS = PassthroughWidths({})


def measure_widths(table: pa.Table) -> PassthroughWidths:
    """Measure the width of a table's records."""
    widths = [np.broadcast_to(_value_bytes(column), len(table)) for column in table.columns]
    totals = [int(width.sum()) for width in widths]
    records = sum(widths, start=np.zeros(len(table), dtype=np.int64))
    names = dict(zip(table.column_names, totals, strict=True))
    return PassthroughWidths(names, len(table), int(records.max(initial=0)))


def record_bytes(table: pa.Table) -> Int64:
    """Bytes that each record takes: int64 (n,)."""
    total = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        total += _value_bytes(column)
    return total


def _value_bytes(column: pa.ChunkedArray) -> Int64 | int:
    """Bytes of each value, or of any where all are equally wide."""
    if pa.types.is_null(column.type):
        return 0
    if is_long(column.type):
        lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy()
        return np.asarray(lengths, dtype=np.int64) + OFFSET_BYTES
    return max(1, int(column.type.bit_width) // 8)


def is_long(dtype: pa.DataType) -> bool:
    """Return whether values of the type differ in length."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(is_kind(dtype) for is_kind in (*kinds, pa.types.is_large_binary))
