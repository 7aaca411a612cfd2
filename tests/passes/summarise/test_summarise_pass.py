"""Counts of partitions and the distributions that are merged from them, wherever they are cut."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import people, policy_for, write_parquet
from support.sizes import Sizes
from tclose.passes.plan.plan import PLAN
from tclose.passes.release import RELEASE
from tclose.passes.summarise import distributions
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import DISTRIBUTIONS, split_release_partitions
from tclose.passes.summarise.summarise_task import VALUE_COUNTS
from tclose.policy.policy import parse_policy
from tclose.runtime.artifacts.artifacts import Artifact, Workspace
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import Run

N_RECORDS = 300
PIECE = 80


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    pay = pa.array(rng.integers(0, 40, N_RECORDS), mask=rng.random(N_RECORDS) < 0.05)
    return people(N_RECORDS, pay=pay)


def run_until(artifact: Artifact[object], folder: Path, **changes: object) -> Workspace:
    """The working files of the passes up to the one that writes an artifact."""
    source = write_parquet(folder / "people.parquet", table(), row_group_size=PIECE)
    policy = parse_policy(policy_for(source, missing="drop", **changes))
    run = Run(policy, "trial", folder / "work", InProcess())
    run_pipeline(RELEASE.until(artifact), run, Progress("none"))
    return run.workspace


def test_each_partition_is_counted_by_its_own_records(tmp_path: Path) -> None:
    workspace = run_until(INPUT_SUMMARY, tmp_path)
    summary, partitions = workspace.load(INPUT_SUMMARY), workspace.load(PARTITIONS)
    assert [partition.n_records for partition in partitions] == [80, 80, 80, 60]
    assert summary.table.n_read == N_RECORDS
    assert summary.table.n_complete == len(table()) - table()["pay"].null_count
    for index, partition in enumerate(partitions):
        piece = table().slice(partition.first_position, partition.n_records)
        values, counts = np.unique(piece["pay"].drop_null().to_numpy(), return_counts=True)
        found = workspace.file(VALUE_COUNTS, index, 0).read()
        assert found["value"].tolist() == values.tolist()
        assert found["count"].tolist() == counts.tolist()
        assert summary.pieces[index].spans == ({(): (0, values.size)},)


@pytest.mark.every_case
@pytest.mark.parametrize("is_wide", [False, True])
def test_columns_that_are_carried_are_sampled_however_they_are_read(
    is_wide: bool, tmp_path: Path, sizes: Sizes
) -> None:
    if is_wide:
        sizes.wide(fetched=100, batch=500, columns=1, compared=1_000)
    roles = {"age": "non-confidential", "sex": "quasi-identifier", "pay": "confidential"}
    workspace = run_until(INPUT_SUMMARY, tmp_path, attributes=roles)
    carried = workspace.load(INPUT_SUMMARY).carried
    ages = table()["age"].to_pylist()
    assert carried.keys() == {"age"}
    numbers = carried["age"].tolist()
    assert len(set(zip(ages, numbers, strict=True))) == len(set(ages)) == len(set(numbers))


def test_long_texts_are_told_apart_by_their_beginnings(tmp_path: Path) -> None:
    texts = ["a" * 5_000 + str(i) for i in range(N_RECORDS)]
    source = write_parquet(tmp_path / "people.parquet", people(N_RECORDS, note=texts))
    roles = {"age": "quasi-identifier", "sex": "quasi-identifier", "pay": "confidential"}
    document = policy_for(source, attributes=roles | {"note": "non-confidential"})
    run = Run(parse_policy(document), "trial", tmp_path / "work", InProcess())
    run_pipeline(RELEASE.until(INPUT_SUMMARY), run, Progress("none"))
    numbers = run.workspace.load(INPUT_SUMMARY).carried["note"]
    assert (numbers.size, np.unique(numbers).size) == (N_RECORDS, 1)


def test_release_partitions_have_spans_of_their_own(tmp_path: Path) -> None:
    attributes = {"age": "quasi-identifier", "sex": "non-confidential", "pay": "confidential"}
    output = {"path": str(tmp_path / "releases"), "partition_by": ["sex"]}
    workspace = run_until(INPUT_SUMMARY, tmp_path, attributes=attributes, output=output)
    counted = {"m": 0, "f": 0}
    for index, piece in enumerate(workspace.load(INPUT_SUMMARY).pieces):
        rows = workspace.file(VALUE_COUNTS, index, 0).read()
        for (sex,), (start, stop) in piece.spans[0].items():
            counted[sex] += int(rows["count"][start:stop].sum())
    complete = table().filter(table()["pay"].is_valid())
    assert counted == {sex: complete["sex"].to_pylist().count(sex) for sex in counted}


@pytest.mark.parametrize("merged_values", [1, 7, 10**6])
def test_distribution_is_that_of_the_table_wherever_ranges_are_cut(
    merged_values: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "MERGED_VALUES", merged_values)
    found = run_until(PLAN, tmp_path).file(DISTRIBUTIONS, 0).read()
    values, counts = np.unique(table()["pay"].drop_null().to_numpy(), return_counts=True)
    assert found.values.tolist() == values.tolist()
    assert found.counts.tolist() == counts.tolist()
    assert found.prefix.tolist() == [0, *np.cumsum(np.cumsum(counts)).tolist()]


def test_rows_of_each_combination_of_partition_values() -> None:
    columns = {"a": ["x", "y", "x", "x"], "b": [1, 1, 2, 1]}
    rows = split_release_partitions(pa.table(columns), ("a", "b"))
    found = {key: of_key.tolist() for key, of_key in rows.items()}
    assert found == {("x", 1): [0, 3], ("y", 1): [1], ("x", 2): [2]}
    assert split_release_partitions(pa.table(columns), ())[()].tolist() == [0, 1, 2, 3]
    assert split_release_partitions(pa.table(columns).slice(0, 0), ("a",)) == {}
