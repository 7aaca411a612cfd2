"""Seals: with the release key, what shows that no manifest or internal file was changed.

A digest beside a file tells of an accident; whoever edits the file can write the digest anew. A
seal needs the key, which only the user who releases can read. Who was handed a release has neither
key nor seals, and audits it by its rows.
"""

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping

from pydantic import Field

from tclose.data.places.locations import Location, internal_of
from tclose.data.places.untrusted_files import MalformedError, parse_json, read_bounded
from tclose.errors import ForbiddenError
from tclose.releases.manifest.public_manifest import parse_as
from tclose.releases.manifest.sections import Section

SEAL_FILE = "seal.json"
REGISTER_FILE = "register.parquet"  # of a series: its digest is in the internal manifest
_MOST_BYTES = 1 << 30  # of a plan with very many partitions
PUBLIC, INSIDE = "manifest.json", ("manifest.json", "plan.json", "lineage.jsonl")
REPORT = "report.html"
_OTHER_KEY = ", or the release key (.release-key) is not the one that it was sealed with"


class _Inside(Section):
    """The key of an internal manifest that lists the documents beside it."""

    inside: list[str] = Field(default_factory=list)


def list_internal(release: Location) -> tuple[str, ...]:
    """The files that a release has inside besides its seals: earlier versions made no report.

    The internal manifest, which is sealed itself, says if there is one; without it there may be.
    """
    try:
        written = parse_as(_Inside, read_bounded(internal_of(release) / INSIDE[0]))
    except (OSError, MalformedError, ForbiddenError):
        return (*INSIDE, REPORT)
    return (*INSIDE, REPORT) if REPORT in written.inside else INSIDE


def seal_files(key: bytes, release_id: str, public: bytes, inside: Mapping[str, bytes]) -> bytes:
    """The seal file of a release: a keyed digest of its public manifest and each internal file."""
    named = {PUBLIC: public} | {f"internal/{name}": content for name, content in inside.items()}
    seals = {name: _seal(key, release_id, name, content) for name, content in named.items()}
    return _dump(seals)


def _dump(seals: Mapping[str, str]) -> bytes:
    """The one form in which seals are written."""
    return (json.dumps(seals, indent=2) + "\n").encode()


def _seal(key: bytes, release_id: str, name: str, content: bytes) -> str:
    """Bound to release and name, so that no file can stand in for another one."""
    message = f"{release_id}\n{name}\n".encode() + content
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def verify_signatures(
    release: Location, key: bytes, names: Collection[str] | None = None
) -> list[str]:
    """List the sealed files, or those of these names, that are not as published."""
    internal = internal_of(release)
    inside = list_internal(release)
    try:
        written = read_bounded(internal / SEAL_FILE)
        seals = parse_json(written)
    except FileNotFoundError:
        return [f"internal/{SEAL_FILE}: is missing"]
    except (OSError, MalformedError, ForbiddenError):
        return [f"internal/{SEAL_FILE}: is damaged"]
    places = {PUBLIC: release / PUBLIC} | {f"internal/{n}": internal / n for n in inside}
    if not isinstance(seals, dict) or seals.keys() != places.keys() or _dump(seals) != written:
        return [f"internal/{SEAL_FILE}: is damaged"]
    changed, broken = [], []
    for name in places if names is None else names:
        place = places[name]
        try:
            content = read_bounded(place, _MOST_BYTES)
        except (OSError, MalformedError, ForbiddenError):
            broken.append(f"{name}: is missing")
            continue
        if not hmac.compare_digest(_seal(key, release.name, name, content), str(seals[name])):
            changed.append(name)
    # of all at once the key is the likelier cause
    cause = _OTHER_KEY if len(changed) == len(places) else ""
    return broken + [f"{name}: its content has changed{cause}" for name in changed]
