"""Patients whose illness is confidential, policies over them, and a check of what is released."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, Released
from support.naive import naive_taxonomy
from tclose.assess.auditing.audit import audit_release

N_RECORDS = 1_200
# Of different depths: a rare disease stands right below the root.
TREE: naive_taxonomy.Tree = (
    "any",
    [
        ("lungs", [("infections", ["flu", "pneumonia", "bronchitis"]), "embolism"]),
        ("bowels", ["ulcer", "cancer", "gastritis"]),
        "rabies",
    ],
)
ILLNESSES = naive_taxonomy.leaves(TREE)
ODDS = [0.3, 0.1, 0.15, 0.05, 0.1, 0.08, 0.2, 0.02]
HIERARCHICAL = {"role": CONFIDENTIAL, "taxonomy": naive_taxonomy.to_document(TREE)}
EQUAL = {"role": CONFIDENTIAL}


def patients(n_records: int = N_RECORDS, seed: int = 7) -> pa.Table:
    """Draw a table in which illness depends on age; site and pay hardly depend on anything."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_records)
    drawn = rng.choice(len(ILLNESSES), n_records, p=ODDS)
    shifted = np.where(rng.random(n_records) < 0.3, (age - 18) // 9 % 8, drawn)
    return pa.table(
        {
            "age": age,
            "sex": np.where(rng.random(n_records) < 0.5, "f", "m"),
            "weight": np.round(rng.normal(70, 12, n_records), 1),
            "site": rng.choice(["north", "south"], n_records),
            "illness": np.array(ILLNESSES)[shifted],
            "pay": rng.integers(10, 60, n_records) * 100,
        }
    )


def write_pieces(folder: Path, table: pa.Table) -> Path:
    """Three files: one without two of the illnesses, one with them alone, one with all."""
    folder.mkdir()
    illness = table["illness"].to_numpy(zero_copy_only=False)
    rare = np.isin(illness, ["rabies", "flu"])
    rows = np.arange(len(table))
    first = np.flatnonzero(~rare & (rows % 3 > 0))
    second = np.flatnonzero(rare & (rows % 3 > 0))
    for number, chosen in enumerate((first, second, np.flatnonzero(rows % 3 == 0))):
        pq.write_table(table.take(chosen), folder / f"{number}.parquet")
    return folder


def document(source: Path, place: Path, **changes: Any) -> dict[str, Any]:
    """A policy whose illness goes by the taxonomy; ``changes`` replace its keys."""
    return {
        "name": "patients",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {"age": QUASI, "sex": QUASI, "weight": QUASI, "illness": HIERARCHICAL},
        "privacy": {"k": 4, "t": 0.15},
        "method": {"refine": "off"},
        "output": {"path": str(place), "rows_per_file": 500},
    } | changes


def with_illness(illness: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Roles of the columns."""
    return {"age": QUASI, "sex": QUASI, "weight": QUASI, "illness": illness} | others


def emd_of(members: list[str], table: list[str], distance: str) -> Fraction:
    """Of a class, by the definition."""
    if distance == "equal":
        return naive_taxonomy.equal_emd(members, table)
    return naive_taxonomy.hierarchical_emd(TREE, members, table)


def largest_emd(frame: pd.DataFrame, distance: str, quasi: list[str]) -> Fraction:
    """Over all classes, as anybody would compute it who has the files and the paper."""
    table = frame["illness"].tolist()
    groups = frame.groupby(quasi, observed=True, dropna=False)["illness"]
    return max(emd_of(members.tolist(), table, distance) for _, members in groups)


def check_release(
    made: Released, distance: str, t: float, quasi: tuple[str, ...] = ("age", "sex", "weight")
) -> pd.DataFrame:
    """The files meet k and t, and the audit and the manifest say what they say."""
    frame = made.frame
    found = largest_emd(frame, distance, list(quasi))
    audit = audit_release(made.folder)
    assert audit.findings == []
    assert audit.privacy is not None
    assert audit.checked
    for said in (made.manifest["privacy"], audit.privacy.to_json()):
        of_illness = said["t"]["illness"]
        assert of_illness["distance"] == distance
        assert of_illness["asked"] == t
        assert of_illness["largest_emd"] == pytest.approx(float(found), abs=1e-12)
    assert found <= Fraction(str(t))
    assert frame.groupby(list(quasi), observed=True).size().min() >= 4
    return frame
