"""Scales and weights of quasi-identifiers: in plan and manifest, and the same for any cut."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import data_digests
from support.cases.method_cases import publish
from support.cases.people import QUASI, folder_of, people, policy_for
from tclose.data import column_scales
from tclose.data.files import input_partitions
from tclose.passes.release import describe_only
from tclose.passes.summarise import source
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.plan_document import PlanDocument
from tclose.runtime.progress import Progress

N_ROWS = 6_000
pytestmark = pytest.mark.usefixtures("small_regions")
SCALED = {
    "age": {"role": QUASI, "scale": "std", "weight": 2},
    "income": {"role": QUASI, "scale": "rank", "aggregate": "low-median"},
    "height": {"role": QUASI, "scale": "iqr"},
}


def table() -> pa.Table:
    """Whole numbers, heavy tails, and floats."""
    rng = np.random.default_rng(3)
    incomes = np.round(rng.lognormal(8, 2, N_ROWS)).astype(np.int64)
    return people(N_ROWS, income=incomes, height=rng.normal(170, 8, N_ROWS))


def document(path: Path, **attributes: Any) -> dict[str, Any]:
    """A policy over the table; ``attributes``: besides the usual ones of `people`."""
    asked = policy_for(path, method={"refine": 1})
    asked["attributes"] = dict.fromkeys(["age", "sex", "income", "height"], QUASI) | {
        "pay": "confidential"
    }
    asked["attributes"] |= attributes
    return asked


def plan_of(document: dict[str, Any]) -> PlanDocument:
    return describe_only(parse_policy(document), Progress("none"))[0]


def test_scales_are_in_plan_and_manifest(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")
    asked = document(tmp_path / "in.parquet", **SCALED)
    said = plan_of(asked).scales
    assert said == {
        "age": "differences divided by the standard deviation, weight 2",
        "income": "differences of ranks",
        "height": "differences divided by the interquartile range",
    }
    made = publish(asked)
    of = {column.name: column.treatment for column in made.manifest.columns}
    assert of["age"] == f"mean of its class; classes were made with {said['age']}"
    assert of["income"] == f"lower median of its class; classes were made with {said['income']}"
    assert of["sex"] == "mode of its class"
    rows = pq.read_table(made.release / "data")
    assert set(rows["income"].to_pylist()) <= set(table()["income"].to_pylist())


def test_usual_scales_are_not_named_and_change_nothing(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")
    usual = publish(document(tmp_path / "in.parquet"))
    keys = {"role": QUASI, "scale": "range", "weight": 1}
    named = publish(document(tmp_path / "in.parquet", age=keys))
    assert data_digests(folder_of(usual)) == data_digests(folder_of(named))
    assert usual.release.name != named.release.name
    assert plan_of(document(tmp_path / "in.parquet", age=keys)).scales == {}


def test_a_scale_of_0_is_the_range(tmp_path: Path) -> None:
    ages = np.array([0] * (N_ROWS - 5) + [1, 2, 3, 4, 5])
    pq.write_table(table().set_column(0, "age", pa.array(ages)), tmp_path / "in.parquet")
    keys = {"role": QUASI, "scale": "iqr"}
    assert plan_of(document(tmp_path / "in.parquet", age=keys)).scales == {
        "age": "differences divided by the range, as the iqr is 0"
    }


@pytest.mark.parametrize("sampled", [65_536, 500])
def test_the_cut_of_the_input_changes_no_byte(
    sampled: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether scales are measured on all records or on some of them."""
    monkeypatch.setattr(source, "SAMPLE_RECORDS", sampled)
    assert column_scales.SAMPLE_RECORDS == 65_536
    pq.write_table(table(), tmp_path / "in.parquet")
    whole = publish(document(tmp_path / "in.parquet", **SCALED))
    folder = tmp_path / "pieces"
    folder.mkdir()
    for number, (start, stop) in enumerate([(0, 1), (1, 3_500), (3_500, N_ROWS)]):
        piece = table().slice(start, stop - start)
        pq.write_table(piece, folder / f"{number}.parquet", row_group_size=1_111)
    monkeypatch.setattr(input_partitions, "PARTITION_ROWS", 1_000)
    monkeypatch.setattr(input_partitions, "MIN_PARTITION_ROWS", 100)
    asked = document(folder, **SCALED)
    asked["output"] = {"path": str(tmp_path / "other")}
    pieces = publish(asked)
    assert data_digests(folder_of(whole)) == data_digests(folder_of(pieces))


def test_a_weight_keeps_its_column(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")

    def loss_of_age(weight: float) -> float:
        keys = {"role": QUASI, "weight": weight}
        made = publish(document(tmp_path / "in.parquet", age=keys))
        return made.manifest.information_loss.per_attribute["age"]

    assert loss_of_age(25) < loss_of_age(1) < loss_of_age(0.04)
