"""The input: which files it has, what identifies them, and how they are cut into partitions.

Nothing of a record reaches an error message: the words of the readers underneath, which quote what
they choke on, are dropped.
"""

import contextlib
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from pipeline.errors import DataError, TcloseError
from pipeline.model import InputFile, Partition
from pipeline.settings import InputSettings
from pipeline.stages.keys import is_text, plain_type
from pipeline.storage import csv_files
from pipeline.storage.bucket_client import filesystem as bucket_filesystem
from pipeline.storage.bucket_client import refusal
from pipeline.storage.buckets import SCHEME, BucketPath, parse_bucket
from pipeline.storage.places import Place

PARTITION_ROWS = 500_000
MIN_PARTITION_ROWS = 65_536
_BLOCK = 1 << 22
_SUFFIXES = (".csv", ".parquet", ".pq")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4")
_PACKED_HEADS = (
    *(b"\x1f\x8b", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"),
    b"\x04\x22\x4d\x18",
)
MAX_DOWNLOAD_BYTES = 1 << 28


def find_files(settings: InputSettings) -> tuple[str, ...]:
    """Full paths of the input's files, in the order of their names.

    Raises
    ------
    DataError
        Nothing there, or a URL whose protocol is not installed.
    """
    filesystem, path = _open_filesystem(settings.path)
    try:
        found = _list_files(filesystem, path)
    except Exception as error:  # each protocol has errors of its own
        if settings.path.startswith(SCHEME):
            raise refusal(settings.path, error) from None
        raise DataError(f"input {settings.path}: cannot be read ({_reason(error)})") from None
    if not found:
        raise DataError(f"input {settings.path}: no such file, or no CSV or Parquet file in it")
    return tuple(sorted(filesystem.unstrip_protocol(name) for name in found))


def _open_filesystem(path: str) -> tuple[fsspec.AbstractFileSystem, str]:
    if path.startswith(SCHEME):
        place = parse_bucket(path)
        return bucket_filesystem(), f"{place.bucket}/{place.key}".rstrip("/")
    try:
        return fsspec.url_to_fs(path)
    except (ImportError, ValueError):
        protocol = path.partition("://")[0]
        raise DataError(
            f"input {path}: the protocol {protocol!r} is not installed; install its fsspec package"
        ) from None


def _list_files(filesystem: fsspec.AbstractFileSystem, path: str) -> list[str]:
    if _is_web(filesystem):  # a page is no folder, and a query is no pattern
        return [path] if filesystem.exists(path, strict=True) else []
    if filesystem.isdir(path):
        names = [name for name in filesystem.find(path) if _is_data(name.lower())]
        return [name for name in names if not _is_hidden(name.removeprefix(path))]
    if filesystem.exists(path):
        return [path]
    if any(sign in path for sign in "*?["):
        found = [name for name in filesystem.glob(path) if filesystem.isfile(name)]
        return [name for name in found if not PurePosixPath(name).name.startswith(".")]
    return []


def _is_web(filesystem: fsspec.AbstractFileSystem) -> bool:
    protocols = filesystem.protocol
    return "http" in ((protocols,) if isinstance(protocols, str) else protocols)


def check_apart(settings: InputSettings, output: Place) -> None:
    """Refuse an output that the input takes in: the next run would read what this one made."""
    filesystem, path = _open_filesystem(settings.path)
    if isinstance(output, BucketPath):
        _check_apart_in_bucket(settings, output)
        return
    if not isinstance(filesystem, LocalFileSystem):
        return
    output, folder = output.resolve(), Path(path).resolve()
    within = output.is_relative_to(folder) if folder.is_dir() else False
    if not folder.exists():
        within = any(Path(name).is_relative_to(output) for name in _list_files(filesystem, path))
    if within:
        raise _within(settings)


def _check_apart_in_bucket(settings: InputSettings, output: BucketPath) -> None:
    if not settings.path.startswith(SCHEME):
        return
    found = (parse_bucket(path) for path in find_files(settings))
    takes_in = output.is_relative_to(parse_bucket(settings.path))
    if takes_in or any(path.is_relative_to(output) for path in found):
        raise _within(settings)


def _within(settings: InputSettings) -> DataError:
    return DataError(
        f"input {settings.path}: output.path lies in it, so that releases would be read as input; "
        "choose another output.path"
    )


def _is_data(name: str) -> bool:
    """Whether a file of a folder is meant: a compressed one is, to be refused and not left out."""
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _reason(error: Exception) -> str:
    status = getattr(error, "status", None)
    said = isinstance(error, OSError) and (error.strerror or str(error))
    return f"HTTP status {status}" if status else said or type(error).__name__


@contextlib.contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """A file of the input, to be read at any place.

    Raises
    ------
    DataError
        A large file on a web server that only gives files as a whole.
    OSError
        It cannot be read.
    """
    filesystem, name = _open_filesystem(path)
    if isinstance(filesystem, LocalFileSystem):
        with filesystem.open(name, "rb") as stream:
            yield stream
        return
    try:
        is_web = _is_web(filesystem)
        with _open_web(filesystem, name) if is_web else filesystem.open(name, "rb") as stream:
            yield stream
    except (TcloseError, OSError, pa.ArrowException, MemoryError):
        raise
    except Exception as error:  # the client's own
        raise OSError(_reason(error)) from None


def _open_web(filesystem: fsspec.AbstractFileSystem, url: str) -> Any:
    """A page that can be read at any place: by ranges, or from memory if the server gives none."""
    stream = filesystem.open(url, "rb")
    try:
        stream.seek((stream.size or 0) - 1)
        stream.read(1)
    except ValueError:  # of unknown size, or the whole file comes for its last byte
        stream.close()
    else:
        stream.seek(0)
        return stream
    data = io.BytesIO()
    with filesystem.open(url, "rb", block_size=0) as whole:
        while block := whole.read(_BLOCK):
            data.write(block)
            if data.tell() > MAX_DOWNLOAD_BYTES:
                raise DataError(
                    f"input {url}: its server gives files as a whole only, and this one is larger "
                    f"than {MAX_DOWNLOAD_BYTES:,} bytes; download it first"
                )
    data.seek(0)
    return data


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
    try:
        with open_input(path) as stream:
            head = stream.read(10)
        stamp = file_stamp(path)
        kind = settings.format or _recognise(head, name)
        if kind == "parquet":
            return _inspect_parquet(path, name, stamp)
        return _inspect_csv(path, name, stamp, settings)
    except OSError as error:
        raise DataError(f"file {name}: cannot be read ({_reason(error)})") from None


def file_stamp(path: str) -> str:
    """What shows that a file was written anew: size and time, or what its store tells of it."""
    filesystem, name = _open_filesystem(path)
    if isinstance(filesystem, LocalFileSystem):
        found = Path(name).stat()
        return f"{found.st_size}-{found.st_mtime_ns}"
    told = filesystem.info(name)
    return "-".join(str(told.get(key)) for key in ("size", "ETag", "LastModified", "mtime"))


def _check_unchanged(partition: Partition) -> None:
    if file_stamp(partition.path) != partition.stamp:
        raise DataError(
            f"file {partition.name}: changed while it was read; run again when it is at rest"
        )


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
        while block := stream.read(_BLOCK):
            digest.update(block)
            n_bytes += len(block)
    with open_input(path) as stream, open_parquet(stream, name) as parquet:
        schema = parquet.schema_arrow
        groups = [parquet.metadata.row_group(g).num_rows for g in range(parquet.num_row_groups)]
    _check_names(schema.names, name)
    pieces = tuple((g, 0, n_rows) for g, n_rows in enumerate(groups) if n_rows)
    file = InputFile(path, name, "parquet", n_bytes, digest.hexdigest(), stamp)
    return FileContent(file, schema.remove_metadata(), pieces)


@contextlib.contextmanager
def open_parquet(stream: BinaryIO, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file; whatever stops its reading is one clear error."""
    try:
        with pq.ParquetFile(stream, page_checksum_verification=True) as parquet:
            yield parquet
    except (pa.ArrowException, OSError, UnicodeError, OverflowError):
        raise DataError(
            f"file {name}: is not a complete Parquet file (truncated, damaged or encrypted); "
            "produce it again"
        ) from None


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
    with _reading(partition):
        _check_unchanged(partition)
        table = _read_records(partition, reading)
        _check_unchanged(partition)
    return table


def _read_records(partition: Partition, reading: Reading) -> pa.Table:
    if partition.format == "csv":
        with _reading(partition), open_input(partition.path) as stream:
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


@contextlib.contextmanager
def _reading(partition: Partition) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"file {partition.name}: cannot be read ({_reason(error)})") from None


def _read_rows(partition: Partition, reading: Reading) -> pa.Table:
    with (
        _reading(partition),
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


def total_bytes(paths: tuple[str, ...]) -> int:
    """Size of all files; 0 for those whose size is not told."""
    total = 0
    for path in paths:
        filesystem, name = _open_filesystem(path)
        with contextlib.suppress(OSError):  # whoever reads it will say so
            total += filesystem.info(name).get("size") or 0
    return total
