"""A sample of the input: blocks of records from all over it, CSV as the texts that it has."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.input_files import find_files
from tclose.data.files.input_partitions import (
    Reading,
    csv_partitions,
    cut_parquet,
    read_partition,
)
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import check_same_schema, inspect_file, recognise_format
from tclose.data.files.local_input import check_name
from tclose.data.keys import natural_kind, plain_type
from tclose.errors import DataError
from tclose.policy.suggest.csv_dialect import CsvDialect, detect_dialect
from tclose.security.redaction import name_apart

SAMPLE_RECORDS = 100_000
_BLOCK_RECORDS = 1_000  # neighbours stay together: the rows of a person often are
_MOST_PIECES = 8
_NAMES_PER_VALUE = 4


@dataclass(frozen=True, eq=False)
class InputSample:
    """Records of the input; ``statement``: which ones, in words.

    ``table``: texts of CSV, values of Parquet; columns of types that no run reads are in ``names``
    alone. ``dialect``: None of Parquet.
    """

    path: str
    names: tuple[str, ...]
    table: pa.Table
    dialect: CsvDialect | None
    statement: str


def read_sample(path: str) -> InputSample:
    """Read a sample of the files at a path, at most `SAMPLE_RECORDS` records.

    Raises
    ------
    DataError
        Nothing there, unreadable files, columns without names, no records.
    """
    check_name(path)
    files = find_files(InputSettings(path=path))
    names = name_apart(files)
    chosen = [(files[i], names[i]) for i in _spread(len(files), _MOST_PIECES)]
    dialect = _find_dialect(*chosen[0])
    settings = InputSettings(path=path)
    if dialect is not None:
        settings = InputSettings(path=path, delimiter=dialect.delimiter, encoding=dialect.encoding)
    contents = [inspect_file(file, settings, name=name) for file, name in chosen]
    check_same_schema(contents, ())
    schema = contents[0].schema
    is_csv = dialect is not None
    pieces = csv_partitions(contents) if is_csv else cut_parquet(contents)
    read = [pieces[i] for i in _spread(len(pieces), _MOST_PIECES)]
    fields = [field for field in schema if natural_kind(field.type) is not None]
    reading = Reading(
        tuple(field.name for field in fields),
        tuple(field.type for field in fields),
        tuple(schema.names),
        (),
        settings.delimiter,
        settings.encoding,
    )
    n_each = -(-SAMPLE_RECORDS // max(len(read), 1))
    parts = [read_partition(piece, reading) for piece in read]
    n_read = sum(len(part) for part in parts)
    if not n_read:
        raise DataError(f"input {settings.shown}: has no records")
    table = pa.concat_tables([_take_blocks(part, n_each) for part in parts]).combine_chunks()
    if dialect is not None:
        _check_names(table, settings.shown)
    whole = len(read) == len(pieces) and len(chosen) == len(files)
    statement = _say(len(table), n_read if whole else None, len(chosen), len(files))
    return InputSample(path, tuple(schema.names), _plain(table), dialect, statement)


def _find_dialect(path: str, name: str) -> CsvDialect | None:
    """The dialect of a CSV file; None of a Parquet file."""
    is_parquet = recognise_format(path, name) == "parquet"
    return None if is_parquet else detect_dialect(path, name)


def _check_names(table: pa.Table, shown: str) -> None:
    """Refuse a first line of values: as names of columns they would be in a policy."""
    n_alike = sum(
        pc.any(pc.equal(table[name], name)).as_py() or False for name in table.schema.names
    )
    if n_alike * _NAMES_PER_VALUE > table.num_columns:
        raise DataError(
            f"input {shown}: the first line has what is also among the records in {n_alike:,} of "
            f"{table.num_columns:,} columns; put a line of column names above it, once, "
            "and take such lines out that are among the records"
        )


def _spread(n_items: int, n_most: int) -> list[int]:
    """Indices of at most so many items, evenly from the first to the last."""
    return sorted({int(i) for i in np.linspace(0, max(n_items - 1, 0), min(n_items, n_most))})


def _take_blocks(table: pa.Table, n_records: int) -> pa.Table:
    if len(table) <= n_records:
        return table
    starts = _spread(len(table) - _BLOCK_RECORDS, max(n_records // _BLOCK_RECORDS, 1))
    return pa.concat_tables([table.slice(start, _BLOCK_RECORDS) for start in starts])


def _plain(table: pa.Table) -> pa.Table:
    types = [plain_type(dtype) for dtype in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def _say(n_records: int, n_all: int | None, n_files: int, n_all_files: int) -> str:
    of_files = f" of {n_files:,} of {n_all_files:,} files" if n_files < n_all_files else ""
    if n_all == n_records:
        return f"all {n_records:,} records"
    known = f" of {n_all:,}" if n_all is not None else ""
    return f"{n_records:,}{known} records{of_files}, taken evenly"
