"""Tables as they are handed over: paths, and frames of memory, which are written to a private file.

The same rows give the same bytes: columns without index and metadata, categories as their values,
row groups of a fixed size however the frame was cut into chunks or partitions.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.files.staged_input import staged_as
from tclose.data.keys import name_type
from tclose.data.places.locations import is_utf8
from tclose.errors import DataError, UsageError, name_kind
from tclose.runtime.scratch import scratch_folder

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    Data: TypeAlias = str | os.PathLike[str] | pd.DataFrame | pa.Table | dd.DataFrame

ROW_GROUP_ROWS = 1 << 17
_FILE = "records.parquet"
_DIFFERENT = "data: its partitions have different columns; make them alike"


@dataclass(frozen=True)
class Staged:
    """The staged input of a policy; ``folder``: of the scratch file, if there is one."""

    path: str
    folder: Path | None = None


@contextlib.contextmanager
def staged_data(data: "Data", client: Any = None) -> Iterator[Staged]:
    """The input that a table is, for the block; frames are in a scratch file meanwhile.

    Raises
    ------
    UsageError
        It is no table.
    DataError
        A column holds values that no column of a file can.
    OutputError
        The scratch file cannot be written.
    """
    if isinstance(data, str | os.PathLike):
        yield Staged(os.fspath(data))
        return
    name = name_frame(data)
    with scratch_folder("input") as folder:
        file = folder / _FILE
        _write_file(file, _unify(_read_frames(data, client), folder))
        with staged_as(name, file):
            yield Staged(name, folder)


def name_frame(data: Any) -> str:
    """Name a table in memory for messages and manifests, as in memory://pandas/DataFrame.

    Raises
    ------
    UsageError
        It is no table.
    """
    library = type(data).__module__.partition(".")[0]
    if _is_dask(data) or _is_pandas(data) or hasattr(data, "__arrow_c_stream__"):
        return f"memory://{library}/{type(data).__name__}"
    raise UsageError(
        f"data: is {name_kind(data)}; give a path, or a DataFrame of pandas or Dask, or a "
        "pyarrow.Table"
    )


def read_data(data: Any) -> pa.Table:
    """All rows of a frame, in their order.

    Raises
    ------
    UsageError, DataError
        As `staged_data`.
    """
    name_frame(data)
    tables = list(_read_frames(data, None))
    try:
        return pa.concat_tables(tables, promote_options="default")
    except MemoryError:  # which an exception of pyarrow can be
        raise
    except pa.ArrowException:
        raise _differing(tables[0].schema, [table.schema for table in tables]) from None


def _is_dask(data: Any) -> bool:
    module = sys.modules.get("dask.dataframe")
    return module is not None and isinstance(data, module.DataFrame)


def _is_pandas(data: Any) -> bool:
    module = sys.modules.get("pandas")
    return module is not None and isinstance(data, module.DataFrame)


def _read_frames(data: Any, client: Any) -> Iterator[pa.Table]:
    """A frame, partition by partition."""
    if _is_dask(data):
        yield from _align(_compute_parts(data, client))
    elif _is_pandas(data):
        yield _from_pandas(data)
    else:
        yield _plain(_open_stream(data).read_all())


def _compute_parts(data: Any, client: Any) -> Iterator[pa.Table]:
    """The partitions of a Dask frame, one after the other."""
    for part in data.partitions:
        yield _from_pandas(part.compute() if client is None else client.compute(part).result())


def _align(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables with the columns of the first, in its order.

    Raises
    ------
    DataError
        One has others: what it lacks would be taken for missing values.
    """
    names: list[str] | None = None
    for table in tables:
        names = table.column_names if names is None else names
        if set(table.column_names) != set(names):
            raise DataError(_DIFFERENT)
        yield table.select(names)


def _open_stream(data: Any) -> pa.RecordBatchReader:
    """The rows of what hands itself over as Arrow does: a table, or a column alone."""
    refusal = UsageError(
        f"data: is {name_kind(data)}, which is no table; give a DataFrame of pandas or Dask, or a "
        "pyarrow.Table"
    )
    with refusing_arrow(refusal):
        return pa.RecordBatchReader.from_stream(data)


def _from_pandas(frame: "pd.DataFrame") -> pa.Table:
    """The columns of a frame; its index is no column, and NaN is a missing value."""
    if frame.columns.nlevels > 1:
        raise DataError(
            "data: its columns have names of several levels; join them, as by "
            "frame.columns.map('_'.join)"
        )
    names = [str(name) for name in frame.columns]
    _check_names(names)
    columns = []
    for i, name in enumerate(names):
        refusal = DataError(
            f"column {name!r}: holds Python objects of several types, or values of one that no "
            "file has, as sparse and complex ones; give it one type, as by astype"
        )
        with refusing_arrow(refusal, TypeError, ValueError, OverflowError):
            columns.append(pa.array(frame.iloc[:, i], from_pandas=True))
    return _plain(pa.table([_as_chunked(column) for column in columns], names=names))


