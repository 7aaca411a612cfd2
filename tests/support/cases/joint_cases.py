"""Patients whose illness and pay are close one by one but not together, and policies over them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, Released
from support.naive import naive_joint
from tclose.assess.auditing.audit import audit_release

QUASI_NAMES = ["age", "sex", "weight"]
ILLS = ["flu", "ulcer", "asthma", "rabies"]
PAIR = {"attributes": ["illness", "pay"], "t": 0.35}
NAME = "illness with pay"


def patients(n_records: int = 1_500, seed: int = 3) -> pa.Table:
    """Pay follows the illness of the old: each alone is evenly spread, the two together are not."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_records)
    illness = rng.choice(4, n_records, p=[0.4, 0.35, 0.2, 0.05])
    pay = np.where(age > 54, illness % 2, rng.integers(0, 2, n_records)) * 3 + rng.integers(
        0, 3, n_records
    )
    return pa.table(
        {
            "age": age,
            "sex": np.where(rng.random(n_records) < 0.5, "f", "m"),
            "weight": np.round(rng.normal(70, 12, n_records), 1),
            "site": rng.choice(["north", "south"], n_records),
            "illness": np.array(ILLS)[illness],
            "pay": 1_000 + 250 * pay,
            "smokes": rng.random(n_records) < 0.3,
        }
    )


def document(source: Path, place: Path, **changes: Any) -> dict[str, Any]:
    """A policy that asks illness and pay to be close together; ``changes`` replace its keys."""
    roles = dict.fromkeys(QUASI_NAMES, QUASI) | {"illness": CONFIDENTIAL, "pay": CONFIDENTIAL}
    return {
        "name": "patients",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": roles,
        "privacy": {"k": 4, "t": 0.3, "joint": [PAIR]},
        "method": {"refine": "off"},
        "output": {"path": str(place), "rows_per_file": 600},
    } | changes


def write_pieces(folder: Path, table: pa.Table) -> Path:
    """Files of which one has no rabies and one nothing else, so that each numbers its own."""
    folder.mkdir()
    rare = np.array(table["illness"].to_pylist()) == "rabies"
    rows = np.arange(len(table))
    for number, chosen in enumerate((~rare & (rows % 2 > 0), rare, ~rare & (rows % 2 == 0))):
        pq.write_table(table.filter(pa.array(chosen)), folder / f"{number}.parquet")
    return folder


def largest_joint(frame: pd.DataFrame, names: list[str], quasi: list[str]) -> Fraction:
    """Over all classes, as anybody would compute it who has the files and the paper."""
    table = list(frame[names].itertuples(index=False, name=None))
    groups = frame.groupby(quasi, observed=True)[names]
    return max(
        naive_joint.joint_emd(members.itertuples(index=False, name=None), table)
        for _, members in groups
    )


def check(made: Released, names: list[str], t: float, quasi: list[str] = QUASI_NAMES) -> None:
    """The files are within t; manifest and audit say what is so."""
    found = largest_joint(made.frame, names, quasi)
    assert found <= Fraction(str(t))
    audit = audit_release(made.folder)
    assert audit.findings == []
    assert audit.privacy is not None
    for said in (made.manifest["privacy"], audit.privacy.to_json()):
        (joint,) = said["joint"]
        assert joint["attributes"] == names
        assert (joint["asked"], joint["distance"]) == (t, "equal")
        assert joint["largest_emd"] == pytest.approx(float(found), abs=1e-12)
        assert " with ".join(names) not in said["t"]
