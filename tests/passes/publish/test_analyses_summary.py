"""Measures of associations and errors, beside those of pandas and scipy, and of a whole release."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from scipy.stats.contingency import association

import tclose
from support.cases.people import people, policy_for, release, write_parquet, write_policy
from support.sizes import Sizes
from support.tables.random_tables import repeatable, seeds
from tclose.cli.main import main
from tclose.errors import TcloseError
from tclose.passes.microaggregate import losses
from tclose.passes.microaggregate.analyses import record_counts, workload
from tclose.passes.microaggregate.analyses.failing_measures import try_measuring
from tclose.passes.microaggregate.analyses.workload import ColumnParts, Workload
from tclose.passes.publish import analyses_summary
from tclose.passes.publish.analyses_summary import (
    describe_analyses,
    measure_correlation_ratio,
    measure_cramers_v,
    measure_errors,
)


@repeatable
@given(seeds)
def test_cramers_v_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 9, rng.integers(2, 6, 2)) + np.eye(6, dtype=int)[0, 0]
    v = association(table, method="cramer")
    assert measure_cramers_v(table) == pytest.approx(v, abs=1e-12)
    padded = np.pad(table, 1)  # categories that nobody has
    assert measure_cramers_v(padded) == pytest.approx(v, abs=1e-12)


def test_categories_of_one_value_have_no_association() -> None:
    assert np.isnan(measure_cramers_v(np.array([[3, 4], [0, 0]])))
    assert measure_cramers_v(np.array([[3, 0], [0, 5]])) == pytest.approx(1)
    assert np.isnan(measure_correlation_ratio(np.array([3, 0]), np.array([1.0, 0.0]), 5.0))
    assert np.isnan(measure_correlation_ratio(np.array([3, 2]), np.array([0.0, 0.0]), 0.0))


def test_squares_past_float64_have_no_correlation_ratio() -> None:
    """A minimum of 1 and of what is not a number would read as the closest association."""
    sums = np.array([3e200, -2e200])
    assert np.isnan(measure_correlation_ratio(np.array([3, 2]), sums, np.inf))


@repeatable
@given(seeds)
def test_the_correlation_ratio_is_that_of_pandas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"c": rng.integers(0, 5, 60), "x": rng.normal(1e6, 3, 60)})
    means = frame.groupby("c")["x"].transform("mean")
    expected = means.std(ddof=0) / frame["x"].std(ddof=0)
    groups = frame.assign(x=frame["x"] - 999_990).groupby("c")["x"]
    total = 60 * frame["x"].var(ddof=0)
    found = measure_correlation_ratio(
        groups.size().to_numpy(), groups.sum().to_numpy(), float(total)
    )
    assert found == pytest.approx(expected, rel=1e-6)


def test_errors_have_a_floor() -> None:
    counts = np.array([[0, 100, 200, 10], [5, 90, 200, 40]])
    errors = measure_errors(counts, 20_000)
    assert errors is not None
    assert (errors.queries, errors.floor) == (4, 20)
    assert errors.median_error == pytest.approx((0.1 + 0.25) / 2)
    assert errors.ninth_tenth_error == 1.5
    assert measure_errors(counts[:, :0], 20_000) is None
    few = measure_errors(counts, 300)
    assert few is not None
    assert few.floor == 10


def is_met(column: ColumnParts, keys: np.ndarray, low: int, high: int) -> np.ndarray:
    """Which keys are in a range, by the values that it ends with."""
    if not column.is_ordered:
        return np.isin(column.of_category[keys], np.arange(low, high))
    is_above = np.ones(keys.size, bool) if low == 0 else keys > column.ends[low - 1]
    return is_above & (high == column.n_parts or keys <= column.ends[high - 1])


def count_rows(table: pa.Table, plan: Any, workload: Workload, pay: list[int]) -> list[int]:
    """Count rows query by query; ``pay``: the confidential values of all records, ascending."""
    keys = [e.encode(table[e.column.name].combine_chunks()) for e in plan.encodings]
    keys.append(np.searchsorted(np.unique(pay), table["pay"].to_numpy()))
    return [
        int(
            np.all(
                [is_met(workload.columns[j], keys[j], a, b) for j, a, b in query if j >= 0], axis=0
            ).sum()
        )
        for query in workload.queries.tolist()
    ]


@pytest.mark.parametrize(
    ("asked", "not_counted"),
    [
        ({"attributes": {"pay": {"role": "confidential", "bands": [3000, 6000]}}}, ["pay"]),
        ({"method": {"name": "bucketization", "ratio": 2}, "privacy": {"k": 3}}, ["pay"]),
        ({"method": {"name": "bucketization", "ratio": 2, "release": "value"}}, []),
        ({}, []),
    ],
)
def test_values_that_are_released_in_ranges_are_told_and_not_counted(
    tmp_path: Path, asked: dict[str, Any], not_counted: list[str]
) -> None:
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(300)))
    document["attributes"] |= asked.get("attributes", {})
    made = release(document | {name: keys for name, keys in asked.items() if name != "attributes"})
    analyses = made.internal["utility"]["analyses"]
    assert analyses["not_counted"] == not_counted
    assert analyses["range_counts"]["queries"] == 1_000
    page = (made.folder / "internal" / "report.html").read_text()
    assert ("Not measured: counts over pay, of which ranges" in page) is bool(not_counted)


def test_an_audit_counts_no_bands_either(tmp_path: Path) -> None:
    """It has them as values, without what was done to make them."""
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(300)))
    document["attributes"]["pay"] = {"role": "confidential", "bands": [3000, 6000]}
    made = release(document)
    beside = tclose.audit(made.folder, policy=document).details.to_json()["originals"]
    assert beside["analyses"] == made.internal["utility"]["analyses"]
    assert beside["analyses"]["not_counted"] == ["pay"]


def test_a_column_that_is_released_as_one_group_does_not_look_kept(tmp_path: Path) -> None:
    """Of many rare codes most are in the part of all others, as is the group above them."""
    code = [f"c{i % 300:03d}" for i in range(600)]
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(600, code=code)))
    document["attributes"]["code"] = {"role": "quasi-identifier", "prefixes": [1], "weight": 1e-6}
    made = release(document)
    n_kept = np.sum([text.isalnum() for text in made.table["code"].to_pylist()])
    analyses = made.internal["utility"]["analyses"]
    assert n_kept < 60
    assert analyses["marginals"]["code"] == pytest.approx(1 - n_kept / 600, rel=0.01)
    assert analyses["unchanged_by_column"]["code"] == pytest.approx(n_kept / 600, rel=0.01)
    beside = tclose.audit(made.folder, policy=document).details.to_json()["originals"]
    assert beside["analyses"] == analyses


def test_range_counts_are_those_of_the_released_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    """Of regions that are counted apart, and of rows that are read from the files."""
    seen: list[Any] = []
    sizes.regions(200)

    def spy(*given: Any) -> Any:
        seen.extend(given)
        return describe_analyses(*given)

    monkeypatch.setattr(analyses_summary, "describe_analyses", spy)
    table = people(600, town=np.random.default_rng(1).choice(list("abcd"), 600))
    document = policy_for(write_parquet(tmp_path / "in.parquet", table))
    document["attributes"] |= {"town": "quasi-identifier"}
    made = release(document)
    losses, plan, workload, _ = seen
    assert len(losses.counted) > 1
    before, after = (
        count_rows(one, plan, workload, table["pay"].to_pylist()) for one in (table, made.table)
    )
    found = made.internal["utility"]["analyses"]["range_counts"]
    errors = [abs(b - a) / max(a, 10) for a, b in zip(before, after, strict=True)]
    assert found["median_error"] == pytest.approx(median(errors), rel=0.006)
    assert sorted(errors)[899:901] == pytest.approx([found["ninth_tenth_error"]] * 2, rel=0.05)


class Faulty:
    """Fails where an analysis is made."""

    def __call__(self, *given: Any) -> Any:
        raise IndexError(f"row 7: {given}")


PLACES = {
    "drawn": (workload, "draw_queries"),
    "counted": (record_counts, "count_ranges"),
    "spread": (losses, "spread_values"),
    "described": (analyses_summary, "measure_errors"),
}


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, Any]:
    document = policy_for(write_parquet(tmp_path / "in.parquet", people(300)))
    accepted = {"engine": {"accepted_warnings": ["TC-W006"]}}
    return document | {"method": {"name": "mondrian"}} | accepted


@pytest.mark.filterwarnings(
    "ignore::tclose.passes.microaggregate.analyses.failing_measures.UnmeasuredWarning"
)
@pytest.mark.every_case
@pytest.mark.parametrize("place", PLACES)
def test_analyses_that_fail_leave_a_sound_release(
    place: str,
    asked: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sound = release(asked | {"name": "sound"})
    monkeypatch.setattr(*PLACES[place], Faulty())
    policy = write_policy(tmp_path / "policy.yaml", asked)
    assert main(["run", str(policy), "--quiet", "--strict"]) == 3
    assert "TC-W013: analyses: stopped by IndexError (" in capsys.readouterr().err
    made = release(asked)
    utility = made.internal["utility"]
    assert "analyses" not in utility or utility["analyses"] is None
    assert utility["not_measured"].startswith("analyses: stopped by IndexError (")
    assert "row 7" not in json.dumps(made.internal)
    assert made.table.equals(sound.table)
    assert [one["code"] for one in made.internal["warnings"]] == ["TC-W006", "TC-W013"]
    page = (made.folder / "internal" / "report.html").read_text()
    assert "Not measured: analyses: stopped by IndexError" in page
    assert main(["show", str(made.folder)]) == 0
    assert "not measured" in capsys.readouterr().out


def test_tests_do_not_hide_analyses_that_fail(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*PLACES["counted"], Faulty())
    with pytest.raises(TcloseError, match="UnmeasuredWarning"):
        release(asked)


def test_no_memory_is_no_fault_of_the_analyses() -> None:
    def ask_for_much() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        try_measuring(ask_for_much)
