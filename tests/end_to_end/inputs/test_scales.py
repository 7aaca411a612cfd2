"""Scales and weights of quasi-identifiers: in plan and manifest, and the same for any cut."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import data_digests
from support.cases.people import QUASI, folder_of, people, policy_for, publish
from support.sizes import Sizes
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.data import column_scales
from tclose.passes.summarise import source
from tclose.policy.policy import parse_policy
from tclose.releases.manifest.plan_document import PlanDocument
from tclose.runtime.monitoring.progress import Progress

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


HEAVY = (
    "differences divided by the range of the middle 98 % of the records, as the whole range is "
    "more than 20 times that"
)


def plan_of(document: dict[str, Any]) -> PlanDocument:
    return plan_ahead(parse_policy(document), Progress("none"), 0)[0]


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
    assert of["sex"].startswith("one value of its class, chosen so that")
    rows = pq.read_table(made.release / "data")
    assert set(rows["income"].to_pylist()) <= set(table()["income"].to_pylist())


def test_usual_scales_are_not_named_and_change_nothing(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "in.parquet")
    usual = publish(document(tmp_path / "in.parquet"))
    keys = {"role": QUASI, "scale": "range", "weight": 1}
    named = publish(document(tmp_path / "in.parquet", age=keys))
    assert data_digests(folder_of(usual)) == data_digests(folder_of(named))
    assert usual.release.name != named.release.name
    assert plan_of(document(tmp_path / "in.parquet", age=keys)).scales.keys() == {"income"}


def test_a_scale_of_0_is_the_range(tmp_path: Path) -> None:
    ages = np.array([0] * (N_ROWS - 5) + [1, 2, 3, 4, 5])
    pq.write_table(table().set_column(0, "age", pa.array(ages)), tmp_path / "in.parquet")
    keys = {"role": QUASI, "scale": "iqr"}
    assert plan_of(document(tmp_path / "in.parquet", age=keys)).scales == {
        "age": "differences divided by the range, as the iqr is 0",
        "income": HEAVY,
    }


@pytest.mark.parametrize("sampled", [65_536, 500])
def test_the_cut_of_the_input_changes_no_byte(
    sampled: int, tmp_path: Path, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
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
    sizes.pieces(rows=1_000, least=100)
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


def with_outlier() -> pa.Table:
    """Days of ten years, and one in the year 5009."""
    days = np.random.default_rng(9).integers(16_000, 19_650, N_ROWS).astype(np.int32)
    days[N_ROWS // 2] = (5009 - 1970) * 365
    return table().append_column("day", pa.array(days).cast(pa.date32()))


def lost_days(path: Path, **keys: Any) -> tuple[float, set[int], dict[str, str]]:
    """Squares that days lose in parts of their own, but for the outlier's; years released."""
    asked = document(path, day={"role": QUASI} | keys)
    asked["attributes"]["id"] = "non-confidential"
    made = publish(asked)
    rows = pq.read_table(made.release / "data").sort_by("id")
    own = pq.read_table(path).sort_by("id")
    is_usual = np.arange(N_ROWS) != N_ROWS // 2
    days, released = (
        t["day"].cast(pa.int32()).to_numpy().astype(np.float64)[is_usual] for t in (own, rows)
    )
    lost = ((days - released) ** 2).sum() / ((days - days.mean()) ** 2).sum()
    treated = {column.name: column.treatment for column in made.manifest.columns}
    return float(lost), {day.year for day in rows["day"].to_pylist()}, treated


def test_one_outlier_leaves_the_other_values_their_scale(tmp_path: Path) -> None:
    with_ids = with_outlier().append_column("id", pa.array(range(N_ROWS)))
    pq.write_table(with_ids, tmp_path / "in.parquet")
    lost, years, treated = lost_days(tmp_path / "in.parquet")
    assert treated["day"] == f"lower median of its class; classes were made with {HEAVY}"
    assert treated["age"] == "mean of its class"
    assert lost < 0.1
    assert years <= set(range(2013, 2025))
    by_range, years, treated = lost_days(tmp_path / "in.parquet", scale="range", aggregate="mean")
    assert treated["day"] == "mean of its class"
    assert by_range > 5 * lost
    assert years & set(range(2100, 5000))


@pytest.mark.parametrize("method", ["mondrian", "incognito"])
def test_tails_where_values_are_generalised(method: str, tmp_path: Path) -> None:
    pq.write_table(with_outlier(), tmp_path / "in.parquet")
    keys = {"name": method}
    asked = document(tmp_path / "in.parquet", day=QUASI) | {"method": keys}
    assert plan_of(asked).scales == {}
