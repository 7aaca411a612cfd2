"""Values that are prepared as they are read: all is measured, and said, of what they became."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import (
    CONFIDENTIAL,
    PASSTHROUGH,
    QUASI,
    Released,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from tclose.api.calls import plan
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.assess.auditing.audit import audit_release
from tclose.assess.originals import add_originals
from tclose.data.preparation import prepare_values
from tclose.errors import DataError, VerificationError
from tclose.model.preparation import MISSING
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS = 400
BANDS = ["below 2000", "2000 to below 5000", "5000 or more"]


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    few, some = rng.random((2, N_RECORDS)) < [[0.1], [0.2]]
    return people(
        N_RECORDS,
        work=pa.array(rng.choice(["day", "night", "both"], N_RECORDS), mask=some),
        grade=pa.array(rng.choice(["low", "high"], N_RECORDS), mask=some[::-1]),
        bonus=pa.array(rng.integers(0, 20_000, N_RECORDS), mask=few),
        rent=np.round(rng.lognormal(7, 1, N_RECORDS), 2),
        debt=rng.integers(0, 9_000, N_RECORDS),
    )  # fmt: skip


ATTRIBUTES = {
    "age": QUASI,
    "sex": QUASI,
    "work": {"role": QUASI, "type": "nominal", "missing": "category"},
    "grade": {
        "role": QUASI, "type": "ordinal", "order": [MISSING, "low", "high"], "missing": "category",
    },
    "pay": {"role": CONFIDENTIAL, "bands": [2000, 5000]},
    "bonus": {"role": CONFIDENTIAL, "round": 500, "top": 15_000, "t": 0.4},
    "rent": {"role": PASSTHROUGH, "round": 0.1, "bottom": 500, "top": 3_000},
    "debt": {"role": PASSTHROUGH, "bands": [1, 4_500]},
}  # fmt: skip


def make_document(path: Path, **changes: Any) -> dict[str, Any]:
    keys = {"attributes": ATTRIBUTES, "missing": "drop", "privacy": {"k": 4, "t": 0.3}}
    return policy_for(path, **(keys | changes))


@pytest.fixture(scope="module", params=["parquet", "csv"])
def released(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Released:
    write = write_parquet if request.param == "parquet" else write_csv
    path = write(tmp_path_factory.mktemp("prepared") / f"in.{request.param}", table())
    return release(make_document(path))


def expected() -> pa.Table:
    """The records without a bonus left out, the rest as numpy prepares it."""
    kept = table().filter(table()["bonus"].is_valid())
    rent = np.clip(kept["rent"].to_numpy(), 500, 3_000)
    return pa.table(
        {
            "pay": [BANDS[i] for i in np.digitize(kept["pay"].to_numpy(), [2_000, 5_000])],
            "bonus": np.round(np.minimum(kept["bonus"].to_numpy(), 15_000) / 500).astype(int) * 500,
            "rent": np.round(rent / 0.1) / 10,
            "debt": np.array(["below 1", "1 to below 4500", "4500 or more"])[
                np.digitize(kept["debt"].to_numpy(), [1, 4_500])
            ],
        }
    )


def test_values_are_released_as_they_became(released: Released) -> None:
    names = ["pay", "bonus", "rent", "debt"]
    found, wanted = released.table.select(names).to_pylist(), expected().to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, wanted))


def test_records_without_a_value_have_a_category(released: Released) -> None:
    assert set(released.table["work"].to_pylist()) <= {"day", "night", "both", MISSING}
    assert MISSING in released.table["work"].to_pylist()
    assert len(released.table) == table()["bonus"].is_valid().to_numpy().sum()


def test_t_and_the_comparison_are_of_the_prepared_values(released: Released) -> None:
    assert released.manifest["values"]["result"] == "identical"
    assert set(released.manifest["values"]["compared"]) == {"pay", "bonus", "rent", "debt"}
    assert audit_release(released.folder).passed


def test_manifest_and_documents_say_it(released: Released) -> None:
    columns = {column["name"]: column for column in released.manifest["columns"]}
    assert columns["pay"]["order"] == BANDS
    assert columns["pay"]["prepared"] == {"bands": [2000.0, 5000.0]}
    assert columns["bonus"]["prepared"] == {"top": 15_000.0, "multiples_of": 500.0}
    assert columns["work"]["prepared"] == {"missing": "category"}
    said = (
        "before anything was measured: values below 500 set to it, values above 3000 set to it, "
        "rounded to multiples of 0.1; then as it is"
    )
    assert columns["rent"]["treatment"] == said
    n_missing = N_RECORDS - len(released.table)
    percent = -(-100 * n_missing // N_RECORDS)
    left_out = {"percent": percent, "by_column": {"bonus": percent}}
    assert released.manifest["left_out"] == left_out
    assert released.internal["values_missing"] == {"bonus": n_missing}
    in_category = count_gaps("work", "grade")
    assert released.internal["values_in_category"] == in_category
    inside = re.sub(r"\s+|<[^>]+>", " ", (released.folder / "internal/report.html").read_text())
    inside = re.sub(r" +", " ", inside)
    assert f" bonus {n_missing} {100 * n_missing / N_RECORDS:.3g} % left out " in inside
    for name, n in in_category.items():
        assert f" {name} {n} {100 * n / N_RECORDS:.3g} % have a category of their own " in inside
    for name in ("dictionary.md", "report.html"):
        page = (released.folder / name).read_text()
        assert said in page
        assert f"at most {percent} % of all" in page
        assert f"bonus {percent} %" in page


def count_gaps(*names: str) -> dict[str, int]:
    """Records that lack a value, though some of them are left out for their bonus."""
    return {name: table()[name].null_count for name in names}


def test_plan_says_how_many_records_become_a_category(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", table())
    planned, _, _ = plan_ahead(parse_policy(make_document(path)), Progress("none"), 0)
    told = {column.name: column for column in planned.columns}
    for name, n in count_gaps("work", "grade").items():
        assert (told[name].missing, told[name].missing_category) == (n, True)
    assert told["work"].distinct == 4  # the category is one of them
    assert not told["bonus"].missing_category
    n = count_gaps("work")["work"]
    shown = repr(plan(path, make_document(path)))
    assert f"4 distinct; {n} missing, which become a category of their own;" in shown


def bound(percentile: float) -> dict[str, Any]:
    return {"percentile": percentile, "public": True}


def rank(values: list[Any], percentile: Fraction) -> Any:
    """The least value that so many per cent do not exceed."""
    present = sorted(value for value in values if value is not None)
    return present[ceil(percentile / 100 * len(present)) - 1]


def test_bounds_may_be_percentiles_of_all_records_however_they_are_cut(
    tmp_path: Path, small_regions: None
) -> None:
    cents = [None if v is None else Decimal(v) / 100 for v in table()["bonus"].to_pylist()]
    given = table().append_column("fee", pa.array(cents, pa.decimal128(9, 2)))
    (tmp_path / "in").mkdir()
    write_parquet(tmp_path / "in" / "0.parquet", given.slice(0, 150))
    write_parquet(tmp_path / "in" / "1.parquet", given.slice(150), row_group_size=60)
    attributes = {
        "age": QUASI, "sex": QUASI,
        "bonus": {"role": CONFIDENTIAL, "top": bound(90), "round": 500, "t": 0.4},
        "rent": {"role": PASSTHROUGH, "bottom": bound(2.5), "top": bound(99)},
        "fee": {"role": PASSTHROUGH, "top": bound(50)},
    }  # fmt: skip
    document = policy_for(tmp_path / "in", attributes=attributes, missing="drop", unlisted="drop")
    made = release(document)
    top = round(Fraction(rank(given["bonus"].to_pylist(), Fraction(90))) / 500) * 500
    rents, fees = given["rent"].to_pylist(), given["fee"].to_pylist()
    low, high = rank(rents, Fraction(5, 2)), rank(rents, Fraction(99))
    middle = rank(fees, Fraction(50))
    columns = {column["name"]: column for column in made.manifest["columns"]}
    assert columns["bonus"]["prepared"] == {
        "top": float(top), "top_percentile": 90.0, "multiples_of": 500.0,
    }  # fmt: skip
    assert columns["rent"]["prepared"] == {
        "bottom": low, "bottom_percentile": 2.5, "top": high, "top_percentile": 99.0,
    }  # fmt: skip
    assert columns["fee"]["treatment"] == (
        f"before anything was measured: values above {float(middle):g} (percentile 50) set to it; "
        "then as it is"
    )
    kept = given.filter(given["bonus"].is_valid())
    wanted = [
        (round(Fraction(min(b, top)) / 500) * 500, min(max(r, low), high), min(f, middle))
        for b, r, f in zip(*(kept[n].to_pylist() for n in ("bonus", "rent", "fee")), strict=True)
    ]
    found = zip(*(made.table[n].to_pylist() for n in ("bonus", "rent", "fee")), strict=True)
    assert sorted(found) == sorted(wanted)
    assert audit_release(made.folder).findings == []
    again = add_originals(audit_release(made.folder), parse_policy(document), Progress("none"))
    assert again.passed
    planned, _, _ = plan_ahead(parse_policy(document), Progress("none"), 100)
    assert f"values above {top} (percentile 90)" in repr(planned)


def test_percentiles_that_are_one_value_are_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", people(rent=[7.0] * 59 + [8.0]))
    rent = {"role": PASSTHROUGH, "bottom": bound(1), "top": bound(50)}
    document = policy_for(path, attributes={"age": QUASI, "pay": CONFIDENTIAL, "rent": rent})
    with pytest.raises(DataError, match="'rent': its bottom is not below its top") as error:
        release(document | {"unlisted": "drop"})
    assert "7" not in str(error.value).replace(str(path), "")


def test_a_column_without_values_has_no_percentiles(tmp_path: Path) -> None:
    gaps = pa.nulls(60, pa.float64())
    path = write_parquet(tmp_path / "in.parquet", people(rent=gaps))
    rent = {"role": PASSTHROUGH, "bottom": bound(1), "top": bound(50)}
    document = policy_for(path, attributes={"age": QUASI, "pay": CONFIDENTIAL, "rent": rent})
    made = release(document | {"unlisted": "drop"})
    assert made.table["rent"].null_count == 60
    assert "prepared" not in made.manifest["columns"][-1]


@pytest.mark.parametrize("keys", [{"bands": [5, 2**53 + 1]}, {"bottom": 5, "top": 2**53 + 1}])
def test_whole_numbers_that_no_float_is_are_said(keys: dict[str, Any], tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", table())
    rent = {"role": "non-confidential"} | keys
    document = policy_for(path, attributes={"age": QUASI, "pay": CONFIDENTIAL, "bonus": rent})
    made = release(document | {"unlisted": "drop"})
    prepared = made.manifest["columns"][-1]["prepared"]
    assert json.dumps(prepared) == json.dumps(keys).replace("5,", "5.0,")


def test_audit_beside_the_originals_prepares_them_too(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", table())
    document = make_document(path)
    made = release(document)
    found = add_originals(audit_release(made.folder), parse_policy(document), Progress("none"))
    assert found.passed
    assert found.originals is not None


@pytest.mark.parametrize("name", ["bonus", "pay"])
def test_a_fault_of_the_preparation_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One value is moved to the next band or multiple; nothing is published."""
    path = write_parquet(tmp_path / "in.parquet", table())
    plain = prepare_values.prepare_values

    def faulty(array: pa.Array, column: str, preparation: Any) -> pa.Array:
        made = plain(array, column, preparation)
        if column != name or not len(made):
            return made
        values = made.to_pylist()
        other = next(i for i, v in enumerate(values) if v not in (values[0], None))
        values[0] = values[other]
        return pa.array(values, made.type)

    monkeypatch.setattr(prepare_values, "prepare_values", faulty)
    with pytest.raises(VerificationError, match=f"not the input's values: '{name}'"):
        release(make_document(path))
    assert not list((tmp_path / "releases").glob("*/*/manifest.json"))
