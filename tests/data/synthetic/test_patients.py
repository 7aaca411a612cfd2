"""Patients who come back: what is theirs stays, nothing overlaps, the chronically ill do most."""

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest

from support.tables.generated_columns import SEED
from tclose.data.synthetic import CHUNK_ROWS, generate_rows
from tclose.errors import UsageError

RETURNING = 0.35


@pytest.fixture(scope="module")
def discharges() -> pd.DataFrame:
    frame: pd.DataFrame = generate_rows(0, 2 * CHUNK_ROWS, SEED, RETURNING).to_pandas()
    frame["admission_date"] = pd.to_datetime(frame["admission_date"])
    return frame.sort_values(["patient_id", "admission_date"], kind="stable")


def following(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Discharges, and the next one of the same patient."""
    is_next = frame["patient_id"].to_numpy()[1:] == frame["patient_id"].to_numpy()[:-1]
    return frame.iloc[:-1][is_next], frame.iloc[1:][is_next]


def test_sex_place_and_insurance_stay(discharges: pd.DataFrame) -> None:
    by_patient = discharges.groupby("patient_id")[["sex", "zip", "insurance_type"]].nunique()
    assert by_patient.max().max() == 1


def test_ages_are_of_one_birthday(discharges: pd.DataFrame) -> None:
    """Each admission leaves a year for the birth; those of a patient have days in common."""
    day = (discharges["admission_date"] - pd.Timestamp("2022-01-01")).dt.days
    born = pd.DataFrame({
        "patient": discharges["patient_id"],
        "last": day - discharges["age"] * 365.25,
        "first": day - (discharges["age"] + 1) * 365.25,
    }).groupby("patient")  # fmt: skip
    assert (born["first"].max() < born["last"].min()).all()


def test_none_begins_before_another_ended_or_after_a_death(discharges: pd.DataFrame) -> None:
    before, after = following(discharges)
    assert len(before) > 10_000
    left = before["admission_date"] + pd.to_timedelta(before["length_of_stay"], "D")
    assert (left.to_numpy() <= after["admission_date"].to_numpy()).all()
    assert not (before["discharge_status"] == "died").any()
    assert not (after["diagnosis_group"] == "perinatal").any()


def test_births_are_months_apart(discharges: pd.DataFrame) -> None:
    before, after = following(discharges)
    birth = "pregnancy and childbirth"
    pairs = before["diagnosis_group"].to_numpy(), after["diagnosis_group"].to_numpy()
    are_births = (pairs[0] == birth) & (pairs[1] == birth)
    days = after["admission_date"].to_numpy() - before["admission_date"].to_numpy()
    assert are_births.sum() > 50
    assert days[are_births].min() >= np.timedelta64(280, "D")


def test_chronically_ill_come_back_more_often_and_most_patients_never(
    discharges: pd.DataFrame,
) -> None:
    n_discharges = discharges.groupby("patient_id")["age"].transform("size")
    usual = n_discharges.groupby(discharges["diagnosis_group"]).mean()
    assert usual["neoplasms"] > 1.5 * usual["injury and poisoning"]
    assert usual["substance use"] > 3 * usual["perinatal"]
    counts = discharges["patient_id"].value_counts()
    assert 0.7 < (counts == 1).mean() < 0.85
    assert 15 < counts.max() < 100


@pytest.mark.parametrize("n_rows", [2_000, 20_000, CHUNK_ROWS])
def test_share_is_that_of_every_beginning(n_rows: int) -> None:
    ids = generate_rows(0, n_rows, SEED, RETURNING)["patient_id"]
    returning = 1 - pc.count_distinct(ids).as_py() / n_rows
    assert RETURNING - 0.08 < returning <= RETURNING + 0.03


def test_each_row_is_of_another_patient_where_nobody_returns() -> None:
    ids = generate_rows(0, CHUNK_ROWS, SEED)["patient_id"]
    assert pc.count_distinct(ids).as_py() == CHUNK_ROWS


@pytest.mark.parametrize("returning", [1.0, -0.1, float("nan")])
def test_refuses_what_is_no_share(returning: float) -> None:
    with pytest.raises(UsageError, match="the share returning is"):
        generate_rows(0, 10, SEED, returning)


def test_nearly_all_may_return() -> None:
    """Of the first discharge of all there is always a patient."""
    ids = generate_rows(0, 1_000, SEED, 0.999)["patient_id"]
    assert 1 <= pc.count_distinct(ids).as_py() < 1_000
