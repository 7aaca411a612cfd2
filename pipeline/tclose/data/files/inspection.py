"""Inspection of each file of the input: its identity, its columns, the ranges of its records."""

import hashlib
import os
import re
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from tclose.data.files import csv_chunks
from tclose.data.files.column_names import check_distinct_names, compare_names
from tclose.data.files.input_files import (
    BLOCK_BYTES,
    damaged_parquet,
    file_stamp,
    open_input,
    open_parquet,
    reading_file,
)
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.piece_widths import (
    PieceWidth,
    ReadColumns,
    check_longest,
    find_dictionaries,
    measure_group,
)
from tclose.data.keys import name_type, plain_type
from tclose.errors import DataError
from tclose.model.input_pieces import InputFile
from tclose.security.redaction import file_name

# What files of other kinds begin with, and what is said of them. Text has no control characters.
_OTHER_KINDS = (
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|PK\x03\x04.{26}\[Content_Types\]",
        "a workbook or document of Microsoft Office and no CSV file; save its table as CSV",
    ),
    (
        rb"PK\x03\x04.{26}mimetype",
        "a workbook or document of LibreOffice and no CSV file; save its table as CSV",
    ),
    (
        rb"\x1f\x8b|PK\x03\x04|BZh91AY&SY|\xfd7zXZ\x00|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18",
        "compressed; decompress it first",
    ),
    (rb"ARROW1\x00", "an Arrow or Feather file; write its table as Parquet"),
    (rb"ORC.*[\x00-\x08]", "an ORC file; write its table as Parquet"),
)
_PARQUET_MARK = b"PAR1"
_PARQUET_SUFFIXES = (".parquet", ".pq")
_HEAD_BYTES = 50


@dataclass(frozen=True)
class FileContent:
    """The result of inspecting one file: its identity, its columns, and the ranges of its records.

    ``pieces``: Parquet: (row group, 0, rows); CSV: (-1, first byte, last byte) of whole records;
    ``widths``: of each piece, how many bytes it takes when decoded.
    """

    file: InputFile
    schema: pa.Schema
    pieces: tuple[tuple[int, int, int], ...]
    widths: tuple[PieceWidth, ...]


def inspect_file(
    path: str, settings: InputSettings, wanted: ReadColumns | None = None, name: str = ""
) -> FileContent:
    """Read one file through once: digest, format by content, columns, ranges of its records.

    ``wanted``: the columns that will be read, which the widths are of; without it all. ``name``:
    of the file among the input's, for messages; without it the last part of its path.

    Raises
    ------
    DataError
        Empty, truncated, damaged or compressed files; columns of one name.
    """
    name = name or file_name(path)
    with reading_file(name):
        head = _read_head(path)
        stamp = file_stamp(path)
        kind = settings.format or _recognise(path, head, name)
        if settings.format == "csv" and _begins_as_parquet(head):
            raise DataError(
                f"file {name}: is a Parquet file, and input.format says csv; correct input.format, "
                "or leave it out"
            )
        if kind == "parquet":
            return _inspect_parquet(path, name, stamp, wanted)
        content = _inspect_csv(path, name, stamp, settings)
        longest = max((width.largest for width in content.widths), default=0)
        check_longest(f"file {name}: a record", longest, wanted.limit if wanted else None)
        return content


def recognise_format(path: str, name: str) -> str:
    """Return ``parquet`` or ``csv``, by a file's content.

    Raises
    ------
    DataError
        It is empty, compressed, damaged, or of another kind: a workbook, Arrow, ORC.
    """
    with reading_file(name):
        return _recognise(path, _read_head(path), name)


def _read_head(path: str) -> bytes:
    with open_input(path) as stream:
        return stream.read(_HEAD_BYTES)


def _recognise(path: str, head: bytes, name: str) -> str:
    if not head:
        raise DataError(f"file {name}: is empty (0 bytes); remove it or produce it again")
    for begin, words in _OTHER_KINDS:
        if re.match(begin, head, re.DOTALL):
            raise DataError(f"file {name}: is {words}")
    if _begins_as_parquet(head) or _is_between_marks(path, head):
        return "parquet"
    if name.lower().endswith(_PARQUET_SUFFIXES) and b"\0" in head:
        raise damaged_parquet(name)
    return "csv"


