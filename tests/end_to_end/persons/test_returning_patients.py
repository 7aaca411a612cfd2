"""Releases of patients who come back: classes stay small, whatever is searched."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import DISCHARGE_ROLES, discharge_document
from support.cases.people import Released, release
from tclose.data.synthetic import generate_rows

ROWS = 20_000
T = 0.03


def release_of(table: pa.Table, place: Path, role: str, refine: str, **method: str) -> Released:
    place.mkdir(parents=True)
    pq.write_table(table, place / "table.parquet")
    roles = DISCHARGE_ROLES | {"patient_id": role}
    privacy = {"k": 5, "t": T}
    document: dict[str, Any] = discharge_document(
        place / "table.parquet", place / "releases", attributes=roles, privacy=privacy,
        method={"refine": refine} | method,
    )  # fmt: skip
    return release(document)


@pytest.fixture(scope="module")
def returning() -> pa.Table:
    """More than two discharges of a patient, on average."""
    return generate_rows(0, ROWS, 5, 0.7)


@pytest.mark.parametrize("refine", ["off", "lean"])
def test_classes_are_those_of_records_nearly(
    returning: pa.Table, tmp_path: Path, refine: str
) -> None:
    """To unite classes that fail over persons would make ones of hundreds of records."""
    made = release_of(returning, tmp_path / "persons", "person", refine)
    of_persons = made.manifest
    of_records = release_of(returning, tmp_path / "records", "identifier", refine).manifest
    said = of_persons["privacy"]["persons"]
    assert said["persons"] < ROWS / 2
    assert said["k"]["achieved"] >= 5
    assert made.internal["largest_emd_over_persons"]["charge"] <= T
    assert of_persons["classes"]["mean"] < 1.1 * of_records["classes"]["mean"]
    assert of_persons["classes"]["largest"] < 5 * of_records["classes"]["mean"]
    losses = [m["information_loss"]["total"] for m in (of_persons, of_records)]
    assert losses[0] < 1.2 * losses[1]


def test_persons_with_many_records_alike_are_united(tmp_path: Path) -> None:
    """A fifth of the records is of ten persons, several of whose records are in most classes.

    In shares of one class days and stays, in which their records differ, count too much for that.
    """
    frame: pd.DataFrame = generate_rows(0, 10_000, 5).to_pandas()
    rng = np.random.default_rng(1)
    rows = rng.choice(10_000, 2_000, replace=False)
    theirs = ["patient_id", "age", "sex", "zip", "diagnosis_group", "insurance_type"]
    for name in theirs:
        frame.loc[rows, name] = frame.loc[np.repeat(rows[:10], 200), name].to_numpy()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    made = release_of(table, tmp_path / "persons", "person", "lean", losses="absolute")
    said = made.manifest["privacy"]["persons"]
    assert said["k"]["achieved"] >= 5
    assert made.internal["largest_emd_over_persons"]["charge"] <= T
    assert made.manifest["classes"]["mean"] > 1.2 * said["classes"]["mean"]
