"""Values by the records that their persons have: counted by partition, merged by ranges."""

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.model.array_types import Int64
from tclose.passes.persons.person_digest import WORD, digest_persons
from tclose.passes.persons.person_values import (
    MERGED_PERSON_VALUES,
    PERSON_DIGEST,
    PERSON_VALUES,
    VALUE_WEIGHTS,
    WEIGH_TASK,
    WeighInput,
    count_person_values,
    sum_digests,
    write_digest,
)
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.tasks import Task, run_tasks

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=15)


def count_pairs(rows: list[tuple[int, int]]) -> list[list[int]]:
    """The definition: how often a value is one of a person with so many records."""
    return [[value, n, count] for (value, n), count in sorted(Counter(rows).items())]


@given(ROWS, ROWS)
def test_counts_are_those_of_the_definition(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    n = min(len(first), len(second))
    codes = np.array([[v for v, _ in first[:n]], [v for v, _ in second[:n]]], dtype=np.int64)
    n_records = np.array([r for _, r in first[:n]], dtype=np.int64)
    counted = count_person_values(codes.reshape(2, n), n_records)
    for found, values in zip(counted, codes, strict=True):
        pairs = list(zip(values.tolist(), n_records.tolist(), strict=True))
        assert found.T.tolist() == count_pairs(pairs)


def test_no_records_have_no_counts() -> None:
    [counted] = count_person_values(np.empty((1, 0), np.int64), np.empty(0, np.int64))
    assert counted.shape == (3, 0)


def write_partition(_: Workspace, item: tuple[Int64, Int64], pending: PendingFiles) -> None:
    codes, n_records = item
    for attribute, counted in enumerate(count_person_values(codes, n_records)):
        pending.new(PERSON_VALUES, attribute).write(counted)
    write_digest(n_records, codes, pending.new(PERSON_DIGEST))


WRITE_TASK = Task("encode", "counting", write_partition, (PERSON_VALUES, PERSON_DIGEST))
PARTITIONS = [
    (np.array([[0, 1, 3], [2, 2, 0]]), np.array([1, 2, 2])),
    (np.empty((2, 0), dtype=np.int64), np.empty(0, dtype=np.int64)),
    (np.array([[3, 1], [1, 2]]), np.array([2, 1])),
]


def workspace_of(folder: Path) -> Workspace:
    workspace = Workspace(folder / "work")
    workspace.create()
    run_tasks(InProcess(), workspace, WRITE_TASK, PARTITIONS, Progress("none"))
    return workspace


def test_ranges_of_values_of_all_partitions_are_merged(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    ranges = [WeighInput(0, 0, 2, 3, 4), WeighInput(0, 2, 4, 3, 4), WeighInput(1, 0, 3, 3, 4)]
    sizes = run_tasks(InProcess(), workspace, WEIGH_TASK, ranges, Progress("none"))
    merged = [
        workspace.file(MERGED_PERSON_VALUES, index, item.attribute).read().T.tolist()
        for index, item in enumerate(ranges)
    ]
    assert merged == [
        [[0, 1, 1], [1, 1, 1], [1, 2, 1]],
        [[3, 2, 2]],
        [[0, 2, 1], [1, 2, 1], [2, 1, 2], [2, 2, 1]],
    ]
    assert sizes == [3, 1, 4]
    unit = 2 ** (62 - (4).bit_length())
    weights = [
        workspace.file(VALUE_WEIGHTS, index, item.attribute).read().tolist()
        for index, item in enumerate(ranges)
    ]
    halves = [[2, 3], [0, 2], [1, 1, 5]]  # a record of a person who has two is half of one
    assert weights == [[half * unit // 2 for half in of_range] for of_range in halves]


def test_a_range_without_values_is_empty(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    [size] = run_tasks(
        InProcess(), workspace, WEIGH_TASK, [WeighInput(0, 2, 3, 3, 4)], Progress("none")
    )
    assert size == 0
    assert workspace.file(MERGED_PERSON_VALUES, 0, 0).read().shape == (3, 0)


def test_digests_of_partitions_add_up_to_that_of_all(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    codes = np.concatenate([codes for codes, _ in PARTITIONS], axis=1)
    persons = np.concatenate([persons for _, persons in PARTITIONS])
    assert sum_digests(workspace, 3) == digest_persons(persons, codes) < WORD
    assert sum_digests(workspace, 0) == 0
