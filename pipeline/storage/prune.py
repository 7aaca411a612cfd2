"""Removal of the oldest releases of a name.

A release leaves the shelf in one step and is deleted afterwards: there is never half a release on
the shelf, and what a crash leaves is cleared by the next run or the next prune.
"""

from dataclasses import dataclass

from pipeline.storage.journal import write_line
from pipeline.storage.register import current_id, list_entries
from pipeline.storage.releases import Shelf


@dataclass(frozen=True)
class Pruning:
    """What goes, oldest first, and what stays though it is old, each with the reason."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    spared: tuple[tuple[str, str], ...]


def plan_pruning(shelf: Shelf, keep: int) -> Pruning:
    """Choose what to remove: all but the ``keep`` newest, and never the current one.

    Nor one whose run has not ended, nor one that cannot be read: its age is not known.

    Raises
    ------
    OutputError
        Which release is current cannot be told.
    """
    entries = list_entries(shelf)
    if not entries:
        return Pruning((), (), ())
    current = current_id(shelf)
    readable = [entry.release_id for entry in entries if entry.is_readable]
    newest = readable[-keep:]
    removed, spared = [], []
    for entry in entries:
        name = entry.release_id
        if name in newest:
            continue
        reason = _reason_to_stay(shelf, name, current, is_readable=entry.is_readable)
        if reason is None:
            removed.append(name)
        else:
            spared.append((name, reason))
    return Pruning(tuple(removed), tuple(newest), tuple(spared))


def _reason_to_stay(shelf: Shelf, name: str, current: str, *, is_readable: bool) -> str | None:
    if name == current:
        return "it is the current one"
    if shelf.find_work().workspace(name).root.exists():
        return "its run has not ended; run its policy again"
    if not is_readable:
        return "its manifest cannot be read; remove it by hand, or run its policy again"
    return None


def prune(shelf: Shelf, keep: int) -> Pruning:
    """Remove the oldest releases, under the claim that a run takes.

    Raises
    ------
    BusyError
        A run is working here.
    OutputError
        Which release is current cannot be told, or one cannot be removed.
    """
    with shelf.claim() as held:
        held.clear_leftovers()
        chosen = plan_pruning(held, keep)
        if chosen.removed:
            write_line(held, "prune", {"removed": list(chosen.removed)})
            for name in chosen.removed:
                held.take_away(name)
        held.leave_work()
        return chosen
