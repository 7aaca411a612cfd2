"""Removal of the oldest releases of a name.

A release leaves the repository in one step and is deleted afterwards: there is never half of one on
the repository, and what a crash leaves is cleared by the next run or the next prune.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tclose.data.places.locations import Location
from tclose.releases.catalog.catalog import current_id, find_repositories, list_releases
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.repository.operations_log import PRUNE, find_removal, write_line
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.series_history import find_held


@dataclass(frozen=True)
class Pruning:
    """Releases to remove, oldest first, and those skipped though they are old, with reasons."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def plan_pruning(repository: ReleaseRepository, keep: int) -> Pruning:
    """Choose what to remove: all but the ``keep`` newest, and never the current one.

    Nor one whose run has not ended, nor one that cannot be read: its age is not known; nor one
    that the next release of its series is held together with.

    Raises
    ------
    OutputError
        Which release is current cannot be told.
    """
    entries = list_releases(repository)
    if not entries:
        return Pruning((), (), ())
    current = current_id(repository)
    readable = [entry.release_id for entry in entries if entry.is_readable]
    newest = readable[max(len(readable) - keep, 0) :]
    held = find_held(repository)
    removed, skipped = [], []
    for entry in entries:
        name = entry.release_id
        if name in newest:
            continue
        reason = _reason_to_stay(repository, name, current, held, is_readable=entry.is_readable)
        if reason is None:
            removed.append(name)
        else:
            skipped.append((name, reason))
    return Pruning(tuple(removed), tuple(newest), tuple(skipped))


def _reason_to_stay(
    repository: ReleaseRepository,
    name: str,
    current: str,
    held: Mapping[str, str],
    *,
    is_readable: bool,
) -> str | None:
    if name == current:
        return "it is the current one"
    if repository.find_work().work_folder(name).exists():
        return "its run has not ended; run its policy again"
    if name in held:
        return f"later releases of series {held[name]!r} are held to its register"
    if not is_readable:
        return "its manifest cannot be read; remove it by hand, or run its policy again"
    return None


def find_pruning(output: Location, release: str, number: int, newest: SeriesEntry) -> str | None:
    """The moment at which a release of a series was removed by the rules; None if it was not.

    The journal alone could say anything: a release that others are still held to is not removed.

    Parameters
    ----------
    release : its name and id
    number : in its series
    newest : the newest release of the series
    """
    name, _, release_id = release.rpartition("/")
    if not release_id or number > newest.number - newest.window:
        return None
    repositories = (one for one in find_repositories(output) if one.name == name)
    removals = (find_removal(repository, release_id) for repository in repositories)
    return next((at for at in removals if at is not None), None)


def prune(repository: ReleaseRepository, keep: int) -> Pruning:
    """Remove the oldest releases, under the lease that a run takes.

    Raises
    ------
    BusyError
        A run is working here.
    OutputError
        Which release is current cannot be told, or one cannot be removed.
    """
    with repository.acquire_lease() as held:
        held.clear_leftovers()
        chosen = plan_pruning(held, keep)
        if chosen.removed:
            write_line(held, PRUNE, {"removed": list(chosen.removed)})
            for name in chosen.removed:
                held.delete_release(name)
        held.leave_work()
        return chosen
