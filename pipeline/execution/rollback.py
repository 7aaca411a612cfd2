"""Rollback: CURRENT moves to another release, once that release's files have passed an audit."""

from dataclasses import dataclass

from pipeline.errors import OutputError, UsageError, VerificationError
from pipeline.execution.audit import audit_release
from pipeline.storage.journal import list_withdrawn, write_line
from pipeline.storage.register import current_id, list_entries, pick_id
from pipeline.storage.releases import Shelf, read_internal, read_manifest


@dataclass(frozen=True)
class Move:
    """What a rollback did: CURRENT left one release for another.

    ``passed_over``: releases in between that an earlier rollback had left, the newest first.
    """

    left: str | None
    reached: str
    passed_over: tuple[str, ...]


def roll_back(shelf: Shelf, beginning: str | None = None) -> Move:
    """Make another release the current one, under the claim that a run takes.

    ``beginning``: of that release's id; by default it is the one published before the current one,
    past those that an earlier rollback has left.

    Raises
    ------
    BusyError
        A run is working here.
    OutputError, UsageError
        There is no such release, or it is the current one already.
    VerificationError
        Its files are damaged, or do not meet what their manifest says.
    """
    with shelf.claim() as held:
        left = shelf.current()
        if beginning is None:
            target, passed_over = _find_previous(shelf, current_id(shelf))
        else:
            target, passed_over = pick_id(shelf, beginning), ()
        if target == left:
            raise UsageError(f"{shelf.root}: {target} is the current release already")
        _check_files(shelf, target)
        write_line(held, "rollback", {"from": left, "to": target})
        held.set_current(target)
        return Move(left, target, passed_over)


def _find_previous(shelf: Shelf, current: str) -> tuple[str, tuple[str, ...]]:
    """The release before the current one, and those between that were left before."""
    names = [entry.release_id for entry in list_entries(shelf) if entry.is_readable]
    if current not in names:
        raise OutputError(f"{shelf.root}: the current release cannot be read; name another one")
    withdrawn = list_withdrawn(shelf)
    passed_over: list[str] = []
    for name in reversed(names[: names.index(current)]):
        if name not in withdrawn:
            return name, tuple(passed_over)
        passed_over.append(name)
    left = f" but {', '.join(passed_over)}, left by a rollback" if passed_over else ""
    raise OutputError(
        f"{shelf.root}: there is no release before {current}{left}; name the one to go to"
    )


def _check_files(shelf: Shelf, name: str) -> None:
    """Refuse a release that an audit refuses, or that lacks what its manifest is compared with."""
    release = shelf.release(name)
    findings = list(audit_release(release)["findings"])
    if read_internal(release) is None:
        findings.append("internal/manifest.json: is missing or damaged")
    manifest = read_manifest(release)
    if manifest is not None and manifest.get("release_id") != name:
        findings.append("manifest.json: is that of another release")
    if findings:
        lines = "\n".join(f"  {finding}" for finding in findings)
        raise VerificationError(
            f"release {name} does not pass the audit; CURRENT was not moved\n{lines}"
        )
