"""The reading of records, alike in every pass, and the choice of those released."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.files.input_partitions import Reading
from tclose.data.keys import widen_decimals
from tclose.data.value_counts import (
    ValueCounts,
    checked_columns,
    complete_records,
)
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Role
from tclose.passes.compare.record_digests import Compared
from tclose.privacy.joint import Joint
from tclose.runtime.artifacts.arrays import ArrayFile, DistributionFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact

JOINTS = Artifact("joints", tuple[Joint, ...])
DISTRIBUTIONS = FileArtifact("plan/distribution", DistributionFile)  # of the table, by attribute


@dataclass(frozen=True)
class Source:
    """The settings for reading records, the same for every partition.

    ``joint``: attributes whose values are combinations of confidential ones; ``compared``: what the
    release is compared with the input by, if there is to be one; ``scaled``: names of the
    quasi-identifiers with numbers, of which keys are sampled; ``scale_share``: of the records that
    are sampled; ``known_share``: of those on which it is tried whether some columns tell another.
    """

    reading: Reading
    columns: tuple[Column, ...]
    partition_columns: tuple[str, ...]
    sample_share: float
    seed: int
    joint: tuple[Attribute, ...] = ()
    compared: Compared | None = None
    scaled: tuple[str, ...] = ()
    scale_share: float = 1.0
    known_share: float = 1.0

    @property
    def checked(self) -> tuple[Column, ...]:
        """The columns in which a record needs a value."""
        return checked_columns(self.columns, self.partition_columns)

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The quasi-identifiers, in the order of the data's columns."""
        return tuple(c for c in self.columns if c.role is Role.QUASI_IDENTIFIER)

    @property
    def person(self) -> Column | None:
        """The column that says whose a record is, if there is one."""
        return next((c for c in self.columns if c.role is Role.PERSON), None)

    @property
    def confidential(self) -> tuple[Column, ...]:
        """The confidential attributes that classes are held to a t in, in the policy's order."""
        return tuple(c for c in self.columns if c.is_held_to_t)


@dataclass(frozen=True)
class DatesAhead:
    """Dates of a column with years of two digits that are read as days to come.

    ``n_ahead`` of ``n_values``; ``files``: names of those that have some.
    """

    column: str
    n_ahead: int
    n_values: int
    files: tuple[str, ...]


SOURCE = Artifact("source", Source, version=3)


def replace_columns(source: Source, settled: Mapping[str, Column]) -> Source:
    """The source with some columns as they are settled, by name, and values prepared by them."""
    columns = tuple(settled.get(c.name, c) for c in source.columns)
    prepared = tuple(
        (c.name, c.attribute.preparation) for c in columns if c.attribute.preparation is not None
    )
    return replace(source, columns=columns, reading=replace(source.reading, prepared=prepared))


def split_release_partitions(
    table: pa.Table, partition_columns: tuple[str, ...]
) -> dict[tuple[Any, ...], Int64]:
    """Rows of each combination of partition values, ascending."""
    if not partition_columns:
        return {(): np.arange(len(table))}
    if not len(table):
        return {}
    rows_of: dict[tuple[Any, ...], Int64] = {}
    codes = np.zeros(len(table), dtype=np.int64)
    levels: list[list[Any]] = []
    for name in partition_columns:
        column = widen_decimals(table[name].combine_chunks()).dictionary_encode()
        levels.append(column.dictionary.to_pylist())
        codes = codes * max(len(levels[-1]), 1) + column.indices.to_numpy(zero_copy_only=False)
    present, inverse = np.unique(codes, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    pieces = np.split(order, np.cumsum(np.bincount(inverse, minlength=present.size))[:-1])
    for code, rows in zip(present.tolist(), pieces, strict=True):
        key, remainder = [], code
        for values in levels[::-1]:
            remainder, level = divmod(remainder, max(len(values), 1))
            key.append(values[level])
        rows_of[tuple(key[::-1])] = rows
    return rows_of


def kept_positions(table: pa.Table, checked: tuple[Column, ...], first: int) -> Int64:
    """Positions in the whole input of a partition's complete records."""
    mask = complete_records(table, checked)
    if mask is None:
        return np.arange(first, first + len(table))
    return first + np.flatnonzero(mask.to_numpy())


def write_counts(
    counted: dict[tuple[Any, ...], ValueCounts], file: ArrayFile
) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Write counts one release partition after the other; returns which rows are whose."""
    spans, filled = {}, 0
    for release_partition, counts in counted.items():
        spans[release_partition] = (filled, filled + counts.values.size)
        filled += counts.values.size
    values = [counts.values for counts in counted.values()]
    dtype = [("value", values[0].dtype if values else np.int64), ("count", np.int64)]
    rows = np.empty(filled, dtype=dtype)
    for (start, stop), counts in zip(spans.values(), counted.values(), strict=True):
        rows["value"][start:stop] = counts.values
        rows["count"][start:stop] = counts.counts
    file.write(rows)
    return spans
