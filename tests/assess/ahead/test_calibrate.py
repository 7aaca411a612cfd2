"""The calibration is measured once, by releases of generated records, and never fails a plan."""

import json
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest

from tclose.assess.ahead.calibrate import calibrate, time_work
from tclose.passes.plan.notices.costs.calibration import (
    FILE,
    REFERENCE,
    WorkSeconds,
    keep_calibration,
    read_calibration,
)
from tclose.runtime.monitoring.progress import Progress


def test_each_kind_of_work_takes_time(tmp_path: Path) -> None:
    few, more = (time_work(_made(tmp_path / f"{n}"), n, 1) for n in (1_000, 30_000))
    assert all(seconds >= 0 for seconds in astuple(few))
    assert all(seconds > 0 for seconds in astuple(more))
    assert few.classes < more.classes


def test_what_is_kept_is_not_measured_again(tmp_path: Path) -> None:
    folder, scratch = _made(tmp_path / "kept"), _made(tmp_path / "scratch")
    kept = keep_calibration(REFERENCE, folder)
    document = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(document | {"busy": False}))
    assert calibrate(scratch, Progress("none"), folder=folder) == kept == WorkSeconds()
    assert not list(scratch.iterdir())


def test_what_cannot_be_read_is_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernels are there: they were needed to know what a table takes."""
    folder, scratch = _made(tmp_path / "kept"), _made(tmp_path / "scratch")
    soon = partial(time_work, n_records=1_000, n_tries=1)
    soon(_made(tmp_path / "compiled"))
    monkeypatch.setattr("tclose.assess.ahead.calibrate.time_work", soon)
    (folder / FILE).write_text("{")
    found = calibrate(scratch, Progress("none"), folder=folder)
    assert found == read_calibration(folder)


def test_a_place_that_is_taken_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "calibration").write_text("")
    assert calibrate(tmp_path, Progress("none"), folder=tmp_path / "none") is None


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder
