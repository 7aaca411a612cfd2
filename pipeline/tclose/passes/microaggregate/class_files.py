"""Classes of a region on disk: pass 2 leaves them, pass 3 takes those of a key range out of each.

There are as many pairs of a region and a key range as there are regions, squared: what a pair costs
decides how far a release can grow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys
from tclose.model.array_types import Int64
from tclose.runtime.artifacts.arrays import ColumnsFile, RecordsFile, TableFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace

CLASSES = FileArtifact("aggregate/classes", ColumnsFile)
CLASS_CODES = FileArtifact("aggregate/codes", RecordsFile)
CLASS_PASSTHROUGH = FileArtifact("aggregate/passthrough", TableFile)
_END = "end"


@dataclass(frozen=True, eq=False)
class StoredClasses:
    """Some classes, in the order of their keys, and their records class by class.

    ``keys``: of each key column, of the classes; ``sizes`` int64 (classes,); ``codes`` int64 (p,
    records): of the released confidential attributes, then the records' positions where columns are
    fetched by them, and numbers of their persons where there are any; ``passthrough``: the
    passthrough columns, ``x0``, ...
    """

    keys: list[Keys]
    sizes: Int64
    codes: Int64
    passthrough: pa.Table

    def write(self, pending: PendingFiles) -> np.dtype:
        """Write them to their files; return the type of a class for `read_key_range`."""
        ends = np.cumsum(self.sizes, dtype=np.int64)
        columns = {f"k{j}": keys for j, keys in enumerate(self.keys)} | {_END: ends}
        pending.new(CLASSES).write(list(columns.values()))
        if self.codes.size:
            pending.new(CLASS_CODES).write(_as_records(self.codes))
        if self.passthrough.num_columns:
            pending.new(CLASS_PASSTHROUGH).write(self.passthrough)
        return np.dtype([(name, column.dtype) for name, column in columns.items()])


def _as_records(codes: Int64) -> np.ndarray:
    return np.ascontiguousarray(codes.T).view(_record_type(len(codes)))[:, 0]


def _record_type(n_attributes: int) -> np.dtype:
    return np.dtype([(f"c{a}", np.int64) for a in range(n_attributes)])


def read_key_range(
    workspace: Workspace,
    region: str,
    class_type: np.dtype,
    ends: tuple[tuple[Any, ...] | None, tuple[Any, ...] | None],
    n_attributes: int,
) -> StoredClasses | None:
    """The classes of a region whose key is from the first of two on and before the second.

    A key that is None is no limit; the result is None where there are no such classes. All is
    copied: with what the system reads around each key range, the maps of many files would count as
    the process's memory.
    """
    columns = workspace.file(CLASSES, region).map(class_type)
    row_ends = columns.pop(_END)
    keys: list[Keys] = list(columns.values())
    first, last = (
        default if key is None else _first_at_least(keys, key)
        for key, default in zip(ends, (0, row_ends.size), strict=True)
    )
    if first >= last:
        return None
    begin = int(row_ends[first - 1]) if first else 0
    sizes = np.diff(row_ends[first:last], prepend=begin)
    rows = np.array([begin]), np.array([int(row_ends[last - 1]) - begin])
    codes = np.empty((0, int(rows[1][0])), dtype=np.int64)
    if n_attributes:
        records = workspace.file(CLASS_CODES, region).read(_record_type(n_attributes), *rows)
        codes = records.view(np.int64).reshape(-1, n_attributes).T
    passthrough = workspace.file(CLASS_PASSTHROUGH, region)
    table = (
        pa.Table.from_batches([passthrough.read_rows(*rows)])
        if passthrough.exists
        else pa.table({})
    )
    return StoredClasses([column[first:last].copy() for column in keys], sizes, codes, table)


def read_class_records(
    workspace: Workspace, region: str, class_type: np.dtype, positions: Int64, n_attributes: int
) -> tuple[Int64, Int64]:
    """Sizes int64 (c,) of some classes of a region, and their codes: int64 (p, records)."""
    ends = workspace.file(CLASSES, region).map(class_type)[_END]
    starts = np.where(positions > 0, ends[positions - 1], 0)
    sizes = ends[positions] - starts
    records = workspace.file(CLASS_CODES, region).read(_record_type(n_attributes), starts, sizes)
    return sizes, records.view(np.int64).reshape(-1, n_attributes).T


def join_classes(parts: Sequence[StoredClasses]) -> StoredClasses:
    """The classes of all parts, one after the other."""
    return StoredClasses(
        [np.concatenate(columns) for columns in zip(*(part.keys for part in parts), strict=True)],
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.codes for part in parts], axis=1),
        pa.concat_tables([part.passthrough for part in parts]).combine_chunks(),
    )


def _first_at_least(columns: list[Keys], key: tuple[Any, ...]) -> int:
    """Position of the first row whose key is not below ``key``; few rows are looked at at all."""
    low, high = 0, columns[0].size
    while low < high:
        middle = (low + high) // 2
        if _is_below(columns, middle, key):
            low = middle + 1
        else:
            high = middle
    return low


def _is_below(columns: list[Keys], row: int, key: tuple[Any, ...]) -> bool:
    for column, value in zip(columns, key, strict=True):
        key = column[row]
        if key != value:
            return bool(key < value)
    return False
