"""A look at each file of the input: what identifies it, its columns, where its records stand."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import pyarrow as pa

from pipeline.errors import DataError
from pipeline.model import InputFile
from pipeline.settings import InputSettings
from pipeline.stages.keys import plain_type
from pipeline.storage import csv_files
from pipeline.storage.input_files import (
    BLOCK_BYTES,
    file_stamp,
    open_input,
    open_parquet,
    reading_file,
)

_PACKED_HEADS = (
    *(b"\x1f\x8b", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"),
    b"\x04\x22\x4d\x18",
)


@dataclass(frozen=True)
class FileContent:
    """What a look at one file found: its identity, its columns, and where its records stand.

    ``pieces``: Parquet: (row group, 0, rows); CSV: (-1, first byte, last byte) of whole records.
    """

    file: InputFile
    schema: pa.Schema
    pieces: tuple[tuple[int, int, int], ...]


def inspect_file(path: str, settings: InputSettings) -> FileContent:
    """Read one file through once: digest, format by content, columns, places of its records.

    Raises
    ------
    DataError
        Empty, truncated, damaged or compressed files; columns of one name.
    """
    name = PurePosixPath(path).name
    with reading_file(name):
        with open_input(path) as stream:
            head = stream.read(10)
        stamp = file_stamp(path)
        kind = settings.format or _recognise(head, name)
        if kind == "parquet":
            return _inspect_parquet(path, name, stamp)
        return _inspect_csv(path, name, stamp, settings)


def _recognise(head: bytes, name: str) -> str:
    if not head:
        raise DataError(f"file {name}: is empty (0 bytes); remove it or produce it again")
    if head.startswith(_PACKED_HEADS):
        raise DataError(f"file {name}: is compressed; decompress it first")
    # a header line may begin so too, but goes on with text
    is_parquet = re.match(rb"PAR1[^\t\r\n -~\x80-\xff]", head)
    return "parquet" if is_parquet else "csv"


def _inspect_parquet(path: str, name: str, stamp: str) -> FileContent:
    with open_input(path) as stream:
        digest, n_bytes = hashlib.sha256(), 0
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
            n_bytes += len(block)
    with open_input(path) as stream, open_parquet(stream, name) as parquet:
        schema = parquet.schema_arrow
        groups = [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)]
    _check_names(schema.names, name)
    pieces = tuple((g, 0, n_rows) for g, n_rows in enumerate(groups) if n_rows)
    file = InputFile(path, name, "parquet", n_bytes, digest.hexdigest(), stamp)
    return FileContent(file, schema.remove_metadata(), pieces)


def _inspect_csv(path: str, name: str, stamp: str, settings: InputSettings) -> FileContent:
    with open_input(path) as stream:
        layout = csv_files.scan_layout(stream, name, settings.delimiter)
    _check_names(list(layout.names), name)
    pieces = tuple((-1, start, stop) for start, stop in layout.chunks)
    file = InputFile(path, name, "csv", layout.n_bytes, layout.sha256, stamp)
    schema = pa.schema([(column, pa.string()) for column in layout.names])
    return FileContent(file, schema, pieces)


def _check_names(names: list[str], name: str) -> None:
    repeated = sorted({column for column in names if names.count(column) > 1})
    if repeated:
        raise DataError(f"file {name}: several columns are named {repeated[0]!r}; rename them")


def check_same_schema(contents: list[FileContent]) -> None:
    """Refuse files of one input with different formats, columns or types."""
    first = contents[0]
    for other in contents[1:]:
        pair = f"files {first.file.name} and {other.file.name}"
        if first.file.format != other.file.format:
            raise DataError(f"{pair}: one is CSV, one is Parquet; an input has one format")
        ours, theirs = set(first.schema.names), set(other.schema.names)
        if ours != theirs:
            column = min(ours ^ theirs)
            raise DataError(f"{pair}: column {column!r} is in one of them only; make them alike")
        if first.file.format == "csv" and first.schema.names != other.schema.names:
            raise DataError(f"{pair}: their columns stand in different orders; make them alike")
        for column in first.schema.names:
            types = [plain_type(c.schema.field(column).type) for c in (first, other)]
            if types[0] != types[1]:
                raise DataError(
                    f"{pair}: column {column!r} is {types[0]} in one, {types[1]} in the other; "
                    "store it as one type"
                )
