"""Leftovers of stopped runs and prunes of a series: they have hashes of persons, as registers."""

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from tclose.data.places.removal import REMOVED
from tclose.errors import OutputError
from tclose.releases.repository.name_folders import list_folders
from tclose.releases.repository.repository import ReleaseRepository
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.open_run import SERIES_WINDOW


@contextlib.contextmanager
def acquire_beside(
    series: ReleaseRepository, name: str, expiry: float
) -> Iterator[ReleaseRepository]:
    """Hold a name's lease, too, beside that of the series.

    Raises
    ------
    BusyError
        A run works on that name.
    """
    if name == series.name:
        yield series
        return
    with ReleaseRepository(series.output, name, beside=series).acquire_lease(expiry) as held:
        yield held


def clear_stopped(series: ReleaseRepository, names: Collection[str], expiry: float) -> None:
    """Remove what runs and prunes of a series left that were stopped, whatever their names are.

    While the lease of a name is held no run of it is alive, and nothing that is left belongs to
    one. ``names``: those that have releases of the series. Working files of others stay if they
    are of another series, or none; what was being deleted, or about to appear, may not tell.

    Raises
    ------
    BusyError
        A run works on one of the names.
    OutputError
        Something cannot be deleted.
    """
    for name in _find_names(series):
        repository = ReleaseRepository(series.output, name).find_work()
        roots = _list_folder(repository.work)
        is_of = name in names or any(_is_of(root, series.name) for root in roots)
        if is_of or repository.store.has_leftovers():
            with acquire_beside(series, name, expiry) as held:
                held.clear_leftovers()
                if is_of:
                    _clear_work(replace(held, work_path=repository.work_path))


def clear_leftovers(series: ReleaseRepository, expiry: float) -> bool:
    """Remove what was being deleted, or about to appear, of all names; whether there was any.

    Raises
    ------
    BusyError
        A run works on such a name.
    OutputError
        Something cannot be deleted.
    """
    is_any = False
    for name in _find_names(series):
        if ReleaseRepository(series.output, name).store.has_leftovers():
            with acquire_beside(series, name, expiry) as held:
                held.clear_leftovers()
                held.leave_work()
            is_any = True
    return is_any


def _clear_work(held: ReleaseRepository) -> None:
    """Remove all working files of a name."""
    held.check_lease()
    held.clear_work()
    for root in _list_folder(held.work):
        raise OutputError(f"{root}: cannot be deleted; remove it by hand, then forget again")
    held.leave_work()


def _find_names(series: ReleaseRepository) -> list[str]:
    """The names that are in the output folder, or have working files on this machine."""
    names = {place.name for place in list_folders(series.output)}
    if not isinstance(series.output, Path):  # a run may have left nothing in the bucket itself
        usual = replace(series, work_path=None).work.parent
        names |= {place.name for place in _list_folder(usual)}
    return sorted(names)


def _list_folder(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_of(root: Path, series: str) -> bool:
    """Return whether working files are of a series; any may be that were being deleted."""
    if root.name.startswith(REMOVED):
        return True
    window = Workspace(root).find(SERIES_WINDOW)
    return window is not None and window.series == series
