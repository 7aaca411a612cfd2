"""Partitions of the input: how its files are cut into them, and how the records of one are read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import DataError
from pipeline.model import Partition
from pipeline.stages.keys import is_text, plain_type
from pipeline.storage import csv_files
from pipeline.storage.input_files import file_stamp, open_input, open_parquet, reading_file
from pipeline.storage.inspection import FileContent

PARTITION_ROWS = 500_000
MIN_PARTITION_ROWS = 65_536


def cut_parquet(contents: list[FileContent]) -> tuple[Partition, ...]:
    """Partitions of Parquet files: row groups, the large ones in several pieces."""
    total = sum(stop for content in contents for _, _, stop in content.pieces)
    size = min(PARTITION_ROWS, max(MIN_PARTITION_ROWS, -(-total // 8)))
    partitions: list[Partition] = []
    position = 0
    for content in contents:
        for group, _, n_rows in content.pieces:
            n_parts = -(-n_rows // size)
            cuts = [n_rows * part // n_parts for part in range(n_parts + 1)]
            for start, stop in pairwise(cuts):
                file = content.file
                partitions.append(
                    Partition(
                        path=file.path,
                        name=file.name,
                        format="parquet",
                        row_group=group,
                        start=start,
                        stop=stop,
                        n_records=stop - start,
                        first_position=position,
                        stamp=file.stamp,
                    )
                )
                position += stop - start
    return tuple(partitions)


def csv_partitions(contents: list[FileContent]) -> tuple[Partition, ...]:
    """Partitions of CSV files; how many records each holds is not known before it is read."""
    return tuple(
        Partition(file.path, file.name, "csv", group, start, stop, -1, -1, file.stamp)
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


def name_files(bad: Sequence[Partition], among: Sequence[Partition]) -> str:
    """In which files of several something is wrong, as the end of a message."""
    names = list(dict.fromkeys(partition.name for partition in bad))
    if len({partition.path for partition in among}) < 2 or not names:
        return ""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"\nin {', '.join(names[:3])}{more}"


@dataclass(frozen=True)
class Reading:
    """How partitions are read: the columns wanted, their types, and what stands for missing."""

    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    header: tuple[str, ...]
    missing_values: tuple[str, ...]
    delimiter: str


def read_partition(partition: Partition, reading: Reading) -> pa.Table:
    """The wanted columns of one partition, in plain types, missing values as nulls.

    Raises
    ------
    DataError
        The file cannot be read, or is another one than was digested.
    """
    with reading_file(partition.name):
        _check_unchanged(partition)
        table = _read_records(partition, reading)
        _check_unchanged(partition)
    return table


def _check_unchanged(partition: Partition) -> None:
    if file_stamp(partition.path) != partition.stamp:
        raise DataError(
            f"file {partition.name}: changed while it was read; run again when it is at rest"
        )


def _read_records(partition: Partition, reading: Reading) -> pa.Table:
    if partition.format == "csv":
        with open_input(partition.path) as stream:
            stream.seek(partition.start)
            data = stream.read(partition.stop - partition.start)
        return csv_files.parse_chunk(
            data,
            partition.name,
            reading.header,
            dict(zip(reading.names, reading.types, strict=True)),
            reading.missing_values,
            reading.delimiter,
            partition.start,
        )
    return _read_rows(partition, reading)


def _read_rows(partition: Partition, reading: Reading) -> pa.Table:
    with (
        open_input(partition.path) as stream,
        open_parquet(stream, partition.name) as parquet,
    ):
        batches = list(_batches(parquet, partition, reading.names))
        schema = parquet.schema_arrow
    schema = pa.schema([schema.field(schema.get_field_index(name)) for name in reading.names])
    table = pa.Table.from_batches(batches, schema.remove_metadata())
    if len(table) != partition.n_records:
        raise DataError(
            f"file {partition.name}: row group {partition.row_group} has another number of rows "
            "than the file says (damaged, or changed since it was looked at); produce it again"
        )
    return _plain(table, partition.name, reading)


def _batches(
    parquet: pq.ParquetFile, partition: Partition, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Batches of the partition's rows only; those before it are decoded and let go."""
    position = 0
    for batch in parquet.iter_batches(
        batch_size=65_536, row_groups=[partition.row_group], columns=list(names)
    ):
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
        try:
            column = table[name].cast(plain)
            column.validate(full=True)
        except (pa.ArrowException, IndexError):
            raise DataError(
                f"file {file_name}: column {name!r} holds values that are no {plain} "
                "(text that is not UTF-8, or a damaged file); produce it again"
            ) from None
        if reading.missing_values and is_text(plain):
            column = csv_files.null_where(column, reading.missing_values)
        columns.append(column)
    return pa.table(columns, names=list(reading.names))
