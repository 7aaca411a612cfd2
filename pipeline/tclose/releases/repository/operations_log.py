"""The journal of a name: who moved CURRENT back or removed releases, and when.

One JSON document a line; lines are only ever added, by whoever holds the lease. A line is on disk
before what it tells of is done: after a crash it may tell of what was not, never the other way.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from tclose.data.places.untrusted_files import parse_json
from tclose.errors import ForbiddenError, OutputError
from tclose.package import VERSION
from tclose.releases.provenance import who
from tclose.releases.repository.repository import ReleaseRepository

FILE = "journal.jsonl"
PRUNE = "prune"  # the action that removes releases
LogLine = dict[str, JsonValue]


def write_line(
    repository: ReleaseRepository, action: str, details: Mapping[str, JsonValue]
) -> None:
    """Add what is about to be done, by whom and when.

    Raises
    ------
    OutputError
        The journal cannot be written.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    line = {"at": at, "action": action} | dict(details) | who() | {"tclose": VERSION}
    try:
        repository.store.append(FILE, json.dumps(line, ensure_ascii=False).encode())
    except OSError as error:
        raise OutputError(
            f"{repository.store.private(FILE)}: cannot be written ({error.strerror}); nothing "
            "was done"
        ) from None


def read_lines(repository: ReleaseRepository) -> list[LogLine]:
    """The journal's lines, the oldest first; none where there is no journal that can be read."""
    try:
        lines = (repository.store.read(FILE) or b"").splitlines()
    except (OSError, ForbiddenError):
        return []
    entries = [_parse(line) for line in lines]
    return [line for line in entries if line is not None]


def _parse(line: bytes) -> LogLine | None:
    try:
        entry = parse_json(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and "action" in entry else None


def list_withdrawn(repository: ReleaseRepository) -> set[str]:
    """Releases that CURRENT was moved away from, and not moved to again."""
    withdrawn: set[str] = set()
    for line in read_lines(repository):
        if line["action"] == "rollback":
            withdrawn.add(str(line.get("from")))
            withdrawn.discard(str(line.get("to")))
    return withdrawn


def find_removal(repository: ReleaseRepository, id_prefix: str) -> str | None:
    """The moment at which a release whose id begins so was removed; None if none was."""
    for line in reversed(read_lines(repository)):
        removed = line.get("removed")
        if line["action"] != PRUNE or not isinstance(removed, list):
            continue
        if any(str(release_id).startswith(id_prefix) for release_id in removed):
            return str(line.get("at"))
    return None
