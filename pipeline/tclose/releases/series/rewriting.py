"""Internal files of several releases of a series that are replaced together, also across a crash.

New contents are written to a private folder of the series first, and a list of them last: with it
they are decided. From then on whoever holds the claim of the series puts them into their places,
as often as it takes, and then removes the list. What is there without a list is of a rewriting that
was never decided, and is removed.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tclose.data.places.locations import INTERNAL
from tclose.data.places.untrusted_files import MalformedError, parse_json, read_bounded
from tclose.errors import OutputError
from tclose.releases.repository.contents import MANIFEST
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.signatures.seals import REGISTER_FILE, SEAL_FILE
from tclose.releases.stores.filesystem import ID

FOLDER = "rewriting"
LIST = f"{FOLDER}/list.json"
_REPLACED = (REGISTER_FILE, MANIFEST, SEAL_FILE)


@dataclass(frozen=True)
class Replaced:
    """A file of a release's internal part that is replaced.

    ``name``, ``release_id``: the release; ``file``: its file; ``sha256``: of the new content.
    """

    name: str
    release_id: str
    file: str
    sha256: str


def add_rewritten(series: ReleaseRepository, replaced: Sequence[Replaced], content: bytes) -> None:
    """Write the content of the last of some files; nothing is decided yet."""
    series.check_lease()
    series.store.write(f"{FOLDER}/{len(replaced) - 1}", content)


def decide_rewriting(series: ReleaseRepository, replaced: Sequence[Replaced]) -> None:
    """Write the list of the files: what they replace is gone from now on."""
    series.check_lease()
    series.store.write(LIST, json.dumps([asdict(one) for one in replaced]).encode())


def finish_rewriting(series: ReleaseRepository, own: ReleaseRepository, expiry: float) -> bool:
    """Put the files that were decided into their places; remove those that were not.

    True if any were decided.

    Parameters
    ----------
    series, own : repositories whose leases are held: the series', and that of a run
    expiry : seconds after which the lease of another name expires

    Raises
    ------
    BusyError
        Another run works on a name that has such a release.
    OutputError
        What was decided is damaged.
    """
    listed = series.store.read(LIST)
    if listed is not None:
        replaced = _parse(series, listed)
        for name in dict.fromkeys(one.name for one in replaced):
            numbered = [(i, one) for i, one in enumerate(replaced) if one.name == name]
            held = {series.name: series, own.name: own}.get(name)
            if held is not None:
                _put_files(series, held, numbered)
                continue
            other = ReleaseRepository(series.output, name, beside=series)
            with other.acquire_lease(expiry) as acquired:
                _put_files(series, acquired, numbered)
        series.check_lease()
        series.store.remove(LIST)
    for name in series.store.names(FOLDER):
        series.check_lease()
        series.store.remove(f"{FOLDER}/{name}")
    return listed is not None


def _put_files(
    series: ReleaseRepository, held: ReleaseRepository, numbered: Sequence[tuple[int, Replaced]]
) -> None:
    """Put the files of one name's releases; of one that was removed meanwhile none."""
    for index, one in numbered:
        if not (held.release(one.release_id) / MANIFEST).is_file():
            continue
        content = _read_content(series, index, one)
        held.replace_internal(one.release_id, f"{INTERNAL}/{one.file}", content)


def _read_content(series: ReleaseRepository, index: int, replaced: Replaced) -> bytes:
    place = series.store.private(f"{FOLDER}/{index}")
    try:
        content = read_bounded(place, place.stat().st_size)
    except (OSError, MalformedError):
        content = b""
    if hashlib.sha256(content).hexdigest() != replaced.sha256:
        raise _damaged(series)
    return content


def _parse(series: ReleaseRepository, listed: bytes) -> list[Replaced]:
    try:
        replaced = [Replaced(**one) for one in parse_json(listed)]
        is_known = all(
            ID.fullmatch(one.release_id) and one.file in _REPLACED and "/" not in one.name
            for one in replaced
        )
    except (TypeError, ValueError):
        raise _damaged(series) from None
    if not is_known:
        raise _damaged(series)
    return replaced


def _damaged(series: ReleaseRepository) -> OutputError:
    return OutputError(
        f"{series.store.private(FOLDER)}: has registers that somebody was forgotten in, and is "
        "damaged; put it back as it was"
    )
