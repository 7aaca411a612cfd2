"""The input's files: finding and opening them, on any file system.

No part of a record reaches an error message: the messages of the underlying readers, which quote
what they choke on, are dropped.
"""

import contextlib
import io
import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from tclose.data.files.input_settings import InputSettings
from tclose.data.files.local_input import (
    check_local_files,
    check_regular,
    is_data,
    is_hidden,
    list_folder,
    name_suffixes,
)
from tclose.data.files.staged_input import find_place
from tclose.data.places.bucket_client import filesystem as bucket_filesystem
from tclose.data.places.bucket_client import refusal
from tclose.data.places.bucket_paths import SCHEME, BucketPath, parse_bucket
from tclose.data.places.locations import Location
from tclose.data.places.process_limits import check_limits
from tclose.errors import DataError, TcloseError, UnreachableError
from tclose.security.redaction import redact_place

BLOCK_BYTES = 1 << 22
STREAM_BYTES = 1 << 20  # of a column that is being read
MAX_DOWNLOAD_BYTES = 1 << 28
_FILE = ("", "file", "local")
_NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
# Answers of web servers that a later one may differ from.
_FOR_NOW = (408, 429, *range(500, 600))
# What fsspec can open, and no run can read from several processes, or without copies of records.
_UNFIT = {
    "memory": "is in the memory of one process",
    **dict.fromkeys(("zip", "tar", "libarchive"), "is in an archive"),
    **dict.fromkeys(("simplecache", "filecache", "blockcache", "cached"), "leaves copies behind"),
    **dict.fromkeys(("reference", "data", "dir", "dask", "generic", "asynclocal"), "is no place"),
}


def find_files(settings: InputSettings) -> tuple[str, ...]:
    """Full paths of the input's files, in the order of their names.

    Raises
    ------
    DataError
        Nothing there, no files, or a URL whose protocol is not installed or not fit.
    """
    filesystem, path = _open_filesystem(settings.path)
    try:
        files = _list_files(filesystem, path)
    except (TcloseError, MemoryError):
        raise
    except Exception as error:  # each protocol has errors of its own
        if isinstance(error, OSError):
            check_limits(error, f"input {settings.shown}")
        if settings.path.startswith(SCHEME):
            raise refusal(settings.shown, error) from None
        raise _unreadable(f"input {settings.shown}", error) from None
    if not files:
        raise DataError(
            f"input {settings.shown}: no such file, or no CSV or Parquet file in it (of a folder, "
            f"files whose names end in {name_suffixes()} are read); name others by a pattern, as "
            "in data/*.txt"
        )
    return tuple(sorted(filesystem.unstrip_protocol(name) for name in files))


