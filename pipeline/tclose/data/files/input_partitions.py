"""Partitions of the input: how its files are cut into them, and how the records of one are read."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.files import csv_chunks
from tclose.data.files.character_sets import UTF8, settle_encoding, to_utf8
from tclose.data.files.input_files import (
    file_stamp,
    open_input,
    open_parquet,
    reading_file,
)
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import FileContent
from tclose.data.files.piece_widths import PieceWidth
from tclose.data.files.text_formats import TextFormat
from tclose.data.keys import is_text, plain_type
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.widths import WIDE_RECORD
from tclose.errors import ChangedInputError, DataError
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.model.preparation import Preparation

PARTITION_ROWS = 500_000
MIN_PARTITION_ROWS = 65_536
PARTITION_BYTES = 1 << 27  # of the part of a partition that a task holds in memory at once
# Bytes of held and passed-through columns decoded at a time. Batches do not follow the values, so
# that of long values among short ones a batch has at most this many bytes.
BATCH_BYTES = 1 << 24
BATCH_ROWS = 65_536
LONG_BYTES = 1 << 24
FEW_ROWS = 16
COLUMNS_AT_ONCE = 32
# Of a file of more row groups, small ones that are next to each other are read together: whoever
# reads one reads where all are, which of thousands takes longer than the records of one.
MANY_GROUPS = 64


def cut_parquet(contents: list[FileContent]) -> tuple[Partition, ...]:
    """Partitions of Parquet files: row groups, those of many rows or bytes in several pieces.

    Of many in a file small ones are read together.
    """
    total = sum(stop for content in contents for _, _, stop in content.pieces)
    size = min(PARTITION_ROWS, max(MIN_PARTITION_ROWS, -(-total // 8)))
    partitions: list[Partition] = []
    position = 0
    for content in contents:
        for groups in _join_groups(content):
            n_rows, width = groups.n_rows, groups.width
            by_bytes = -(-_held_bytes(width, n_rows) // PARTITION_BYTES)
            n_parts = min(n_rows, max(-(-n_rows // size), by_bytes))
            cuts = [n_rows * part // n_parts for part in range(n_parts + 1)]
            for start, stop in pairwise(cuts):
                file = content.file
                partitions.append(
                    Partition(
                        path=file.path,
                        name=file.name,
                        format="parquet",
                        first_group=groups.first,
                        last_group=groups.last,
                        start=start,
                        stop=stop,
                        n_records=stop - start,
                        first_position=position,
                        stamp=file.stamp,
                        batch_rows=choose_batch(n_rows, width),
                    )
                )
                position += stop - start
    return tuple(partitions)


@dataclass(frozen=True)
class _Groups:
    """Row groups that are read together, from ``first`` to ``last``, their rows and width."""

    first: int
    last: int
    n_rows: int
    width: PieceWidth

    def join(self, other: "_Groups") -> "_Groups":
        """Both, of which the other comes next."""
        n_rows, width = self.n_rows + other.n_rows, self.width.merge(other.width)
        return _Groups(self.first, other.last, n_rows, width)

    @property
    def is_small(self) -> bool:
        """True if a task reads as much at once anyway."""
        n_bytes = self.width.held + self.width.passthrough
        return self.n_rows <= MIN_PARTITION_ROWS and n_bytes <= BATCH_BYTES


def _join_groups(content: FileContent) -> list[_Groups]:
    """The row groups of a file; of many small ones those that are read together."""
    joined: list[_Groups] = []
    for (group, _, n_rows), width in zip(content.pieces, content.widths, strict=True):
        one = _Groups(group, group, n_rows, width)
        if len(content.pieces) > MANY_GROUPS and joined and joined[-1].join(one).is_small:
            joined[-1] = joined[-1].join(one)
        else:
            joined.append(one)
    return joined


def _held_bytes(width: PieceWidth, n_rows: int) -> int:
    """Bytes of a piece that stay in memory; wide passthrough columns are written as they come."""
    is_narrow = width.passthrough <= n_rows * WIDE_RECORD
    return width.held + (width.passthrough if is_narrow else 0)


def choose_batch(n_rows: int, width: PieceWidth) -> int:
    """Rows of a row group to decode at a time."""
    n_bytes = max(1, width.held + width.passthrough)
    fitting = min(BATCH_ROWS, n_rows * BATCH_BYTES // n_bytes)
    if width.largest > LONG_BYTES:
        fitting = min(fitting, 8 * LONG_BYTES // width.largest)
        return max(FEW_ROWS if width.passthrough + width.held < n_rows * LONG_BYTES else 1, fitting)
    return max(1, fitting)


def csv_partitions(contents: list[FileContent]) -> tuple[Partition, ...]:
    """Partitions of CSV files; how many records each holds is not known before it is read."""
    return tuple(
        Partition(file.path, file.name, "csv", group, group, start, stop, -1, -1, file.stamp)
        for file, pieces in ((content.file, content.pieces) for content in contents)
        for group, start, stop in pieces
    )


def place_partitions(
    partitions: tuple[Partition, ...], n_records: list[int]
) -> tuple[Partition, ...]:
    """The partitions with their numbers of records and first positions filled in."""
    placed, position = [], 0
    for partition, n_rows in zip(partitions, n_records, strict=True):
        placed.append(replace(partition, n_records=n_rows, first_position=position))
        position += n_rows
    return tuple(placed)


def leave_out(partitions: Sequence[Partition], positions: Int64) -> tuple[Partition, ...]:
    """The partitions without the records at some positions of the whole input, which ascend."""
    cuts = [(one.first_position, one.first_position + one.n_records) for one in partitions]
    slices = [np.searchsorted(positions, cut) for cut in cuts]
    return tuple(
        replace(partition, left_out=positions[start:stop])
        for partition, (start, stop) in zip(partitions, slices, strict=True)
    )


def name_files(bad: Sequence[Partition], among: Sequence[Partition]) -> str:
    """Name the files, of several, in which something is wrong, as the end of a message."""
    names = list(dict.fromkeys(partition.name for partition in bad))
    if len({partition.path for partition in among}) < 2 or not names:
        return ""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"\nin {', '.join(names[:3])}{more}"


@dataclass(frozen=True)
class Reading:
    """Settings for reading partitions: the wanted columns, their types, and missing-value texts.

    ``types``: as the files have them; ``prepared``: names of the columns whose values are prepared
    as they are read, and how.

    A record that is left out is read without a value that is needed, and so is not complete.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    header: tuple[str, ...]
    missing_values: tuple[str, ...]
    delimiter: str
    encoding: str = UTF8
    formats: tuple[tuple[str, TextFormat], ...] = ()  # of columns of CSV that are spelled otherwise
    prepared: tuple[tuple[str, Preparation], ...] = ()
    hidden: str | None = None  # the column that is made missing in the records that are left out

    @staticmethod
    def by(
        settings: InputSettings, schema: pa.Schema, types: Mapping[str, pa.DataType]
    ) -> "Reading":
        """The columns of these types, of files with a schema, as an input's settings say."""
        return Reading(
            tuple(types),
            tuple(types.values()),
            tuple(schema.names),
            settings.missing_values,
            settings.delimiter,
            settings.encoding,
        )

    def of(self, names: Collection[str]) -> "Reading":
        """The same of those columns alone."""
        pairs = [pair for pair in zip(self.names, self.types, strict=True) if pair[0] in names]
        return replace(self, names=tuple(n for n, _ in pairs), types=tuple(t for _, t in pairs))

    @property
    def filled_by_class(self) -> tuple[tuple[str, Preparation], ...]:
        """The columns in which records without a value take one from their class."""
        return tuple(pair for pair in self.prepared if pair[1].by_class)

    def with_gaps(self) -> "Reading":
        """The same, but that records without a value stay so in these columns."""
        preparations = tuple(pair for pair in self.prepared if not pair[1].by_class)
        return replace(self, prepared=preparations)


