"""Many small partitions: what each costs is counted, in files that are forced and tasks."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.discharge_policies import data_digests
from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, policy_for, release
from support.length import every
from tclose.assess.auditing.audit import audit_release
from tclose.passes.verify import verdict
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, Workspace

pytestmark = pytest.mark.usefixtures("small_regions")

PER_PARTITION = 12


def write_people(folder, n_partitions):
    rng = np.random.default_rng(6)
    n_records = n_partitions * PER_PARTITION
    table = {
        "part": np.repeat(np.arange(n_partitions), PER_PARTITION),
        "age": rng.integers(18, 90, n_records),
        "pay": rng.integers(0, 9, n_records),
    }
    pq.write_table(pa.table(table), folder / "people.parquet")
    return policy_for(
        folder / "people.parquet",
        attributes={"part": PASSTHROUGH, "age": QUASI, "pay": CONFIDENTIAL},
        privacy={"k": 4, "t": 0.8},
        output={"path": str(folder / "releases"), "partition_by": ["part"]},
    )


def release_and_count(folder, n_partitions, monkeypatch):
    """Files and folders that are forced to disk, and tasks of each pass."""
    folder.mkdir()
    document = write_people(folder, n_partitions)
    counted = {"forced": 0}
    force, task_files = os.fsync, Workspace.task_files

    def count_forced(descriptor):
        counted["forced"] += 1
        force(descriptor)

    tasks = set()

    def note_task(self, task_name, name):
        tasks.add((task_name, name))
        return task_files(self, task_name, name)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", count_forced)
        patch.setattr(Workspace, "task_files", note_task)
        made = release(document)
    assert len(made.paths) == n_partitions
    return counted | {
        name: sum(task == name for task, _ in tasks) for name in ("microaggregate", "verify")
    }


@pytest.mark.nightly
def test_what_a_partition_costs(tmp_path, monkeypatch):
    few = release_and_count(tmp_path / "few", 100, monkeypatch)
    many = release_and_count(tmp_path / "many", 300, monkeypatch)
    assert many["microaggregate"] - few["microaggregate"] == 200
    assert few["verify"] == many["verify"] == verdict.FEW_RANGES
    assert many["forced"] - few["forced"] == 2 * 200  # its file and its folder


@pytest.mark.nightly
@pytest.mark.parametrize(("few", "records"), every(2, [(1, 10**9), (64, 10_000), (10**9, 1)]))
def test_the_same_bytes_however_classes_are_shared_out(few, records, tmp_path, sizes):
    expected = data_digests(release(write_people(tmp_path, 90)).folder)
    sizes.ranges(few=few, records=records)
    document = write_people(tmp_path, 90)
    document["output"]["path"] = str(tmp_path / "again")
    made = release(document)
    assert data_digests(made.folder) == expected
    assert audit_release(made.folder).findings == []


def test_regions_that_key_ranges_read():
    """Each holds the classes of ten regions or so, and opens these and its neighbours'."""
    ends = [((i, 0), (i, 9), i) for i in range(10_000)]
    cuts = [None, *((i, 5) for i in range(10, 10_000, 10)), None]
    opened = [verdict._find_overlapping(ends, low, high) for low, high in pairwise(cuts)]
    assert sorted({number for numbers in opened for number in numbers}) == list(range(10_000))
    assert max(map(len, opened)) <= 12
    assert opened[1] == list(range(10, 21))


@pytest.mark.parametrize("damage", ["cut off", "emptied", "garbled"])
def test_a_record_that_a_power_failure_damaged_is_none(damage, tmp_path):
    """Records are not forced to disk: whatever of one arrives there, it is believed whole only."""
    files = Workspace(tmp_path).task_files("pass", 3)
    data = FileArtifact("pass/data", Path)
    with files.pending_files((data,)) as pending:
        pending.new(data).write_bytes(b"data")
    rows = Artifact("rows", dict[str, int])
    files.finish({"rows": 5}, ("data",), rows)
    assert files.load_if_valid(rows).result == {"rows": 5}
    whole = files.path("record").read_bytes()
    partial = {"cut off": whole[:-7], "emptied": b"", "garbled": whole[:40] + b"\0" * 9}[damage]
    files.path("record").write_bytes(partial)
    assert files.load_if_valid(rows) is None
    files.path("record").write_bytes(whole)
    files.path("data").write_bytes(b"dat")
    assert files.load_if_valid(rows) is None
