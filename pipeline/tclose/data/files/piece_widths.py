"""Bytes that records take when decoded, estimated without decoding all of them.

In Parquet, numbers are as wide as their type. Texts take the size of their pages, except those of a
dictionary, which are in the file once and in memory as often as they occur: these are counted by
the dictionary's indices. All sizes are those of Arrow's buffers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.data.files.page_headers import Page, PageError, read_pages
from tclose.data.widths import OFFSET_BYTES, is_long
from tclose.errors import DataError
from tclose.model.array_types import Int64

WORKER_BYTES = 200_000_000  # of a process that has read nothing yet
LEAST_COPIES = 4  # of one value: its page, and its decoded copies
SMALL_BYTES = 1 << 20  # a smaller column chunk is not inspected
_SHORT = 64
_COUNTED_ROWS = 65_536
_DELTA_ROWS = 256  # each may be as long as the longest
_BYTES = "BYTE_ARRAY"
_LISTED = frozenset({"PLAIN", "RLE", "BIT_PACKED", "RLE_DICTIONARY", "PLAIN_DICTIONARY"})


@dataclass(frozen=True)
class PieceWidth:
    """Bytes of a row group or a chunk of CSV when decoded.

    ``held``: of the columns that decide the classes; ``passthrough``: of the other released ones;
    ``largest``: no value is longer, and of which ``column`` that may be (CSV: no record).
    """

    held: int = 0
    passthrough: int = 0
    largest: int = 0
    column: str = ""

    def merge(self, other: "PieceWidth") -> "PieceWidth":
        """Of both pieces."""
        longer = max(self, other, key=lambda width: width.largest)
        held, passthrough = self.held + other.held, self.passthrough + other.passthrough
        return PieceWidth(held, passthrough, longer.largest, longer.column)


@dataclass(frozen=True)
class ReadColumns:
    """Names of the columns that are read: those that decide the classes, and the others.

    ``limit``: bytes that a worker may hold, if that is known.
    """

    held: frozenset[str] = frozenset()
    passthrough: frozenset[str] = frozenset()
    limit: int | None = None

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return self.held | self.passthrough


def check_longest(place: str, longest: int, limit: int | None) -> None:
    """Refuse a value, or a page of a file, that no worker can decode.

    Raises
    ------
    DataError
        Names the place, its limit, and a limit that is enough.
    """
    needed = WORKER_BYTES + LEAST_COPIES * longest
    if limit is not None and longest > SMALL_BYTES and needed > limit:
        raise DataError(
            f"{place} has values, or pages of the file, of up to {longest:,} bytes; to decode one "
            f"takes about {needed / 1e6:,.0f} MB, and a worker has {limit / 1e6:,.0f} MB. Give "
            "engine.memory_per_worker more, shorten the texts, or leave the column out"
        )


def measure_group(
    parquet: pq.ParquetFile, stream: BinaryIO, group: int, columns: ReadColumns, file_name: str
) -> PieceWidth:
    """Measure the width of the wanted columns of a row group; nested ones count 0.

    Raises
    ------
    DataError
        A value that no worker can decode.
    """
    metadata = parquet.metadata.row_group(group)
    held = passthrough = largest = 0
    column = ""
    for index, name in _flat_columns(parquet.schema_arrow, columns.names):
        chunk = metadata.column(index)
        pages = _find_pages(stream, chunk)
        longest = max((page.n_bytes for page in pages), default=0)
        check_longest(f"file {file_name}: column {name!r}", longest, columns.limit)
        size, value = _measure_chunk(parquet, group, chunk, pages)
        if name in columns.held:
            held += size
        else:
            passthrough += size
        if value > largest:
            largest, column = value, name
    return PieceWidth(held, passthrough, largest, column)


def find_dictionaries(parquet: pq.ParquetFile) -> list[str]:
    """Return the names of text columns that can be read as dictionary indices."""
    metadata = parquet.metadata
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    return [
        name
        for index, name in _flat_columns(parquet.schema_arrow, parquet.schema_arrow.names)
        if groups
        and metadata.schema.column(index).physical_type == _BYTES
        and all(_is_listed(group.column(index).encodings) for group in groups)
    ]


def _is_listed(encodings: Sequence[str]) -> bool:
    """Return whether texts are dictionary indices, or plain once the dictionary was full."""
    return any("DICTIONARY" in name for name in encodings) and _LISTED.issuperset(encodings)


def _flat_columns(schema: pa.Schema, names: Collection[str]) -> list[tuple[int, str]]:
    """Places of the columns among the leaves of the file."""
    columns, at = [], 0
    for field in schema:
        if field.name in names and not pa.types.is_nested(field.type):
            columns.append((at, field.name))
        at += _count_leaves(field.type)
    return columns


def _count_leaves(dtype: pa.DataType) -> int:
    if not pa.types.is_nested(dtype):
        return 1
    return sum(_count_leaves(dtype.field(i).type) for i in range(dtype.num_fields))


def _measure_chunk(
    parquet: pq.ParquetFile, group: int, chunk: pq.ColumnChunkMetaData, pages: list[Page]
) -> tuple[int, int]:
    """Bytes of a column chunk when decoded, and of a value at most."""
    n_rows, stored = chunk.num_values, chunk.total_uncompressed_size
    if chunk.physical_type != _BYTES:
        return n_rows * _FIXED_BYTES.get(chunk.physical_type, 16), 16
    plain = stored + n_rows * OFFSET_BYTES
    has_dictionary = any("DICTIONARY" in name for name in chunk.encodings)
    is_delta = not _LISTED.issuperset(chunk.encodings)
    if not has_dictionary and not is_delta and stored <= SMALL_BYTES:
        return plain, stored
    longest = max((page.n_bytes for page in pages), default=stored)
    if is_delta:  # a value may share all but its end with the one before
        return _count_expanded(parquet, group, chunk, (n_rows, longest))
    n_indices = sum(page.n_values for page in pages if page.has_indices) if pages else n_rows
    if not has_dictionary or not n_indices:
        return plain, longest
    return _measure_dictionary(parquet, group, chunk, (n_indices, longest))


_FIXED_BYTES = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}


def _find_pages(stream: BinaryIO, chunk: pq.ColumnChunkMetaData) -> list[Page]:
    """The pages of a chunk of texts, where there may be long ones.

    None where they cannot be read: decoding them will raise the error.
    """
    if chunk.physical_type != _BYTES or chunk.total_uncompressed_size <= SMALL_BYTES:
        return []
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    try:
        return list(read_pages(stream, min(starts), chunk.total_compressed_size))
    except PageError:
        return []


def _measure_dictionary(
    parquet: pq.ParquetFile, group: int, chunk: pq.ColumnChunkMetaData, most: tuple[int, int]
) -> tuple[int, int]:
    """Measure by the longest text of the dictionary where that is short, else by its indices.

    ``most``: values that are indices; the others come after them, as plain texts, as the
    dictionary was full. And bytes of the largest page.
    """
    name = chunk.path_in_schema
    first = next(parquet.iter_batches(1, row_groups=[group], columns=[name]), None)
    listed = None if first is None else first.column(first.schema.get_field_index(name))
    if listed is not None and pa.types.is_dictionary(listed.type):
        longest = int(_lengths(listed.dictionary).max(initial=0))
        if longest <= _SHORT:
            wide = most[0] * longest + chunk.num_values * OFFSET_BYTES
            return wide + chunk.total_uncompressed_size, most[1]
    return _count_expanded(parquet, group, chunk, most)


def _count_expanded(
    parquet: pq.ParquetFile, group: int, chunk: pq.ColumnChunkMetaData, most: tuple[int, int]
) -> tuple[int, int]:
    """Bytes of a chunk when expanded; only as many texts as a dictionary has are in memory."""
    (n_coded, longest), name = most, chunk.path_in_schema
    total = chunk.num_values * OFFSET_BYTES
    if n_coded < chunk.num_values:
        total += chunk.total_uncompressed_size
    n_rows = min(n_coded, _COUNTED_ROWS if _is_listed(chunk.encodings) else _DELTA_ROWS)
    for batch in parquet.iter_batches(n_rows, row_groups=[group], columns=[name]):
        column = batch.column(batch.schema.get_field_index(name))
        if pa.types.is_dictionary(column.type):
            indices = column.indices.drop_null().to_numpy(zero_copy_only=False)
            lengths = _lengths(column.dictionary)[indices]
        else:
            lengths = _lengths(column)
        total += int(lengths.sum())
        longest = max(longest, int(lengths.max(initial=0)))
        n_coded -= batch.num_rows
        if n_coded <= 0:
            break
    return total, longest


def _lengths(values: pa.Array) -> Int64:
    if not is_long(values.type):
        return np.full(len(values), 16, dtype=np.int64)
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)
