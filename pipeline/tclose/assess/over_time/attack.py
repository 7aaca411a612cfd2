"""The attack on several releases of the same persons: linking, intersection, subtraction.

The intruder has the public files, knows the quasi-identifiers of every person at each release, and
who is in which. He is measured twice: as one who knows the class of everybody in every release,
whom guarantees have to withstand, and as one who has to find it, by the released quasi-identifiers
that are nearest to a person's or cover them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.assess.over_time.attack_result import AttackResult, RefinementCheck
from tclose.assess.over_time.cells import Membership, place_persons
from tclose.assess.over_time.class_linkage import find_covering, link_nearest
from tclose.assess.over_time.intruder import Intruder, count_published
from tclose.assess.over_time.lasting_values import (
    choose_persistent,
    code_lasting,
    common_attributes,
    measure_persistence,
)
from tclose.assess.over_time.person_records import PersonRecords, read_person_records
from tclose.assess.over_time.published import Published, read_published
from tclose.assess.over_time.refinement_check import check_refinement
from tclose.assess.over_time.series_promise import SeriesPromise, find_promise, read_section
from tclose.data.keys import Encoding, is_text
from tclose.data.places.locations import Location
from tclose.errors import DataError, UsageError
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress

_UNTOLD = (
    "{place}: the policy and its input do not give its rows, so the class of each person is not "
    "known; name the policy, the input and the version that it was made with"
)
_UNREGISTERED = (
    "{place}: its register, the key and the originals do not give its rows, so the class of each "
    "person is not known: records are held in it, somebody was forgotten, or key or originals are "
    "others; `tclose audit --series` decides what a series holds"
)
_FOREIGN = "{place}: is no release of tclose, so the class of each person is not known"


def attack_releases(
    places: Sequence[Location],
    policies: Sequence[Policy],
    person: str | None,
    persistent: Sequence[str] | None,
    progress: Progress,
    *,
    k: int | None = None,
    t: Fraction | None = None,
) -> AttackResult:
    """Attack releases together, in the order of their time.

    Parameters
    ----------
    policies : of the originals of each release
    person : the column of the originals that says whom a record is about, or None for that of role
        person
    persistent : confidential columns whose values last, or None for those that are found to
    k, t : what the releases are held to together, or None for what a series promises, or else the
        policies ask

    Raises
    ------
    TcloseError
        Releases or originals that cannot be read, or are not of persons.
    """
    _check_call(len(places), len(policies), k)
    published, records = [], []
    with progress.following("reading releases and originals", len(places)) as step:
        for place, policy in zip(places, policies, strict=True):
            published.append(read_published(place, policy))
            records.append(read_person_records(policy, person, published[-1], progress))
            step()
    persons = _number_persons(records)
    tables = [one.confidential for one in published], [one.table for one in records]
    shares = measure_persistence(common_attributes(*tables), tables[1], persons.of_records)
    values = code_lasting(choose_persistent(shares, persistent), *tables)
    promise = find_promise(published)
    least = min(p.privacy.k for p in policies) if promise is None else promise.k
    intruder = Intruder(
        k=least if k is None else k,
        values=values,
        published=count_published(values, [one.class_of for one in published]),
        true_values=persons.last(values.records),
    )
    true = persons.find_classes(published)
    pairs = list(zip(published, records, persons.of_records, strict=True))
    with progress.following("comparing releases", (1 + bool(true)) * len(places)) as step:
        known = None if true is None else intruder.attack(true, true, step)
        linked = [_link(persons.n_persons, *pair) for pair in pairs]
        by_linking = intruder.attack(linked, true, step)
    return AttackResult(
        releases=tuple(one.place for one in published),
        persons=tuple(len(one.persons) for one in records),
        k=intruder.k,
        persists=shares,
        persistent=tuple(values.attributes),
        classes_known=known,
        by_linking=by_linking,
        refinement=None
        if true is None
        else _check((intruder.k, t, promise), true, persons, published, policies),
        notes=tuple(_describe_unknown(p) for p, r, _ in pairs if r.person_of_row is None),
    )


def _check_call(n_releases: int, n_policies: int, k: int | None) -> None:
    if n_releases != n_policies:
        raise UsageError(
            f"{n_releases} release{'' if n_releases == 1 else 's'} and {n_policies} --originals: "
            "give the policy of each release's originals, in the same order"
        )
    if k is not None and k < 1:
        raise UsageError(f"--k {k}: has to be at least 1")


def _check(
    asked: tuple[int, Fraction | None, SeriesPromise | None],
    true: Sequence[Membership],
    persons: "_Persons",
    published: Sequence[Published],
    policies: Sequence[Policy],
) -> RefinementCheck:
    """Hold the common refinement to the k and t that are asked, or promised."""
    confidential = [
        [a for a in policy.resolve_attributes() if a.role is Role.CONFIDENTIAL]
        for policy in policies
    ]
    rows = [
        (one.confidential, of_rows)
        for one, of_rows in zip(published, persons.of_rows, strict=True)
        if of_rows is not None
    ]
    return check_refinement(true, rows, confidential, *asked)


@dataclass(frozen=True, eq=False)
class _Persons:
    """Persons as numbers: those of each release's originals, and of its rows if they are known."""

    n_persons: int
    of_records: tuple[Int64, ...]
    of_rows: tuple[Int64 | None, ...]

    def last(self, codes: Sequence[Int64]) -> Int64:
        """A code of each person, as of the last release that she is in."""
        last_codes = np.zeros(self.n_persons, dtype=np.int64)
        for persons, of_release in zip(self.of_records, codes, strict=True):
            last_codes[persons] = of_release
        return last_codes

    def find_classes(self, published: Sequence[Published]) -> list[Membership] | None:
        """The class of each person in each release, or None where some are not known."""
        memberships = []
        for rows, one in zip(self.of_rows, published, strict=True):
            if rows is None:
                return None
            offsets = np.arange(rows.size + 1)
            memberships.append(place_persons(self.n_persons, rows, offsets, one.class_of))
        return memberships


