"""Pass 1: the summaries of the records that a plan needs; they merge.

A partition's summary counts; merging adds, so the result does not depend on how the input is cut.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.columns import CHECKED_ROLES
from tclose.data.keys import (
    Keys,
    has_float_keys,
    is_text,
    one_zero,
    plain_type,
    to_keys,
    to_values,
    unknown_zone,
    widen_decimals,
)
from tclose.errors import DataError
from tclose.kernels.splitmix import STEP, finalise
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind, Role
from tclose.model.preparation import MISSING


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """Counts of one column over some records; ``low`` and ``high`` are keys, None without records.

    ``n_missing`` counts all records, and ``n_filled`` those of them that have a category instead;
    the others count only those that are kept.
    """

    n_missing: int = 0
    n_nan: int = 0
    n_infinite: int = 0
    low: int | float | None = None
    high: int | float | None = None
    categories: Counter[Any] = field(default_factory=Counter)
    n_filled: int = 0

    def merge(self, other: "ColumnSummary") -> "ColumnSummary":
        """The summary of both sets of records."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return ColumnSummary(
            n_missing=self.n_missing + other.n_missing,
            n_filled=self.n_filled + other.n_filled,
            n_nan=self.n_nan + other.n_nan,
            n_infinite=self.n_infinite + other.n_infinite,
            low=min(lows, default=None),
            high=max(highs, default=None),
            categories=self.categories + other.categories,
        )


@dataclass(frozen=True, eq=False)
class TableSummary:
    """Counts of a table: records read, records complete, and a summary for each checked column.

    ``release_partitions`` counts the records of each combination of partition values.
    """

    n_read: int
    n_complete: int
    columns: dict[str, ColumnSummary]
    release_partitions: Counter[tuple[Any, ...]]

    def merge(self, other: "TableSummary") -> "TableSummary":
        """The summary of both sets of records."""
        names = self.columns.keys()
        return TableSummary(
            n_read=self.n_read + other.n_read,
            n_complete=self.n_complete + other.n_complete,
            columns={name: self.columns[name].merge(other.columns[name]) for name in names},
            release_partitions=self.release_partitions + other.release_partitions,
        )


def checked_columns(
    columns: tuple[Column, ...], partition_columns: tuple[str, ...]
) -> tuple[Column, ...]:
    """Return the columns in which a record needs a value: all but passthrough columns."""
    return tuple(c for c in columns if c.role in CHECKED_ROLES or c.name in partition_columns)


def complete_records(table: pa.Table, checked: tuple[Column, ...]) -> pa.ChunkedArray | None:
    """Mask of the records that have a value in every checked column; None where all have."""
    mask = None
    for column in checked:
        if table[column.name].null_count:
            valid = table[column.name].is_valid()
            mask = valid if mask is None else pc.and_(mask, valid)
    return mask


def summarise_table(
    table: pa.Table, columns: tuple[Column, ...], partition_columns: tuple[str, ...]
) -> tuple[TableSummary, pa.Table]:
    """Summarise the records of a partition.

    Returns
    -------
    The summary, and the records that are complete.
    """
    checked = checked_columns(columns, partition_columns)
    mask = complete_records(table, checked)
    records = table if mask is None else table.filter(mask)
    summaries = {
        column.name: replace(
            _summarise_column(records[column.name], column, table[column.name].null_count),
            n_filled=_count_filled(table[column.name], column),
        )
        for column in checked
    }
    return TableSummary(
        len(table), len(records), summaries, count_release_partitions(records, partition_columns)
    ), records


def _count_filled(values: pa.ChunkedArray, column: Column) -> int:
    """Records without a value that were given the category of these."""
    prepared = column.attribute.preparation
    if prepared is None or not prepared.fills:
        return 0
    return int(pc.sum(pc.equal(values, MISSING), min_count=0).as_py())


def count_release_partitions(
    table: pa.Table, partition_columns: tuple[str, ...]
) -> Counter[tuple[Any, ...]]:
    """Records of each combination of the partition columns' values."""
    if not partition_columns:
        return Counter({(): len(table)}) if len(table) else Counter()
    names = [
        f"d{i}" for i in range(len(partition_columns))
    ]  # Arrow reads paths into some names, as ".a"
    of_partitions = pa.table([table[name] for name in partition_columns], names=names)
    counted = of_partitions.group_by(names).aggregate([([], "count_all")])
    rows = zip(*(counted[name].to_pylist() for name in names), strict=True)
    return Counter(dict(zip(rows, counted["count_all"].to_pylist(), strict=True)))


