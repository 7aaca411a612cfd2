"""Whose loss it is in a held series.

The register of a release says whose its rows are. The parts of a month add up to its loss, in times
an independent release's.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.passes.compare.keyed_hashes import derive_key
from tclose.passes.compare.record_digests import hash_values
from tclose.passes.persons.named_key import PERSON_PURPOSE
from tclose.releases.repository.contents import find_key
from tclose.releases.series.register_file import read_register
from tclose.releases.signatures.seals import REGISTER_FILE

NUMBERS = ("age", "zip", "member_since")
NAMES = ("sex", "insurer", "tariff")
N_QUASI = len(NUMBERS) + len(NAMES)
PERSON = "person_id"
PARTS = ("stay as they were", "moved or changed", "newcomers", "in unions")


def add_earlier(table: pa.Table, known: pa.Table | None) -> pa.Table:
    """A month's records, and of persons who are not there the last that are known."""
    if known is None:
        return table
    is_there = pc.is_in(known[PERSON], value_set=table[PERSON].combine_chunks())
    return pa.concat_tables([table, known.filter(pc.invert(is_there))])


def name_persons(release: Path, persons: list[str]) -> list[str]:
    """Whose each row of a release is, by its register."""
    secret = find_key(release)
    assert secret is not None
    texts = pa.array(persons)
    hashes = hash_values(texts, PERSON, derive_key(secret, PERSON_PURPOSE), as_values=False)
    of_hash = {row.tobytes(): person for row, person in zip(hashes, persons, strict=True)}
    register = read_register((release / "internal" / REGISTER_FILE).read_bytes())
    return [of_hash[row.tobytes()] for row in register.hashes]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release: whose each is, its class and its loss, (n,) each."""

    persons: list[str]
    classes: np.ndarray
    losses: np.ndarray
    originals: pa.Table


def read_rows(release: Path, table: pa.Table) -> Rows:
    """The rows of a release beside their originals, or the last that are known of who left."""
    released = pa.concat_tables(pq.read_table(part) for part in sorted(release.glob("**/*.parquet"))
                                if "internal" not in part.parts)  # fmt: skip
    place = {person: i for i, person in enumerate(table[PERSON].to_pylist())}
    persons = name_persons(release, list(place))
    originals = table.take(pa.array([place[person] for person in persons]))
    losses = np.zeros(len(persons))
    keys = []
    for name in (*NUMBERS, *NAMES):
        then, now = (np.array(one[name].to_pylist()) for one in (originals, released))
        if name in NUMBERS:
            losses += ((then - now) / (int(then.max()) - int(then.min()))) ** 2
        else:
            losses += then != now
        keys.append(np.unique(now, return_inverse=True)[1])
    classes = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1)
    return Rows(persons, classes, losses / N_QUASI, originals)


@dataclass(frozen=True)
class Shares:
    """A month's parts, in times an independent release's loss.

    ``persons``: shares of the persons of each part; ``back``: records left out of persons who had
    been away.
    """

    persons: tuple[float, ...]
    parts: tuple[float, ...]
    back: int


@dataclass
class Followed:
    """Persons over the months so far: month and names at their first release, classes, absences."""

    first: dict[str, tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    cells: dict[str, tuple[int, ...]] = field(default_factory=dict)
    there: list[set[str]] = field(default_factory=list)

    def follow(self, month: int, rows: Rows, table: pa.Table) -> tuple[np.ndarray, int]:
        """Sort the rows of a month into parts.

        Returns
        -------
        part of each row int8 (n,), records left out of persons who had been away
        """
        names = list(zip(*(rows.originals[name].to_pylist() for name in NAMES), strict=True))
        zips = rows.originals["zip"].to_pylist()
        read = set(table[PERSON].to_pylist())
        units: dict[int, set[tuple[int, ...]]] = {}
        for person, of in zip(rows.persons, rows.classes.tolist(), strict=True):
            units.setdefault(of, set()).add(self.cells.get(person, ()))
        part = np.zeros(len(names), dtype=np.int8)
        for i, person in enumerate(rows.persons):
            since, before = self.first.setdefault(person, (month, (*names[i], zips[i])))
            if before != (*names[i], zips[i]):
                part[i] = 1
            elif since:
                part[i] = 2
            elif len(units[int(rows.classes[i])]) > 1:
                part[i] = 3
        left_out = read - set(rows.persons)
        back = sum(self._was_away(person) for person in left_out)
        self.there.append(read)
        for person in self.cells.keys() | set(rows.persons):
            self.cells.setdefault(person, (-1,) * month)
        now = dict(zip(rows.persons, rows.classes.tolist(), strict=True))
        self.cells = {person: (*of, now.get(person, -1)) for person, of in self.cells.items()}
        return part, back

    def _was_away(self, person: str) -> bool:
        """Return whether a person was released, and was missing in some month since."""
        if person not in self.first:
            return False
        return any(person not in read for read in self.there[self.first[person][0] :])


def share_parts(
    rows: Rows, part: np.ndarray, independent: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares of the persons and of the loss of each part."""
    total = len(rows.persons)
    of_parts = [part == p for p in range(len(PARTS))]
    return (
        tuple(float(is_of.sum()) / total for is_of in of_parts),
        tuple(float(rows.losses[is_of].sum()) / total / independent for is_of in of_parts),
    )


def render_parts(months: list[Shares]) -> str:
    """The parts by month, as a table."""
    head = " | ".join(f"{name}: persons | their loss" for name in PARTS)
    rows = [
        f"| {number} | "
        + " | ".join(f"{n:.1%} | {loss:.2f}" for n, loss in zip(m.persons, m.parts, strict=True))
        + f" | {sum(m.parts):.2f} | {m.back:,} |"
        for number, m in enumerate(months, 1)
    ]
    head = f"| month | {head} | sum | had been away |"
    return "\n".join([head, "|---|" + "---:|" * (len(PARTS) * 2 + 2), *rows])