def read_partition(partition: Partition, reading: Reading) -> pa.Table:
    """Read the wanted columns of one partition, prepared, in plain types, missing values as nulls.

    Raises
    ------
    DataError
        The file cannot be read, or is another one than was digested.
    """
    groups = column_groups(partition, reading)
    tables = [pa.concat_tables(read_batches(partition, group)) for group in groups]
    return pa.table({name: table[name] for table in tables for name in table.column_names})


def column_groups(partition: Partition, reading: Reading) -> list[Reading]:
    """The columns in groups that are decoded together: of each one some pages are in memory."""
    if not reading.names:
        return []
    if partition.format == "csv" or len(reading.names) <= COLUMNS_AT_ONCE:
        return [reading]
    starts = range(0, len(reading.names), COLUMNS_AT_ONCE)
    return [reading.of(reading.names[i : i + COLUMNS_AT_ONCE]) for i in starts]


def read_batches(partition: Partition, reading: Reading) -> Iterator[pa.Table]:
    """The same, some records after the other; there is one table at least.

    Raises
    ------
    DataError
        As above.
    """
    for table in read_raw_batches(partition, reading):
        yield prepare_table(table, reading.prepared)


def read_raw_batches(partition: Partition, reading: Reading) -> Iterator[pa.Table]:
    """The same with all values as the files have them.

    Raises
    ------
    DataError
        As above.
    """
    with reading_file(partition.name):
        _check_unchanged(partition)
        is_csv = partition.format == "csv"
        tables = _read_chunk(partition, reading) if is_csv else _read_rows(partition, reading)
        yield from _leave_out(tables, partition, reading)
        _check_unchanged(partition)


