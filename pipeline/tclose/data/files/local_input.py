"""Input on this machine's file systems: every file that is meant, once, and files only.

A file that cannot be read must not be skipped silently, as the release would lack its records; a
file under two names would be released twice; and a pipe has its content once, or never.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tclose.data.places.locations import is_utf8, show_name
from tclose.errors import DataError

_SUFFIXES = (".csv", ".parquet", ".pq")
# A Parquet file may be named by how it is compressed inside, and is read.
_PACKED = (".gz", ".gzip", ".bz2", ".xz", ".zst", ".zip", ".lz4", ".snappy")
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_data(name: str) -> bool:
    """Return whether a file of a folder is input; a compressed one is, so that it is refused."""
    name = name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES)


def name_suffixes() -> str:
    """Return how names of data files end, in words."""
    return f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"


def is_hidden(name: str) -> bool:
    """Return whether a path has a part that marks it as no input."""
    return any(part.startswith((".", "_")) for part in name.split("/"))


def list_folder(folder: str) -> list[str]:
    """Paths of the data files in a folder and those below it.

    Raises
    ------
    DataError
        A link leads back, or nowhere; something is not a regular file.
    OSError
        A folder cannot be read.
    """
    files = list(_walk(folder, frozenset()))
    check_local_files(files)
    return files


def _walk(folder: str, above: frozenset[tuple[int, int]]) -> Iterator[str]:
    identity = _identify(folder)
    if identity in above:
        raise DataError(
            f"input {folder}: is a link to a folder that it is in, and so has no end; remove it"
        )
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if is_hidden(entry.name):
            continue
        if entry.is_dir():
            yield from _walk(entry.path, above | {identity})
        elif is_data(entry.name):
            yield entry.path


def check_local_files(paths: list[str]) -> None:
    """Refuse entries that are not regular files, and one file under two names.

    Raises
    ------
    DataError, OSError
    """
    path_by_identity: dict[tuple[int, int], str] = {}
    for path in paths:
        check_regular(path)
        other = path_by_identity.setdefault(_identify(path), path)
        if other != path:
            raise DataError(
                f"input {path}: is the same file as {other}, so its records would be read twice; "
                "remove the link, or name the files"
            )


def check_name(path: str) -> None:
    """Refuse a path that is no text: releases and their lineage name files, in UTF-8.

    Raises
    ------
    DataError
    """
    if not is_utf8(path):
        raise DataError(
            f"input {show_name(path)}: its path is not UTF-8; rename the folder or file whose name "
            "is not"
        )


def check_regular(path: str) -> None:
    """Refuse pipes, sockets, devices, links that lead nowhere, and paths that are no text."""
    check_name(path)
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        raise DataError(f"input {path}: is a link to nothing; correct or remove it") from None
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise DataError(
                f"input {path}: is {name}, and files are read several times; write it to a file, "
                "and name that"
            )


def _identify(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino
