"""The input's files: which there are, and how they are opened, wherever they stand.

Nothing of a record reaches an error message: the words of the readers underneath, which quote what
they choke on, are dropped.
"""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from pipeline.errors import DataError, TcloseError
from pipeline.settings import InputSettings
from pipeline.storage.bucket_client import filesystem as bucket_filesystem
from pipeline.storage.bucket_client import refusal
from pipeline.storage.buckets import SCHEME, BucketPath, parse_bucket
from pipeline.storage.places import Place

BLOCK_BYTES = 1 << 22
MAX_DOWNLOAD_BYTES = 1 << 28
_SUFFIXES = (".csv", ".parquet", ".pq")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4")


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


def _is_data(name: str) -> bool:
    """Whether a file of a folder is meant: a compressed one is, to be refused and not left out."""
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def total_bytes(paths: tuple[str, ...]) -> int:
    """Size of all files; 0 for those whose size is not told."""
    total = 0
    for path in paths:
        filesystem, name = _open_filesystem(path)
        with contextlib.suppress(OSError):  # whoever reads it will say so
            total += filesystem.info(name).get("size") or 0
    return total


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
        while block := whole.read(BLOCK_BYTES):
            data.write(block)
            if data.tell() > MAX_DOWNLOAD_BYTES:
                raise DataError(
                    f"input {url}: its server gives files as a whole only, and this one is larger "
                    f"than {MAX_DOWNLOAD_BYTES:,} bytes; download it first"
                )
    data.seek(0)
    return data


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


def file_stamp(path: str) -> str:
    """What shows that a file was written anew: size and time, or what its store tells of it."""
    filesystem, name = _open_filesystem(path)
    if isinstance(filesystem, LocalFileSystem):
        found = Path(name).stat()
        return f"{found.st_size}-{found.st_mtime_ns}"
    told = filesystem.info(name)
    return "-".join(str(told.get(key)) for key in ("size", "ETag", "LastModified", "mtime"))


@contextlib.contextmanager
def reading_file(name: str) -> Iterator[None]:
    """Whatever stops the reading of a file becomes one message that names it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"file {name}: cannot be read ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    status = getattr(error, "status", None)
    said = isinstance(error, OSError) and (error.strerror or str(error))
    return f"HTTP status {status}" if status else said or type(error).__name__