def _leave_out(
    tables: Iterator[pa.Table], partition: Partition, reading: Reading
) -> Iterator[pa.Table]:
    """The tables of a partition, without a value of the records that are left out."""
    if reading.hidden not in reading.names or not partition.left_out.size:
        yield from tables
        return
    first = partition.first_position
    for table in tables:
        start, stop = np.searchsorted(partition.left_out, [first, first + len(table)])
        if start < stop:
            is_kept = np.ones(len(table), dtype=np.bool_)
            is_kept[partition.left_out[start:stop] - first] = False
            index = table.column_names.index(reading.hidden)
            column = table.column(index).combine_chunks()
            without = pc.if_else(pa.array(is_kept), column, pa.scalar(None, column.type))
            without = without.cast(column.type)  # decimals of few bits have become wide
            table = table.set_column(index, reading.hidden, without)  # noqa: PLW2901
        yield table
        first += len(table)


def _check_unchanged(partition: Partition) -> None:
    if file_stamp(partition.path) != partition.stamp:
        raise ChangedInputError(
            f"file {partition.name}: changed while it was read; run again when it is at rest"
        )


def _read_chunk(partition: Partition, reading: Reading) -> Iterator[pa.Table]:
    with open_input(partition.path) as stream:
        encoding = settle_encoding(stream, partition.name, reading.encoding)
        stream.seek(partition.start)
        data = stream.read(partition.stop - partition.start)
    types, formats = dict(zip(reading.names, reading.types, strict=True)), dict(reading.formats)
    table = csv_chunks.parse_chunk(
        to_utf8(data, partition.name, encoding),
        partition.name,
        reading.header,
        types | {name: pa.string() for name in types if name in formats},
        reading.missing_values,
        reading.delimiter,
        partition.start,
    )
    yield csv_chunks.cast_spelled(table, partition.name, types, formats)


def _read_rows(partition: Partition, reading: Reading) -> Iterator[pa.Table]:
    names, n_rows = list(reading.names), 0
    if len(partition.held):  # of rows that were released none is without a value
        reading = replace(reading, missing_values=())
    with (
        open_input(partition.path) as stream,
        open_parquet(stream, partition.name) as parquet,
    ):
        schema = parquet.schema_arrow
        fields = [schema.field(schema.get_field_index(name)) for name in names]
        yield _plain(pa.schema(fields).empty_table(), partition.name, reading)
        for batch in _batches(parquet, partition, reading.names):
            n_rows += batch.num_rows
            yield _plain(pa.table(batch.columns, names=names), partition.name, reading)
    if n_rows != partition.n_records:
        raise DataError(
            f"file {partition.name}: row groups {partition.first_group} to {partition.last_group} "
            "have another number of rows than the file says (damaged, or changed since it was "
            "inspected); produce it again"
        )


def _batches(
    parquet: pq.ParquetFile, partition: Partition, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Batches of the partition's rows only; those before it are decoded and let go."""
    position = 0
    groups = list(range(partition.first_group, partition.last_group + 1))
    for batch in parquet.iter_batches(partition.batch_rows, row_groups=groups, columns=list(names)):
        start = max(partition.start - position, 0)
        stop = min(partition.stop - position, batch.num_rows)
        position += batch.num_rows
        if start < stop:
            yield batch.slice(start, stop - start).select(list(names))
        if position >= partition.stop:
            return


def _plain(table: pa.Table, file_name: str, reading: Reading) -> pa.Table:
    columns = []
    for name, dtype in zip(reading.names, reading.types, strict=True):
        plain = plain_type(dtype)
        refusal = DataError(
            f"file {file_name}: column {name!r} holds values that are no {plain} "
            "(text that is not UTF-8, or a damaged file); produce it again"
        )
        with refusing_arrow(refusal, IndexError):
            column = table[name].cast(plain)
            column.validate(full=True)
        if reading.missing_values and is_text(plain):
            column = csv_chunks.null_where(column, reading.missing_values)
        columns.append(column)
    return pa.table(columns, names=list(reading.names))
