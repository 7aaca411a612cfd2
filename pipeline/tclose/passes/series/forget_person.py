"""A person is forgotten on request: the registers of a series no longer say whose her rows are.

Her rows were handed out and stay: cells are counted with them. The registers have her hash no more,
but in its place a number drawn at random, the same one in all of them, so that cells stay what they
are and whoever audits the series finds the same. By that number nobody can be found: no key makes
it. What the next releases are held to is then exact for all others, and for her that she left.

That has to be so: were she in a later release, she would be taken for a newcomer, while an intruder
knows where she was. So each register that had her keeps her hash in a list, beside no row, by which
her records are left out as long as the register is in the window. Later she may be released again;
then no window has both (`split_persons`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tclose.data.places.locations import internal_of
from tclose.data.places.untrusted_files import dump_json, parse_json, read_bounded
from tclose.errors import OutputError, PolicyError
from tclose.model.array_types import UInt64
from tclose.passes.compare.record_digests import hash_values
from tclose.passes.persons.named_key import check_register_key, find_person_key
from tclose.passes.series.series_cells import find_cells, number_hashes, place_release
from tclose.policy.policy import Policy
from tclose.releases.repository.contents import MANIFEST, read_content
from tclose.releases.repository.operations_log import write_line
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.register_file import ReleasedPersons, load_register, write_register
from tclose.releases.series.rewriting import (
    Replaced,
    add_rewritten,
    decide_rewriting,
    finish_rewriting,
)
from tclose.releases.series.series_history import SeriesRelease, list_series
from tclose.releases.signatures.seals import (
    REGISTER_FILE,
    SEAL_FILE,
    list_internal,
    seal_files,
    verify_signatures,
)
from tclose.releases.stores.lease import Notify
from tclose.runtime.run import repository_of
from tclose.runtime.stopped_runs import acquire_beside, clear_leftovers, clear_stopped

# Of a column of persons; negative numbers have other bits in narrow columns.
_TYPES = (pa.string(), pa.int64(), pa.uint64(), pa.int32(), pa.int16(), pa.int8())


class CellCounts(NamedTuple):
    """Who is in a person's cell in the releases that the next one is held to.

    ``n_others``: persons who have not left it, without her, the fewest of several cells; 0 if she
    has left it herself (``has_left``), or the releases do not have her. ``n_forgotten``: persons
    who were forgotten in these releases before, who may be among them, as nothing tells any more
    whose rows theirs are; ``n_beside_held``: records of the newest release in cells of which some
    are held, of ``n_newest``.
    """

    n_others: int = 0
    has_left: bool = False
    n_forgotten: int = 0
    n_beside_held: int = 0
    n_newest: int = 0


@dataclass(frozen=True)
class ForgottenPerson:
    """The result of forgetting a person.

    ``releases``: whose registers had her; ``n_held``: of these, those that the next release is held
    to; ``cell``: hers in these; ``finished``: before that, what an earlier command had decided that
    was stopped was done; ``already``: where no register has her, the releases in whose registers
    she was forgotten.
    """

    series: str
    releases: tuple[str, ...]
    n_held: int
    cell: CellCounts
    finished: bool
    already: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """As JSON has it, on one level."""
        fields = asdict(self)
        del fields["cell"]
        return fields | self.cell._asdict()


def forget_person(policy: Policy, value: str, notify: Notify) -> ForgottenPerson:
    """Forget a person in all registers of a policy's series, in one step.

    Parameters
    ----------
    value : of the column of role person; a number by its digits
    notify : is told what is waited for

    Raises
    ------
    PolicyError
        The policy is of no series, or its registers have no such person, nor forgot her, and no
        earlier command was finished, which may have been to forget her.
    OutputError
        A register or what it is sealed with is not as it was published.
    BusyError
        A run works on the series.
    """
    settings = policy.privacy.over_time
    if settings is None:
        raise PolicyError(
            "privacy.over_time: the policy has none, so there is no register in which to forget; "
            "name the policy of the series"
        )
    own = replace(repository_of(policy), name=policy.series_name)
    expiry = policy.engine.lease_seconds
    with own.acquire_lease(expiry, notify) as series:
        series.fence_beside(series, expiry, notify)
        finished = finish_rewriting(series, series, expiry)
        key = series.find_release_key()
        releases = list_series(series.output, series.name)
        if not releases:
            raise PolicyError(
                f"series {series.name!r}: there are no releases of it in {series.output}; name the "
                "policy of the series"
            )
        if key is None:
            raise OutputError(
                f"output {series.output}: the release key (.release-key) is missing, or cannot be "
                "read; put it back"
            )
        person_key = find_person_key(policy, key)
        assert person_key is not None
        hashes = hash_spellings(value, person_key)
        last_left = _find_last_left(releases, settings.window)
        held = [one for one in releases if one.entry.number > last_left]
        window = [load_register(one) for one in held]
        for persons in window:
            check_register_key(policy, series.name, persons.release, persons.key_id, person_key)
        cell = _count_cells(window, hashes)
        try:
            affected = _rewrite(series, releases, hashes, key, expiry)
        except Exception:  # what was written is not decided, and does not stay
            finish_rewriting(series, series, expiry)
            raise
        already = () if affected else _list_forgotten(releases, hashes)
        if not (affected or already or finished):
            raise _not_found(series, expiry)
        if not affected:
            _clear_stopped(series, releases, expiry)
        finish_rewriting(series, series, expiry)
        n_held = sum(one in held for one in affected)
        names = tuple(one.name for one in affected)
        return ForgottenPerson(series.name, names, n_held, cell, finished, already)


def _not_found(series: ReleaseRepository, expiry: float) -> PolicyError:
    """The error of a person in no register; one that a stopped prune took away may have had her."""
    is_changed = clear_leftovers(series, expiry)
    deleted = "what runs and prunes had left that were stopped is deleted, which may have had her"
    return PolicyError(
        f"series {series.name!r}: no register has that person, as text or as a number; "
        f"{deleted if is_changed else 'nothing was changed'}"
    )


def _list_forgotten(releases: Sequence[SeriesRelease], hashes: UInt64) -> tuple[str, ...]:
    """The names of the releases whose registers list one of a person's hashes as forgotten."""
    own = _list_hashes(hashes)
    return tuple(
        release.name
        for release in releases
        if not own.isdisjoint(_list_hashes(load_register(release).forgotten))
    )


