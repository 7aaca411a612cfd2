"""Months of a small panel whose rows say whose they are, and a policy that holds them together."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.cases.people import Released, release
from tclose.data.synthetic.panel_files import write_panel
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.passes.persons.named_key import find_person_key
from tclose.passes.persons.person_keys import hash_persons
from tclose.policy.policy import parse_policy
from tclose.releases.repository.contents import find_key
from tclose.releases.series.register_file import read_register

QUASI = ["age", "zip", "insurer"]
N_PERSONS, K, T = 700, 3, Fraction(3, 10)


@dataclass(frozen=True)
class SeriesMonths:
    """Months of a panel in a folder; ``tag`` is the person, and is released as it is.

    The search is short, as in `policy_for`.
    """

    folder: Path
    files: tuple[Path, ...]

    def policy(self, month: int, **over_time: Any) -> dict[str, Any]:
        """A policy for a month, whose releases have names of their own."""
        return {
            "name": f"panel-{month}",
            "series": "panel",
            "input": {"path": str(self.files[month])},
            "unlisted": "drop",
            "attributes": {
                "person_id": "person",
                "tag": "non-confidential",
                **dict.fromkeys(QUASI, "quasi-identifier"),
                "income": "confidential",
            },
            "privacy": {"k": K, "t": float(T), "over_time": {"k": K, "t": float(T)} | over_time},
            "method": {"refine": "lean"},
            "output": {"path": str(self.folder / "releases")},
        }

    def publish(self, *months: int, **over_time: Any) -> list[Released]:
        """Publish months one after the other."""
        return [release(self.policy(month, **over_time)) for month in months]


def write_months(folder: Path, n_months: int, n_persons: int = N_PERSONS) -> SeriesMonths:
    """Write the months of a panel in which 3 % leave and join."""
    files = write_panel(folder / "panel", n_persons, 3, range(n_months), churn=0.03)
    for file in files:
        table = pq.read_table(file)
        pq.write_table(table.append_column("tag", table["person_id"]), file)
    return SeriesMonths(folder, tuple(files))


def read_classes(made: Released) -> dict[str, tuple[Any, Any]]:
    """Of each person in a release, the class and the confidential value."""
    rows = made.table.select(["tag", *QUASI, "income"]).to_pylist()
    return {row["tag"]: (tuple(row[name] for name in QUASI), row["income"]) for row in rows}


def read_registered(made: Released, place: SeriesMonths) -> dict[str, tuple[Any, Any]]:
    """The same of a release whose rows do not say whose they are, by its register."""
    persons = pa.concat_tables(pq.read_table(f, columns=["person_id"]) for f in place.files)
    key = find_person_key(parse_policy(place.policy(0)), find_key(made.folder))
    assert key is not None
    column = Column(Attribute("person_id", Role.PERSON), Kind.NOMINAL, pa.string())
    hashes, places = hash_persons(persons, column, key)
    named = zip(places.tolist(), persons["person_id"].to_pylist(), strict=True)
    of_hash = {hashes[place].tobytes(): person for place, person in named}
    register = read_register((made.folder / "internal" / "register.parquet").read_bytes())
    rows = made.table.select([*QUASI, "income"]).to_pylist()
    return {
        of_hash[of.tobytes()]: (tuple(row[name] for name in QUASI), row["income"])
        for of, row in zip(register.hashes, rows, strict=True)
    }


def read_groups(made: list[Released]) -> list[int]:
    """Persons who left each connected set of classes of an earlier release and the last one."""
    *earlier, last = [{p: c for p, (c, _) in read_classes(one).items()} for one in made]
    found = []
    for before in earlier:
        parts = {c: {("before", c)} for c in set(before.values())}
        for person, c in before.items():
            if person in last:
                joined = parts[c] | {("now", last[person])}
                for part in parts.values():
                    if part & joined:
                        joined = joined | part
                parts |= {other: joined for other, part in parts.items() if part & joined}
        left = Counter(c for p, c in before.items() if p not in last)
        sets = {frozenset(part) for part in parts.values()}
        found += [sum(n for c, n in left.items() if ("before", c) in of) for of in sets]
    return [n for n in found if n]
