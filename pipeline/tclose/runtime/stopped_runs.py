"""Working files of stopped runs of a series: they have hashes of persons, as registers do."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tclose.releases.repository.repository import ReleaseRepository, is_intact
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


def clear_stopped_runs(series: ReleaseRepository, expiry: float) -> None:
    """Remove what runs of a series left that were stopped, whatever their names are.

    One that was stopped between its two last steps is finished: nothing tells of that afterwards.

    Raises
    ------
    BusyError
        A run works on one of the names.
    """
    for name in _find_names(series):
        repository = ReleaseRepository(series.output, name).find_work()
        roots = [root for root in _list_folder(repository.work) if _is_of(root, series.name)]
        if not roots:
            continue
        with acquire_beside(series, name, expiry) as held:
            held.check_lease()
            for root in roots:
                if is_intact(held.release(root.name)):
                    held.set_current(root.name)
            stopped = replace(held, work_path=repository.work_path)
            stopped.clear_work()
            stopped.leave_work()


def _find_names(series: ReleaseRepository) -> list[str]:
    """The names that are in the output folder, or have working files on this machine."""
    names = {place.name for place in series.output.iterdir() if place.is_dir()}
    if not isinstance(series.output, Path):  # a run may have left nothing in the bucket itself
        usual = replace(series, work_path=None).work.parent
        names |= {place.name for place in _list_folder(usual)}
    return sorted(names)


def _list_folder(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_of(root: Path, series: str) -> bool:
    window = Workspace(root).find(SERIES_WINDOW)
    return window is not None and window.series == series