def _list_hashes(rows: UInt64) -> set[bytes]:
    return {row.tobytes() for row in rows}


def _find_last_left(releases: Sequence[SeriesRelease], window: int) -> int:
    """The number of the newest release that the next one is not held to.

    By the window of the policy or that of the newest, whichever is longer: the next one may have
    either.
    """
    newest = releases[-1].entry
    return newest.number + 1 - max(newest.window, window)


def hash_spellings(value: str, key: bytes) -> UInt64:
    """The hashes that a person has in registers, by each type that a column may have: (n, 2)."""
    rows = []
    for dtype in _TYPES:
        try:
            array = pa.array([value], pa.string()).cast(dtype)
        except pa.ArrowInvalid:
            continue
        rows.append(hash_values(array, "person", key, as_values=False))
    return np.unique(np.concatenate(rows), axis=0)


def _count_cells(window: Sequence[ReleasedPersons], hashes: UInt64) -> CellCounts:
    """Count who is in a person's cell. Who is held has left it."""
    if not window:
        return CellCounts()
    n_persons, numbers = number_hashes([*(one.hashes for one in window), hashes])
    own = numbers.pop()
    placed = [
        place_release(one, of_one, n_persons) for one, of_one in zip(window, numbers, strict=True)
    ]
    own = own[np.isin(own, np.concatenate(numbers))]
    cells, newest = find_cells(placed, n_persons), placed[-1]
    stays = np.zeros(n_persons, dtype=np.int64)
    stays[newest.fresh] = 1
    own_stay = own[stays[own] > 0]
    stays[own] = 0
    others = np.bincount(cells, weights=stays)[cells[own_stay]]
    of_rows = cells[newest.rows]
    beside_held = np.isin(of_rows, of_rows[newest.stale > 0]) if newest.stale.any() else of_rows[:0]
    return CellCounts(
        int(others.min()) if own_stay.size else 0,
        bool(own.size) and not own_stay.size,
        len(set().union(*(_list_hashes(one.forgotten) for one in window))),
        int(beside_held.sum()),
        newest.rows.size,
    )