def _begins_as_parquet(head: bytes) -> bool:
    # a header line may begin so too, but goes on with text
    return re.match(rb"PAR1[^\t\r\n -~\x80-\xff]", head) is not None


def _is_between_marks(path: str, head: bytes) -> bool:
    """Return whether a file begins and ends as Parquet, whatever it has in between."""
    if not head.startswith(_PARQUET_MARK) or len(head) < 2 * len(_PARQUET_MARK):
        return False
    with open_input(path) as stream:
        stream.seek(-len(_PARQUET_MARK), os.SEEK_END)
        return stream.read() == _PARQUET_MARK


def _inspect_parquet(path: str, name: str, stamp: str, wanted: ReadColumns | None) -> FileContent:
    with open_input(path) as stream:
        digest, n_bytes = hashlib.sha256(), 0
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
            n_bytes += len(block)
    with open_input(path) as stream, open_parquet(stream, name) as parquet:
        schema = parquet.schema_arrow
        groups = [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)]
        dictionaries = find_dictionaries(parquet)
    check_distinct_names(schema.names, name, is_csv=False)
    pieces = tuple((g, 0, n_rows) for g, n_rows in enumerate(groups) if n_rows)
    columns = ReadColumns(passthrough=frozenset(schema.names)) if wanted is None else wanted
    with open_input(path) as stream, open_parquet(stream, name, dictionaries) as parquet:
        widths = tuple(measure_group(parquet, stream, g, columns, name) for g, _, _ in pieces)
    file = InputFile(path, name, "parquet", n_bytes, digest.hexdigest(), stamp)
    return FileContent(file, schema.remove_metadata(), pieces, widths)


def _inspect_csv(path: str, name: str, stamp: str, settings: InputSettings) -> FileContent:
    with open_input(path) as stream:
        layout = csv_chunks.scan_layout(stream, name, settings.delimiter, settings.encoding)
    check_distinct_names(layout.names, name)
    pieces = tuple((-1, start, stop) for start, stop in layout.chunks)
    file = InputFile(path, name, "csv", layout.n_bytes, layout.sha256, stamp)
    schema = pa.schema([(column, pa.string()) for column in layout.names])
    widths = tuple(PieceWidth(passthrough=b - a, largest=b - a) for a, b in layout.chunks)
    return FileContent(file, schema, pieces, widths)


def check_same_schema(contents: list[FileContent], listed: Collection[str]) -> None:
    """Refuse files of one input with different formats, columns or types.

    ``listed``: names that the policy has; of others a message gives the position.
    """
    first = contents[0]
    names, types = first.schema.names, first.schema.types
    for other in contents[1:]:
        files = first.file.name, other.file.name
        pair = f"files {files[0]} and {files[1]}"
        if first.file.format != other.file.format:
            raise DataError(f"{pair}: one is CSV, one is Parquet; an input has one format")
        is_csv = first.file.format == "csv"
        compare_names(names, other.schema.names, files, listed, is_csv=is_csv)
        if is_csv and names != other.schema.names:
            raise DataError(f"{pair}: their columns are in different orders; use one order")
        other_types = dict(zip(other.schema.names, other.schema.types, strict=True))
        for index, (column, dtype) in enumerate(zip(names, types, strict=True)):
            if plain_type(dtype) != plain_type(other_types[column]):
                raise _two_types(pair, column, index, (dtype, other_types[column]), listed)


def _two_types(
    pair: str,
    column: str,
    index: int,
    types: tuple[pa.DataType, pa.DataType],
    listed: Collection[str],
) -> DataError:
    named = f"column {column!r}" if column in listed else f"column {index + 1:,} of the first"
    return DataError(
        f"{pair}: {named} is {name_type(types[0])} in one, {name_type(types[1])} in the other; "
        "store it as one type"
    )
