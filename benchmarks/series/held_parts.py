"""Whose loss it is in a held series, and what no series that is held the same way can lose less.

The register of a release says whose its rows are. The parts of a month add up to its loss, in times
an independent release's.

The bound has three terms. Cells of the first month need as many persons as leave k' over the window
(`choose_size`), so whoever was there then loses no less than in an independent release with classes
of that size, which have become as small as they do. Newcomers of a month are together with k' - 1
others of that month at least, so they lose no less than in any partition of them alone into classes
of k' (`loss_bound`). Who has another sex, tariff or insurer than at first is released with that of
the k' - 1 others of her cell, or these with hers. The second is proved. The first is what the
search reaches; the third holds where the others have one value, and she had it too.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.loss.loss_bound import bound_by_pairs, measure_distances
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
    """A month's parts, in times an independent release's loss, and the bound, by its three terms.

    ``persons``: shares of the persons of each part; ``back``: records left out of persons who had
    been away.
    """

    persons: tuple[float, ...]
    parts: tuple[float, ...]
    bound: tuple[float, ...]
    back: int


@dataclass
class Followed:
    """Persons over the months so far: month and names at their first release, classes, absences."""

    first: dict[str, tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    cells: dict[str, tuple[int, ...]] = field(default_factory=dict)
    there: list[set[str]] = field(default_factory=list)

    def follow(self, month: int, rows: Rows, table: pa.Table) -> tuple[np.ndarray, np.ndarray, int]:
        """Sort the rows of a month into parts.

        Returns
        -------
        part of each row int8 (n,), whether its names are others bool (n,), records left out of
        persons who had been away
        """
        names = list(zip(*(rows.originals[name].to_pylist() for name in NAMES), strict=True))
        zips = rows.originals["zip"].to_pylist()
        read = set(table[PERSON].to_pylist())
        units: dict[int, set[tuple[int, ...]]] = {}
        for person, of in zip(rows.persons, rows.classes.tolist(), strict=True):
            units.setdefault(of, set()).add(self.cells.get(person, ()))
        part = np.zeros(len(names), dtype=np.int8)
        is_other = np.zeros(len(names), dtype=bool)
        for i, person in enumerate(rows.persons):
            since, before = self.first.setdefault(person, (month, (*names[i], zips[i])))
            is_other[i] = before[:-1] != names[i]
            if is_other[i] or before[-1] != zips[i]:
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
        return part, is_other, back

    def _was_away(self, person: str) -> bool:
        """Return whether a person was released, and was missing in some month since."""
        if person not in self.first:
            return False
        return any(person not in read for read in self.there[self.first[person][0] :])


def bound_newcomers(originals: pa.Table, is_new: np.ndarray, k: int) -> float:
    """A bound on the mean loss of the newcomers of a month, in classes of k of them or more.

    A class loses no fewer records off the mode than half of the records' mean distance to one
    another, so each value of a column of names is a coordinate, by the root of a half.
    """
    values = []
    for name in NUMBERS:
        numbers = originals[name].to_numpy().astype(np.float64)
        values.append(numbers[is_new] / (numbers.max() - numbers.min()))
    for name in NAMES:
        texts = np.array(originals[name].to_pylist())[is_new]
        values += [(texts == text) * np.sqrt(0.5) for text in np.unique(texts)]
    distances = measure_distances(np.array(values))
    return bound_by_pairs(distances, k) / int(is_new.sum()) / N_QUASI


def share_parts(
    rows: Rows, followed: tuple[np.ndarray, np.ndarray, int], independent: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares of the persons and of the loss of each part."""
    total = len(rows.persons)
    of_parts = [followed[0] == p for p in range(len(PARTS))]
    return (
        tuple(float(is_of.sum()) / total for is_of in of_parts),
        tuple(float(rows.losses[is_of].sum()) / total / independent for is_of in of_parts),
    )


def render_parts(months: list[Shares]) -> str:
    """The parts and the bound by month, as a table."""
    head = " | ".join(f"{name}: persons | their loss" for name in PARTS)
    rows = [
        f"| {number} | "
        + " | ".join(f"{n:.1%} | {loss:.2f}" for n, loss in zip(m.persons, m.parts, strict=True))
        + f" | {sum(m.parts):.2f} | {m.bound[0]:.2f} + {m.bound[1]:.2f} + {m.bound[2]:.2f} = "
        f"{sum(m.bound):.2f} | {m.back:,} |"
        for number, m in enumerate(months, 1)
    ]
    mean = sum(sum(m.bound) for m in months) / len(months)
    return "\n".join(
        [
            f"| month | {head} | sum | bound: sizes + newcomers + other names | had been away |",
            "|---|" + "---:|" * (len(PARTS) * 2 + 3),
            *rows,
            "",
            f"Mean of the bound: {mean:.2f} times an independent release's loss.",
        ]
    )
