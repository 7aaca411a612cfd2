"""Files of a release: rows are cut into them in order, and put in place whole."""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.people import people, policy_for, write_parquet
from support.passes import UNTIL_VERDICT, run_passes
from support.tables.random_tables import repeatable
from tclose.errors import VerificationError
from tclose.model.verification import Failure
from tclose.passes.publish import publish, write_task
from tclose.passes.release import open_release
from tclose.passes.verify.verdict import VERDICT
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

QUIET = Progress("none")
pieces = st.lists(st.integers(0, 7), max_size=6)


@repeatable
@given(pieces, st.integers(1, 9))
def test_rows_are_cut_in_their_order(sizes: list[int], rows_per_file: int) -> None:
    given_pieces = [(index, 10, 10 + size) for index, size in enumerate(sizes)]
    files = write_task._split_pieces(given_pieces, rows_per_file)
    rows = [(i, row) for file in files for i, start, stop in file for row in range(start, stop)]
    assert rows == [(i, row) for i, start, stop in given_pieces for row in range(start, stop)]
    held = [sum(stop - start for _, start, stop in file) for file in files]
    assert all(n_rows == rows_per_file for n_rows in held[:-1])
    assert held[-1] <= rows_per_file


@repeatable
@given(pieces)
def test_batches_end_where_the_writer_looks(sizes: list[int]) -> None:
    """However the rows were cut on their way, so that the bytes are the same."""
    n_rows = sum(sizes)
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    batch = pa.record_batch({"a": range(n_rows), "b": range(n_rows)})
    cut = (batch.slice(start, stop - start) for start, stop in pairwise(ends))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_task, "WRITTEN_AT_ONCE", 3)
        found = list(write_task._aligned(cut, ["b"]))
    assert [value for part in found for value in part["b"].to_pylist()] == list(range(n_rows))
    assert all(part.num_rows % 3 == 0 for part in found[:-1])
    assert all(part.schema.names == ["b"] for part in found)


@pytest.mark.parametrize("is_linked", [True, False])
def test_file_is_in_its_place_where_no_link_can_be_made(
    is_linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    if not is_linked:
        monkeypatch.setattr(os, "link", refuse)
    written, place = tmp_path / "written", tmp_path / "place"
    written.write_bytes(b"rows")
    publish._place_file(written, place)
    assert place.read_bytes() == b"rows"
    assert written.samefile(place) is is_linked


def test_without_a_verdict_nothing_is_published(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "people.parquet", people())
    policy = parse_policy(policy_for(source))
    with (
        pytest.raises(VerificationError, match="no verdict, no release"),
        open_release(policy, QUIET) as run,
    ):
        run_passes(run, QUIET, "summarise", "plan", "publish")
    assert not list((tmp_path / "releases").rglob("*.parquet"))


def publish_verified(folder: Path, change: Callable[[Run], None]) -> None:
    """Publish a run that was verified, once something is changed."""
    policy = parse_policy(policy_for(write_parquet(folder / "people.parquet", people())))
    with open_release(policy, QUIET) as run:
        run_passes(run, QUIET, *UNTIL_VERDICT)
        change(run)
        run_passes(run, QUIET, "publish")


def test_with_a_verdict_that_fails_nothing_is_published(tmp_path: Path) -> None:
    def fail(run: Run) -> None:
        failure = Failure("k", "at least 3 records", "1 smaller classes")
        verdict = replace(run.workspace.load(VERDICT), failures=(failure,))
        run.workspace.save(VERDICT, verdict)

    with pytest.raises(VerificationError, match="no verdict, no release"):
        publish_verified(tmp_path, fail)
    assert not list((tmp_path / "releases").glob("*/*/manifest.json"))


def test_with_a_file_too_few_nothing_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop_files(_: Run) -> None:
        monkeypatch.setattr(publish, "cut_files", lambda *_: [])

    with pytest.raises(VerificationError, match="another number of rows"):
        publish_verified(tmp_path, drop_files)
    assert not list((tmp_path / "releases").glob("*/*/manifest.json"))
