"""Rollback: CURRENT moves to another release, once that release's files have passed an audit."""

from dataclasses import dataclass

from tclose.assess.auditing.audit import audit_release
from tclose.errors import OutputError, UsageError, VerificationError
from tclose.releases.catalog.catalog import current_id, list_releases, pick_id
from tclose.releases.repository.operations_log import list_withdrawn, write_line
from tclose.releases.repository.repository import ReleaseRepository, read_internal


@dataclass(frozen=True)
class Move:
    """A rollback's result: CURRENT moved from one release to another.

    ``skipped``: releases in between that an earlier rollback had left, the newest first.
    """

    previous: str | None
    current: str
    skipped: tuple[str, ...]


def roll_back(repository: ReleaseRepository, id_prefix: str | None = None) -> Move:
    """Make another release the current one, under the lease that a run takes.

    ``id_prefix``: beginning of that release's id; by default it is the one published before the
    current one, past those that an earlier rollback has left.

    Raises
    ------
    BusyError
        A run is working here.
    OutputError, UsageError
        There is no such release, or it is the current one already.
    VerificationError
        Its files are damaged, or do not meet what their manifest says.
    """
    with repository.acquire_lease() as held:
        previous = repository.current()
        if id_prefix is None:
            target, skipped = _find_previous(repository, current_id(repository))
        else:
            target, skipped = pick_id(repository, id_prefix), ()
        if target == previous:
            raise UsageError(f"{repository.root}: {target} is the current release already")
        _check_files(repository, target)
        write_line(held, "rollback", {"from": previous, "to": target})
        held.set_current(target)
        return Move(previous, target, skipped)


def _find_previous(repository: ReleaseRepository, current: str) -> tuple[str, tuple[str, ...]]:
    """The release before the current one, and those between that were left before."""
    names = [entry.release_id for entry in list_releases(repository) if entry.is_readable]
    if current not in names:
        raise OutputError(
            f"{repository.root}: the current release cannot be read; name another one"
        )
    withdrawn = list_withdrawn(repository)
    skipped: list[str] = []
    for name in reversed(names[: names.index(current)]):
        if name not in withdrawn:
            return name, tuple(skipped)
        skipped.append(name)
    previous = f" but {', '.join(skipped)}, left by a rollback" if skipped else ""
    raise OutputError(
        f"{repository.root}: there is no release before {current}{previous}; name the one to go to"
    )


def _check_files(repository: ReleaseRepository, name: str) -> None:
    """Refuse a release that an audit refuses, or that lacks what its manifest is compared with."""
    release = repository.release(name)
    findings = audit_release(release).findings.copy()
    if read_internal(release) is None:
        findings.append("internal/manifest.json: is missing or damaged")
    if findings:
        lines = "\n".join(f"  {finding}" for finding in findings)
        raise VerificationError(
            f"release {name} does not pass the audit; CURRENT was not moved\n{lines}"
        )
