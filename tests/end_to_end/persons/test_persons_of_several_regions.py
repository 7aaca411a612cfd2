"""Persons with records in classes of several regions that are released alike.

A class of each holds over persons, and both together do not.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import QUASI, Released, policy_for, release, write_parquet
from tclose.errors import TaskError, VerificationError
from tclose.passes.microaggregate import microaggregate

N_RECORDS, N_PERSONS, REGION = 3_000, 750, 250


@pytest.fixture(autouse=True)
def regions(sizes: Any) -> None:
    sizes.regions(REGION)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four records of each on average, most of them of the same age."""
    rng = np.random.default_rng(4)
    persons = rng.integers(0, N_PERSONS, N_RECORDS)
    age = rng.integers(0, 60, N_PERSONS)[persons] + (rng.random(N_RECORDS) < 0.3)
    pay = rng.permutation(N_RECORDS)
    table = pa.table({"person": persons, "age": age, "pay": pay})
    return write_parquet(tmp_path_factory.mktemp("persons") / "in.parquet", table)


def make(source: Path, place: Path, n_workers: int | str = "auto") -> Released:
    attributes = {"person": "person", "age": QUASI, "pay": "confidential"}
    return release(
        policy_for(
            source,
            attributes=attributes,
            privacy={"k": 3, "t": 0.15},
            method={"refine": "lean"},
            engine={"workers": n_workers},
            output={"path": str(place)},
        )
    )


def test_are_united_with_others_until_all_hold(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(source, tmp_path / "made")
    assert made.internal["largest_emd_over_persons"]["pay"] <= 0.15
    assert made.data == make(source, tmp_path / "by-workers", 2).data
    monkeypatch.setattr(microaggregate, "has_returning", lambda _: False)
    with pytest.raises(VerificationError, match="t of pay over persons: asked at most"):
        make(source, tmp_path / "as-they-are")


@pytest.mark.parametrize("n_done", [0, 1])
def test_a_run_that_goes_on_unites_the_same(
    n_done: int, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended before the regions were aggregated anew, or when that was done."""
    map_regions, n_anew = microaggregate._map_regions, 0

    def end(*of_task: Any, is_anew: bool = False) -> list[Any]:
        nonlocal n_anew
        n_anew += is_anew and bool(of_task[-1])
        if is_anew and n_anew > n_done and of_task[-1]:
            raise TaskError("ended")
        results: list[Any] = map_regions(*of_task, is_anew=is_anew)
        if n_anew and n_done:
            raise TaskError("ended")
        return results

    with monkeypatch.context() as patch:
        patch.setattr(microaggregate, "_map_regions", end)
        with pytest.raises(TaskError, match="ended"):
            make(source, tmp_path / "ended")
    assert n_anew == 1
    made = make(source, tmp_path / "made")
    assert make(source, tmp_path / "ended").data == made.data