def _rewrite(
    series: ReleaseRepository,
    releases: Sequence[SeriesRelease],
    hashes: UInt64,
    key: bytes,
    expiry: float,
) -> list[SeriesRelease]:
    """Decide the new files of the releases that have the person; which these are."""
    drawn = np.frombuffer(secrets.token_bytes(hashes.nbytes), dtype=np.uint64).reshape(-1, 2)
    times = _count_times(releases, hashes)
    affected: list[SeriesRelease] = []
    replaced: list[Replaced] = []
    for release in releases:
        persons = _without(load_register(release), hashes, drawn, times + 1)
        if persons is None:
            continue
        affected.append(release)
        for file, content in _make_files(release, persons, hashes, key).items():
            digest = hashlib.sha256(content).hexdigest()
            place = release.place
            replaced.append(Replaced(place.parent.name, place.name, file, digest))
            add_rewritten(series, replaced, content)
    if affected:
        _clear_stopped(series, releases, expiry)  # before it is decided: a kill leaves none
        _write_journals(series, affected, expiry)
        decide_rewriting(series, replaced)
    return affected


def _clear_stopped(
    series: ReleaseRepository, releases: Sequence[SeriesRelease], expiry: float
) -> None:
    clear_stopped(series, {one.place.parent.name for one in releases}, expiry)


def _write_journals(
    series: ReleaseRepository, releases: Sequence[SeriesRelease], expiry: float
) -> None:
    """Say in the journal of each name whose registers will change: not of whom."""
    for name in dict.fromkeys(one.place.parent.name for one in releases):
        ids = [one.place.name for one in releases if one.place.parent.name == name]
        with acquire_beside(series, name, expiry) as held:
            write_line(held, "forget", {"releases": [*ids]})


def _count_times(releases: Sequence[SeriesRelease], hashes: UInt64) -> int:
    """Count how often a person was forgotten before: her hash is listed once for each time."""
    counts = [0]
    for release in releases:
        listed = load_register(release).forgotten
        counts += [int((listed == own).all(axis=1).sum()) for own in hashes]
    return max(counts)


def _without(
    persons: ReleasedPersons, hashes: UInt64, drawn: UInt64, times: int
) -> ReleasedPersons | None:
    """The register with drawn numbers in the place of a person's hashes; None without her.

    Parameters
    ----------
    times : how often she is forgotten with this time, and so how often her hash is listed: a
        number is drawn each time, and registers with different ones are not of one window
    """
    new, forgotten = persons.hashes.copy(), [persons.forgotten]
    for own, number in zip(hashes, drawn, strict=True):
        rows = (persons.hashes == own).all(axis=1)
        if rows.any():
            new[rows] = number
            forgotten.append(np.repeat(own[np.newaxis], times, axis=0))
    if len(forgotten) == 1:
        return None
    # in an order that does not tell who was forgotten first
    listed = np.concatenate(forgotten)
    listed = listed[np.lexsort((listed[:, 1], listed[:, 0]))]
    return replace(persons, hashes=new, forgotten=listed)


def _make_files(
    release: SeriesRelease, persons: ReleasedPersons, hashes: UInt64, key: bytes
) -> dict[str, bytes]:
    """The register, the internal manifest with its digest and without her sketch, and the seals."""
    if broken := verify_signatures(release.place, key):
        raise OutputError(
            f"release {release.name}: {broken[0]}; nothing was changed; put it back as it was"
        )
    internal = internal_of(release.place)
    register = write_register(persons)
    document = parse_json(read_bounded(internal / MANIFEST))
    document["over_time"]["register_sha256"] = hashlib.sha256(register).hexdigest()
    if document.get("person_sketch") is not None:
        words = {f"{word:016x}" for word in hashes[:, 0].tolist()}
        sketch = document["person_sketch"]["hashes"]
        left = [one for one in sketch if one not in words]
        document["person_sketch"] = document["person_sketch"] | {"hashes": left} if left else None
    manifest = dump_json(document)
    inside = {
        name: (internal / name).read_bytes()
        for name in list_internal(release.place)
        if name != MANIFEST
    }
    public = read_content(release.place)
    seals = seal_files(key, release.place.name, public, inside | {MANIFEST: manifest})
    return {REGISTER_FILE: register, MANIFEST: manifest, SEAL_FILE: seals}
