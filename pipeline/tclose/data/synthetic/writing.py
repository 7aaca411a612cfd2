"""The files of the generated data: one, or a folder of them; written completely or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tclose.data.places.locations import is_utf8, show_name
from tclose.data.synthetic.discharges import (
    CHUNK_ROWS,
    SCHEMA,
    generate_rows,
    refuse_request,
)
from tclose.errors import OutputError, UsageError

ROW_GROUP_ROWS = 2 * CHUNK_ROWS

_REPETITIVE = [name for name in SCHEMA.names if name not in ("patient_id", "charge")]
FILE_SUFFIXES = (".csv", ".parquet")


def write_microdata(
    path: Path,
    n_rows: int,
    seed: int,
    *,
    returning: float = 0.0,
    rows_per_file: int = 1_000_000,
    progress: Callable[[int], None] | None = None,
) -> list[Path]:
    """Write the first ``n_rows`` rows of ``seed`` and return the files written, in row order.

    ``returning``: as in `generate_rows`.

    A ``path`` ending in ``.parquet`` or ``.csv`` becomes one file; any other becomes a folder of
    ``part-00000.parquet``, ... of ``rows_per_file`` rows. Folders above it are made. Nothing bears
    the name ``path`` until all is written. ``progress`` gets the number of rows written so far.

    Leaves nothing behind where it fails.

    Raises
    ------
    UsageError
        A number is out of range.
    OutputError
        ``path`` holds something already, or cannot be written.
    """
    refuse_request(0, n_rows, seed, returning)
    if rows_per_file < 1:
        raise UsageError(f"rows per file is {rows_per_file}; it must be at least 1")
    suffix = path.suffix.lower()
    n_per_file = n_rows if suffix in FILE_SUFFIXES else rows_per_file
    with writing_whole(path) as working:
        read = partial(generate_rows, seed=seed, returning=returning)
        names = _write_files(working, suffix, _cut(0, n_rows, n_per_file), read, progress)
    return [path / name for name in names]


@contextlib.contextmanager
def writing_whole(path: Path) -> Iterator[Path]:
    """Yield a free place next to ``path``, which gets that name in the end; removed on failure.

    Raises
    ------
    OutputError
        ``path`` holds something already, cannot be written, or is not UTF-8.
    """
    _refuse_taken(path)
    target = path.resolve()
    if not is_utf8(str(target)):  # which what writes the files needs
        raise OutputError(
            f"{show_name(str(target))}: its path is not UTF-8; rename the folder or file whose "
            "name is not"
        )
    try:
        with _working_place(target) as working:
            yield working
            _refuse_taken(path)
            working.rename(target)
    except OSError as error:
        # that of pyarrow's errors has the name of the unfinished file
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OutputError(f"cannot write {path}: {reason}; name a place that can be") from error


def _refuse_taken(path: Path) -> None:
    is_file_name = path.suffix.lower() in FILE_SUFFIXES
    try:
        is_taken = path.exists() and (is_file_name or not path.is_dir() or any(path.iterdir()))
        is_mount = path.is_mount()
    except OSError as error:
        raise OutputError(
            f"cannot look into {path}: {error.strerror}; name another place"
        ) from error
    if is_taken:
        raise OutputError(f"{path} exists already; remove it or name another place")
    if is_mount:
        raise OutputError(f"{path} is a mount point; name a folder inside it")


@contextlib.contextmanager
def _working_place(target: Path) -> Iterator[Path]:
    """Yield a free name next to ``target``, in an existing folder; remove both on failure."""
    working = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    created: list[Path] = []
    try:
        for folder in [folder for folder in target.parents if not folder.exists()][::-1]:
            with contextlib.suppress(FileExistsError):  # another run was faster
                folder.mkdir()
                created.append(folder)
        yield working
    except BaseException:
        _discard(working)
        with contextlib.suppress(OSError):  # it is no longer empty
            for folder in reversed(created):
                folder.rmdir()
        raise


def _discard(working: Path) -> None:
    with contextlib.suppress(OSError):
        if working.is_dir():
            shutil.rmtree(working)
        else:
            working.unlink()


def _write_files(
    working: Path,
    suffix: str,
    spans: Iterator[tuple[int, int]],
    read: Callable[[int, int], pa.Table],
    progress: Callable[[int], None] | None,
) -> list[str]:
    """Write each span of rows to a file; names of the files within ``working``, "" for itself."""
    if suffix in FILE_SUFFIXES:
        _write_span(working, suffix, *next(spans), read, progress)
        return [""]
    working.mkdir()
    names: list[str] = []
    for start, stop in spans:
        names.append(f"part-{len(names):05d}.parquet")
        _write_span(working / names[-1], ".parquet", start, stop, read, progress)
    return names


def _write_span(
    file: Path,
    suffix: str,
    first: int,
    last: int,
    read: Callable[[int, int], pa.Table],
    progress: Callable[[int], None] | None,
) -> None:
    with open_writer(file, suffix, SCHEMA, _REPETITIVE) as writer:
        for start, stop in _cut(first, last, ROW_GROUP_ROWS):
            writer.write_table(read(start, stop - start))
            if progress is not None:
                progress(stop)


def open_writer(
    file: Path, suffix: str, schema: pa.Schema, repetitive: list[str]
) -> pa_csv.CSVWriter | pq.ParquetWriter:
    """A writer of tables of a schema: CSV, or Parquet with dictionaries of repetitive columns."""
    if suffix == ".csv":
        plain = pa_csv.WriteOptions(quoting_style="none", quoting_header="none")
        return pa_csv.CSVWriter(file, schema, write_options=plain)
    return pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=repetitive)


def _cut(first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    """Spans (start, stop) of at most ``length`` rows that cover first .. last - 1 in order."""
    for start in range(first, last, length):
        yield start, min(start + length, last)
