"""Visits of patients: several a person, with equal or similar quasi-identifiers."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, Released, write_parquet
from support.naive.naive_persons import (
    count_persons,
    equal_distance,
    ordered_distance,
    person_shares,
)

PATIENT = "SECRET-PATIENT-"
QUASI_NAMES = ["age", "zip", "sex", "day"]


def visits(n_visits: int, n_patients: int, seed: int = 3) -> pa.Table:
    """Visits, each with a number of its own; most patients have few, some have many."""
    rng = np.random.default_rng(seed)
    often = 1.0 / (1 + np.arange(n_patients))
    who = rng.choice(n_patients, n_visits, p=often / often.sum())
    who[:n_patients] = np.arange(n_patients)
    who = rng.permutation(who)
    return pa.table(
        {
            "patient": pa.array([f"{PATIENT}{p}" for p in who]),
            "number": np.arange(n_visits),
            "age": rng.integers(18, 95, n_patients)[who],
            "zip": rng.integers(10_000, 10_060, n_patients)[who],
            "sex": pa.array(rng.choice(["m", "f"], n_patients)[who]),
            "day": rng.integers(0, 365, n_visits),
            "cost": rng.integers(0, 90, n_visits) + who % 7 * 10,
            "ward": pa.array(rng.choice(["a", "b", "c"], n_visits, p=[0.6, 0.3, 0.1])),
        }
    )


def visit_policy(source: Path | str, output: Path, **changes: Any) -> dict[str, Any]:
    """A policy for `visits` that counts patients and carries the number of each visit along.

    The search is short, as in `policy_for`.
    """
    attributes: dict[str, Any] = dict.fromkeys(QUASI_NAMES, QUASI)
    attributes |= {"patient": "person", "number": PASSTHROUGH, "cost": CONFIDENTIAL}
    attributes["ward"] = {"role": CONFIDENTIAL, "t": 0.35}
    return {
        "name": "visits",
        "input": {"path": str(source)},
        "attributes": attributes,
        "privacy": {"k": 4, "t": 0.25},
        "method": {"refine": "lean"},
        "output": {"path": str(output)},
    } | changes


def write_visits(folder: Path, n_visits: int, n_patients: int, **options: Any) -> Path:
    """The table as a Parquet file."""
    return write_parquet(folder / "visits.parquet", visits(n_visits, n_patients), **options)


def measure_visits(made: Released, table: pa.Table) -> dict[str, Any]:
    """Measures over persons of a release of a table, by the definition and by visits' numbers."""
    rows = made.table.to_pylist()
    patients = table["patient"].to_pylist()
    people = {name: i for i, name in enumerate(sorted(set(patients)))}
    found: dict[str, Any] = {"persons": len(people), "t": {}}
    for name in ("cost", "ward"):
        values = sorted(set(table[name].to_pylist()))
        place = {value: i for i, value in enumerate(values)}
        everybody = [
            (people[p], place[v]) for p, v in zip(patients, table[name].to_pylist(), strict=True)
        ]
        classes: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
        for row in rows:
            key = tuple(row[q] for q in QUASI_NAMES)
            classes[key].append((people[patients[row["number"]]], place[row[name]]))
        table_shares = person_shares(everybody)
        distance = ordered_distance if name == "cost" else equal_distance
        found["t"][name] = max(distance(person_shares(c), table_shares) for c in classes.values())
        found["sizes"] = sorted(map(count_persons, classes.values()))
    return found
