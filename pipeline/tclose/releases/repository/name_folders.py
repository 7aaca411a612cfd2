"""The folders of names in an output folder, and those that are closed to this user."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tclose.data.places.locations import Location, show_name
from tclose.errors import OutputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of releases, as a policy may have it


def list_folders(output: Location) -> list[Location]:
    """The folders in an output folder, by name.

    Left out are those that are closed to this user and have no name of releases, as the folder
    lost+found has that is on a disk of its own.

    Raises
    ------
    OutputError
        The output folder cannot be read.
    """
    with reading_place(output):
        folders = sorted((path for path in output.iterdir() if path.is_dir()), key=str)
    return [path for path in folders if _NAME.fullmatch(path.name) or not is_closed(path)]


def list_broken_links(output: Location) -> list[Path]:
    """Links in an output folder to what is not there, as of a disk that was taken off it.

    Raises
    ------
    OutputError
        The output folder cannot be read.
    """
    if not isinstance(output, Path) or not output.is_dir():
        return []
    with reading_place(output):
        links = sorted(path for path in output.iterdir() if path.is_symlink())
    return [path for path in links if _NAME.fullmatch(path.name) and not path.exists()]


def is_closed(folder: Location) -> bool:
    """Return whether this user may not look into a folder."""
    return isinstance(folder, Path) and not os.access(folder, os.R_OK | os.X_OK)


@contextlib.contextmanager
def reading_place(place: Location) -> Iterator[None]:
    """Name a place that cannot be read.

    Raises
    ------
    OutputError
    """
    try:
        yield
    except (PermissionError, NotADirectoryError) as error:
        raise OutputError(
            f"{show_name(str(place))}: cannot be read ({error.strerror}); give this user read "
            "permission, or name another"
        ) from None
