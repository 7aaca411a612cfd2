"""Entries of a release's folders: regular files, and entries that others have added."""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tclose.data.places.locations import Location


@dataclass(frozen=True)
class Entries:
    """Paths of regular files, and of anything else with what it is."""

    files: frozenset[str]
    others: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> set[str]:
        """Paths at which there is anything."""
        return {*self.files, *(name for name, _ in self.others)}


def scan_folder(root: Location, expected: Collection[str], aside: Collection[str] = ()) -> Entries:
    """List the entries below a folder; links are not followed.

    Parameters
    ----------
    expected : paths of files; only data/ and folders that one of them is in are looked into
    aside : folders right below it that are not looked into

    Raises
    ------
    OSError
        A folder cannot be read.
    """
    if not isinstance(root, Path):
        return Entries(frozenset(path.relative_to(root).as_posix() for path in root.rglob()))
    above = {"data"} | {str(parent) for name in expected for parent in Path(name).parents}
    files: set[str] = set()
    others: list[tuple[str, str]] = []
    pending = ["."]
    while pending:
        inside = pending.pop()
        for entry in sorted(os.scandir(root / inside), key=lambda entry: entry.name):
            shown = os.fsencode(entry.name).decode(errors="backslashreplace")
            name = shown if inside == "." else f"{inside}/{shown}"
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode):
                files.add(name)
            elif stat.S_ISDIR(mode) and name in above:
                pending.append(name)
            elif not stat.S_ISDIR(mode) or name not in aside:
                others.append((name, _describe(mode)))
    return Entries(frozenset(files), tuple(sorted(others)))


def list_inside(folder: Location, expected: Collection[str]) -> Entries:
    """The same of the internal part of a release, which may be away."""
    if isinstance(folder, Path) and folder.is_symlink():
        return Entries(frozenset())  # a finding of the release itself
    return scan_folder(folder, expected)


def _describe(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_ISDIR(mode):
        return "is a folder without a file of the release"
    return "is not a regular file"