def _open_filesystem(named: str) -> tuple[fsspec.AbstractFileSystem, str]:
    path = find_place(named)
    if path.startswith(SCHEME):
        location = parse_bucket(path)
        return bucket_filesystem(), f"{location.bucket}/{location.key}".rstrip("/")
    protocol = path.partition("://")[0] if "://" in path else ""
    if protocol in _FILE:  # fsspec would take a "::" in it for a chain
        local = LocalFileSystem()
        return local, local._strip_protocol(path)  # noqa: SLF001  # as url_to_fs does
    _check_protocol(path, protocol)
    try:
        return cast(tuple[fsspec.AbstractFileSystem, str], fsspec.url_to_fs(path))
    except ImportError:
        raise DataError(
            f"input {redact_place(path)}: the protocol {protocol!r} is not installed; install its "
            "fsspec package"
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # each protocol has errors of its own
        if isinstance(error, OSError):
            check_limits(error, f"input {redact_place(path)}")
        raise DataError(
            f"input {redact_place(path)}: cannot be opened ({_reason(error)}); see how the "
            f"protocol {protocol!r} is set up, or name a folder, https:// or s3://"
        ) from None


def _check_protocol(path: str, protocol: str) -> None:
    """Refuse URLs that cannot be an input, before anything is opened or copied for them."""
    known = fsspec.available_protocols()
    reason = "is a chain of URLs" if "::" in path else _UNFIT.get(protocol)
    if reason is not None:
        raise DataError(
            f"input {redact_place(path)}: {reason}, which is not read; put the file itself, "
            "unpacked, into a folder or a bucket or on a web server, and name that"
        )
    if protocol not in known:
        raise DataError(
            f"input {redact_place(path)}: the protocol {protocol!r} is not known; name a file, a "
            "folder, or a URL of https:// or s3://"
        )


def _list_files(filesystem: fsspec.AbstractFileSystem, path: str) -> list[str]:
    if isinstance(filesystem, LocalFileSystem):
        return _list_local(filesystem, path)
    if _is_web(filesystem):  # a page is no folder, and a query is no pattern
        return [path] if filesystem.exists(path, strict=True) else []
    if filesystem.isdir(path):
        names = [name for name in filesystem.find(path) if is_data(name)]
        return [name for name in names if not is_hidden(name.removeprefix(path))]
    if filesystem.exists(path):
        return [path]
    if any(sign in path for sign in "*?["):
        files = [name for name in filesystem.glob(path) if filesystem.isfile(name)]
        return [name for name in files if not PurePosixPath(name).name.startswith(".")]
    return []


def _list_local(filesystem: LocalFileSystem, path: str) -> list[str]:
    location = Path(path)
    if location.is_dir():
        return list_folder(path)
    if location.exists() or location.is_symlink():
        check_regular(path)
        return [path]
    if not any(sign in path for sign in "*?["):
        return []
    files = [name for name in filesystem.glob(path) if not Path(name).is_dir()]
    files = [name for name in files if not PurePosixPath(name).name.startswith(".")]
    check_local_files(files)
    return files


def _is_web(filesystem: fsspec.AbstractFileSystem) -> bool:
    protocols = filesystem.protocol
    return "http" in ((protocols,) if isinstance(protocols, str) else protocols)


def total_bytes(paths: tuple[str, ...]) -> int:
    """Return the size of all files; 0 for those of unknown size."""
    total = 0
    for path in paths:
        filesystem, name = _open_filesystem(path)
        with contextlib.suppress(Exception):  # reading it will raise the error
            total += filesystem.info(name).get("size") or 0
    return total


def check_apart(settings: InputSettings, output: Location) -> None:
    """Refuse an output within the input: the next run would read this run's release."""
    filesystem, path = _open_filesystem(settings.path)
    if isinstance(output, BucketPath):
        _check_apart_in_bucket(settings, output)
        return
    if not isinstance(filesystem, LocalFileSystem):
        return
    try:
        within = _takes_in(filesystem, path, output)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise DataError(f"input {settings.shown}: cannot be read ({_reason(error)})") from None
    if within:
        raise _within(settings)


def _takes_in(filesystem: LocalFileSystem, path: str, output: Path) -> bool:
    """Return whether an input on this machine contains a folder or is contained in it."""
    # not `resolve`, for which a link to itself is an error of another kind
    output, folder = Path(os.path.realpath(output)), Path(os.path.realpath(path))
    if folder.exists():
        return folder.is_dir() and output.is_relative_to(folder)
    return any(Path(name).is_relative_to(output) for name in _list_files(filesystem, path))


def _check_apart_in_bucket(settings: InputSettings, output: BucketPath) -> None:
    if not settings.path.startswith(SCHEME):
        return
    files = (parse_bucket(path) for path in find_files(settings))
    takes_in = output.is_relative_to(parse_bucket(settings.path))
    if takes_in or any(path.is_relative_to(output) for path in files):
        raise _within(settings)


def _within(settings: InputSettings) -> DataError:
    return DataError(
        f"input {settings.shown}: output.path lies in it, so that releases would be read as input; "
        "choose another output.path"
    )


@contextlib.contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """Open a file of the input for random access.

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
        raise OSError(_reason(error)) from error


def _open_web(filesystem: fsspec.AbstractFileSystem, url: str) -> BinaryIO:
    """Open a web page for random access: by ranges, or from memory if the server has none."""
    stream = filesystem.open(url, "rb")
    try:
        stream.seek((stream.size or 0) - 1)
        stream.read(1)
    except ValueError:  # of unknown size, or the whole file comes for its last byte
        stream.close()
    else:
        stream.seek(0)
        return cast(BinaryIO, stream)
    data = io.BytesIO()
    with filesystem.open(url, "rb", block_size=0) as response:
        while block := response.read(BLOCK_BYTES):
            data.write(block)
            if data.tell() > MAX_DOWNLOAD_BYTES:
                raise DataError(
                    f"input {redact_place(url)}: its server gives files as a whole only, and this "
                    f"one is larger than {MAX_DOWNLOAD_BYTES:,} bytes; download it first"
                )
    data.seek(0)
    return data


@contextlib.contextmanager
def open_parquet(
    stream: BinaryIO, name: str, dictionaries: Collection[str] = ()
) -> Iterator[pq.ParquetFile]:
    """A Parquet file; whatever stops its reading is one clear error.

    Columns of local files are read as they are needed, by `STREAM_BYTES`: a row group may be as
    large as the file. Those of ``dictionaries`` come as dictionary indices.
    """
    try:
        with pq.ParquetFile(
            stream,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=STREAM_BYTES if _is_local(stream) else 0,
            read_dictionary=list(dictionaries) or None,
        ) as parquet:
            yield parquet
    except MemoryError:  # which an exception of pyarrow can be
        raise
    except (pa.ArrowException, OSError, UnicodeError, OverflowError) as error:
        is_of_network = isinstance(error, (TimeoutError, ConnectionError))
        if is_of_network or (isinstance(error, OSError) and error.errno is not None):
            raise  # not pyarrow's: it has no number for a damaged file
        raise damaged_parquet(name) from None


def damaged_parquet(name: str) -> DataError:
    """Return the error of a Parquet file that cannot be read."""
    return DataError(
        f"file {name}: is not a complete Parquet file (truncated, damaged or encrypted); produce "
        "it again"
    )


def _is_local(stream: BinaryIO) -> bool:
    """Return whether small reads are cheap; elsewhere each of them fetches a block again."""
    try:
        return stream.fileno() >= 0
    except OSError:
        return False


def file_stamp(path: str) -> str:
    """Return a stamp that changes when a file is rewritten: size and times, or the store's tag.

    Copying can keep the time of the content; that of the last change of any kind is the system's.
    """
    filesystem, name = _open_filesystem(path)
    if isinstance(filesystem, LocalFileSystem):
        status = Path(name).stat()
        return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"
    info = filesystem.info(name)
    return "-".join(str(info.get(key)) for key in ("size", "ETag", "LastModified", "mtime"))


@contextlib.contextmanager
def reading_file(name: str) -> Iterator[None]:
    """Turn any failure to read a file into one error that names it.

    Raises
    ------
    DataError
        It is not there, or not for this user.
    UnreachableError
        A disk, a server or the way to it failed, which may pass: what was done stays.
    """
    try:
        yield
    except OSError as error:
        check_limits(error, f"file {name}")
        raise _unreadable(f"file {name}", error) from None


def _unreadable(what: str, error: Exception) -> DataError:
    """The error of an input that cannot be read, retryable where the reason may pass."""
    message = f"{what}: cannot be read ({_reason(error)})"
    status = _status(error)
    may_pass = isinstance(error, OSError) and not isinstance(error, _NOT_THERE)
    if status in _FOR_NOW or (may_pass and status is None):
        return UnreachableError(f"{message}; see its storage and the network, then run again")
    return DataError(message)


def _status(error: BaseException | None) -> int | None:
    """The status a web server answered with, of an error or its cause: some say "not found"."""
    if error is None:
        return None
    status: int | None = getattr(error, "status", None)
    return status or _status(error.__cause__)


def _reason(error: Exception) -> str:
    status = _status(error)
    message = isinstance(error, OSError) and (error.strerror or str(error))
    return f"HTTP status {status}" if status else message or type(error).__name__