def _summarise_column(values: pa.ChunkedArray, column: Column, n_missing: int) -> ColumnSummary:
    if column.role is Role.PERSON:  # nearly every record has another one
        return ColumnSummary(n_missing)
    present = values.combine_chunks()
    if has_float_keys(column.type):
        floats = to_keys(present, column.name)
        n_nan, n_infinite = int(np.isnan(floats).sum()), int(np.isinf(floats).sum())
        if n_nan or n_infinite:
            return ColumnSummary(n_missing, n_nan, n_infinite)
    is_listed = column.attribute.noise is not None and bool(column.attribute.noise.values)
    if column.kind.is_categorical or column.role is Role.NON_CONFIDENTIAL or is_listed:
        return ColumnSummary(n_missing, categories=_count_categories(present, column))
    if not len(present):
        return ColumnSummary(n_missing)
    keys = to_keys(present, column.name)
    return ColumnSummary(n_missing, low=keys.min().item(), high=keys.max().item())


def _count_categories(values: pa.Array, column: Column) -> Counter[Any]:
    counted = one_zero(widen_decimals(values)).value_counts()
    try:
        if column.kind.is_categorical and values.type == pa.time64("ns"):
            values.cast(pa.time64("us"))  # Python's times, which they are listed as, are no finer
        names = to_values(counted.field("values"))
    except LookupError:
        raise unknown_zone(column.name) from None
    except (ValueError, OverflowError):
        raise DataError(
            f"column {column.name!r}: holds dates or times that are too early, too late or too "
            "fine to be categories; store them as text"
        ) from None
    return Counter(dict(zip(names, counted.field("counts").to_pylist(), strict=True)))


def count_in_category(summary: TableSummary, columns: tuple[Column, ...]) -> dict[str, int]:
    """Records without a value, of each column in which these have a category of their own."""
    return {
        column.name: summary.columns[column.name].n_filled
        for column in columns
        if column.attribute.preparation is not None and column.attribute.preparation.fills
    }


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Distinct keys of a confidential attribute, ascending, and records of each: both (u,)."""

    values: Keys
    counts: Int64


def count_values(keys: Keys) -> ValueCounts:
    """Distinct keys and their counts."""
    values: Any
    values, counts = np.unique(keys, return_counts=True)
    return ValueCounts(values, counts.astype(np.int64))


def merge_counts(pieces: list[ValueCounts]) -> ValueCounts:
    """The counts of all pieces together; associative, and indifferent to their order."""
    values: Any = np.concatenate([piece.values for piece in pieces])
    counts = np.concatenate([piece.counts for piece in pieces])
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if values.size else order
    return ValueCounts(values[first], np.add.reduceat(counts, first) if values.size else counts)


def confidential_keys(table: pa.Table, column: Column) -> Keys:
    """Keys that order a confidential attribute's values: for ordinal ones the ranks.

    The order of nominal values is not known before all values are: their keys are indices in the
    table's own, as `own_values` lists them.
    """
    values = widen_decimals(table[column.name].combine_chunks())
    if column.kind is Kind.NOMINAL:
        own = pa.array(own_values(_count_categories(values, column)), plain_type(values.type))
        places = pc.index_in(one_zero(values), value_set=own)
        return cast(Keys, places.to_numpy(zero_copy_only=False).astype(np.int64))
    if column.kind is not Kind.ORDINAL:
        return to_keys(values, column.name)
    order = {text: rank for rank, text in enumerate(column.attribute.order)}
    dictionary = values.dictionary_encode()
    present = dictionary.dictionary.to_pylist()
    ranks = np.array([order.get(str(v), -1) for v in present], np.int64)  # -1: refused later
    return ranks[dictionary.indices.to_numpy(zero_copy_only=False)] if len(values) else ranks


def own_values(categories: Counter[Any]) -> list[Any]:
    """The values of a nominal confidential attribute in a piece of the table, ascending."""
    return sorted(value for value in categories if value is not None)


def number_values(values: pa.Array) -> Int64:
    """Numbers that are equal where values without nulls are, in any piece of the table: int64 (n,).

    Texts have 64 bits of their digest, and so have numbers that 64 bits may not hold.
    """
    is_long = pa.types.is_uint64(values.type) or pa.types.is_decimal(values.type)
    if is_long:
        values = values.cast(pa.string())
    if not (is_long or is_text(values.type) or pa.types.is_binary(values.type)):
        try:
            return to_keys(values, "").view(np.int64)
        except MemoryError:
            raise
        except (DataError, pa.ArrowException):  # of a type that is a category here
            values = values.cast(pa.string())
    listed = values.dictionary_encode()
    digests = [
        int.from_bytes(blake2b(str(text).encode(), digest_size=8).digest(), "big", signed=True)
        for text in listed.dictionary.to_pylist()
    ]
    numbers = np.array(digests, dtype=np.int64)
    return cast(Int64, numbers[listed.indices.to_numpy(zero_copy_only=False)])


def sampled_rows(positions: Int64, seed: int, share: float) -> Int64:
    """Indices of the records that a sample of ``share`` holds: by position and seed alone.

    A hash of the position decides, so the sample is the same however the input is cut.
    """
    hashed = finalise(positions.astype(np.uint64) + np.uint64(seed * int(STEP) % 2**64))
    return np.flatnonzero(hashed.astype(np.float64) < share * 2.0**64)