def _number_persons(records: Sequence[PersonRecords]) -> _Persons:
    """Number the persons of all releases."""
    sizes = [len(one.persons) for one in records]
    listed = pa.concat_arrays([one.persons for one in records]).dictionary_encode()
    codes = listed.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    of_records = np.split(codes, np.cumsum(sizes)[:-1])
    rows = [
        None if one.person_of_row is None else _look_up(one.person_of_row, listed.dictionary)
        for one in records
    ]
    return _Persons(len(listed.dictionary), tuple(of_records), tuple(rows))


def _look_up(persons: pa.Array, known: pa.Array) -> Int64:
    places: Int64 = pc.index_in(persons, value_set=known).to_numpy(zero_copy_only=False)
    return places.astype(np.int64)


def _link(
    n_persons: int, published: Published, records: PersonRecords, persons: Int64
) -> Membership:
    """The classes that an intruder considers who has quasi-identifiers alone.

    Raises
    ------
    DataError
        Generalised values that cannot be read.
    """
    encodings = [e for e in records.encodings if e.column.name in published.quasi.column_names]
    if any(_is_generalised(encoding, published) for encoding in encodings):
        generalised = [replace(encoding, generalised=True) for encoding in encodings]
        names = [encoding.column.name for encoding in encodings]
        texts = pa.table({n: published.quasi[n].cast(pa.string()) for n in names})
        is_foreign = published.manifest is None
        try:
            offsets, classes = find_covering(
                records.table, texts, generalised, is_foreign=is_foreign
            )
        except DataError as error:
            raise DataError(f"{published.place}: {error}") from None
        counts = np.diff(offsets)
        covered = counts > 0  # a record that no class covers was left out of the table
        ends = np.concatenate(([0], np.cumsum(counts[covered])))
        return place_persons(n_persons, persons[covered], ends, classes)
    nearest = link_nearest(records.table, published.quasi, encodings)
    return place_persons(n_persons, persons, np.arange(persons.size + 1), nearest)


def _is_generalised(encoding: Encoding, published: Published) -> bool:
    """Return whether classes are released as intervals, sets or nodes of a taxonomy."""
    name = encoding.column.name
    if published.manifest is not None:
        return any(c.name == name and c.generalised for c in published.manifest.columns)
    released = published.quasi[name]
    if not is_text(released.type):
        return False
    if encoding.categories is None or not is_text(encoding.type):
        return True
    return bool(pc.index_in(released, value_set=encoding.categories).null_count)


def _describe_unknown(published: Published) -> str:
    if published.manifest is None:
        return _FOREIGN.format(place=published.place)
    told = _UNTOLD if read_section(published) is None else _UNREGISTERED
    return told.format(place=published.place)