def _as_chunked(column: Any) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _plain(table: pa.Table) -> pa.Table:
    """The table without metadata; dictionaries, which could be ordered in any way, as values."""
    _check_names(table.column_names)
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            with refusing_arrow(_unfit(field)):  # as the ranges that pandas.cut makes
                values = table[i].cast(field.type.value_type)
            table = table.set_column(i, field.name, values)
    return table.cast(pa.schema([pa.field(f.name, f.type) for f in table.schema]))


def _unfit(field: pa.Field) -> DataError:
    return DataError(
        f"column {field.name!r}: type {name_type(field.type)} is one that no file has; convert it, "
        "as by astype(str), or leave it out of the table"
    )


def _check_types(schema: pa.Schema) -> None:
    """Refuse columns that Parquet cannot have, whatever their roles are: all of a table is kept."""
    for field in schema:
        with refusing_arrow(_unfit(field), OSError):  # as of decimals of a negative scale
            pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()


def _check_moments(table: pa.Table) -> pa.Table:
    """Refuse moments in seconds that are too far away to be those of a file, in milliseconds."""
    for field in table.schema:
        if pa.types.is_timestamp(field.type) and field.type.unit == "s":
            refusal = DataError(
                f"column {field.name!r}: holds dates or times that are too early or too late for a "
                "file; correct them, or leave it out of the table"
            )
            with refusing_arrow(refusal):
                table[field.name].cast(pa.timestamp("ms", field.type.tz))
    return table


def _check_names(names: list[str]) -> None:
    first: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if first.setdefault(name, place) != place:
            raise DataError(
                f"data: its columns {first[name]:,} and {place:,} have one name; give each its own"
            )
        if not is_utf8(name):
            raise DataError(f"data: the name of its column {place:,} is not valid text; correct it")


def _unify(tables: Iterable[pa.Table], folder: Path) -> Iterator[pa.Table]:
    """Tables of one schema: a partition in which a column has no value does not know its type.

    Partitions wait in scratch files: no more than one is held.
    """
    pieces: list[Path] = []
    schemas: list[pa.Schema] = []
    for table in tables:
        pieces.append(folder / f"piece-{len(pieces)}.arrow")
        schemas.append(table.schema)
        with _create(pieces[-1]) as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
    schema = _unify_schemas(schemas)
    for piece in pieces:
        with piece.open("rb") as stream:
            yield pa.ipc.open_file(stream).read_all().cast(schema)
        piece.unlink()


def _unify_schemas(schemas: list[pa.Schema]) -> pa.Schema:
    if not schemas:
        raise DataError("data: has no partitions")
    try:
        return pa.unify_schemas(schemas)
    except MemoryError:  # which an exception of pyarrow can be
        raise
    except pa.ArrowException:
        raise _differing(schemas[0], schemas) from None


def _differing(first: pa.Schema, schemas: list[pa.Schema]) -> DataError:
    for schema in schemas[1:]:
        for field in schema:
            known = first.field(field.name).type if field.name in first.names else None
            if known not in (None, field.type):
                types = f"{name_type(known)} in one partition, {name_type(field.type)} in another"
                return DataError(f"column {field.name!r}: is {types}; give it one type")
    return DataError(_DIFFERENT)


def _create(file: Path) -> BinaryIO:
    """A new file that only this user can read."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _write_file(file: Path, tables: Iterator[pa.Table]) -> None:
    """Write the rows in row groups of one size; the file's time is always the same."""
    first = next(tables)
    _check_types(first.schema)
    with _create(file) as stream, pq.ParquetWriter(stream, first.schema) as writer:
        waiting = _check_moments(first)
        for table in map(_check_moments, tables):
            waiting = _write_whole_groups(writer, pa.concat_tables([waiting, table]))
        waiting = _write_whole_groups(writer, waiting)
        if len(waiting) or not first.num_rows:
            writer.write_table(waiting.combine_chunks())
    os.utime(file, (0, 0))


def _write_whole_groups(writer: pq.ParquetWriter, table: pa.Table) -> pa.Table:
    """Write what fills whole row groups; returns the rows that are left."""
    start = 0
    while len(table) - start >= ROW_GROUP_ROWS:
        writer.write_table(table.slice(start, ROW_GROUP_ROWS).combine_chunks())
        start += ROW_GROUP_ROWS
    return table.slice(start)


def replace_input(document: Mapping[str, Any], staged: Staged) -> dict[str, Any]:
    """A policy's document with the table as its input."""
    section = document.get("input") or {}
    if not isinstance(section, Mapping):
        return dict(document)  # to be refused as what it is
    changed = {**section, "path": staged.path}
    return {**document, "input": changed | ({"format": "parquet"} if staged.folder else {})}
