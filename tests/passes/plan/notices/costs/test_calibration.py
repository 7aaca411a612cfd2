"""The calibration is kept, is of one machine, and is none where it cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tclose.passes.plan.notices.costs.calibration import (
    FILE,
    NO_CALIBRATION,
    REFERENCE,
    WorkSeconds,
    keep_calibration,
    kernel_folder,
    read_calibration,
)

TWICE = WorkSeconds(2 * REFERENCE.records, 2 * REFERENCE.classes, 2 * REFERENCE.search)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "kept"
    place.mkdir(mode=0o700)
    return place


def test_it_is_kept_as_times_of_the_reference(folder: Path) -> None:
    assert read_calibration(folder) is None
    assert keep_calibration(TWICE, folder) == WorkSeconds(2.0, 2.0, 2.0)
    assert read_calibration(folder) == WorkSeconds(2.0, 2.0, 2.0)
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("busy", [True, False])
def test_one_of_a_busy_machine_is_used_until_there_is_another(folder: Path, busy: bool) -> None:
    keep_calibration(TWICE, folder)
    document = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(document | {"busy": busy}))
    assert read_calibration(folder) == WorkSeconds(2.0, 2.0, 2.0)
    assert (read_calibration(folder, of_quiet=True) is None) is busy


def test_reading_leaves_no_folder_open(folder: Path) -> None:
    keep_calibration(TWICE, folder)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert read_calibration(folder) is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    "change",
    [
        {"machine": "another"},
        {"version": 0},
        {"seconds": {"records": 0.1}},
        {"seconds": {"records": -1.0, "classes": 0.1, "search": 0.1}},
        {"seconds": {"records": float("nan"), "classes": 0.1, "search": 0.1}},
        {"seconds": {"records": 1e9, "classes": 0.1, "search": 0.1}},
        {"seconds": {"records": 10**400, "classes": 0.1, "search": 0.1}},
        {"seconds": {"records": "much", "classes": 0.1, "search": 0.1}},
        {"seconds": 3},
    ],
)
def test_another_machines_or_an_impossible_one_is_none(
    folder: Path, change: dict[str, Any]
) -> None:
    keep_calibration(TWICE, folder)
    document = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(document | change))
    assert read_calibration(folder) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe"])
def test_a_damaged_file_is_none(folder: Path, content: bytes) -> None:
    keep_calibration(TWICE, folder)
    (folder / FILE).write_bytes(content)
    assert read_calibration(folder) is None


def test_one_that_others_could_write_is_none(folder: Path) -> None:
    keep_calibration(TWICE, folder)
    (folder / FILE).chmod(0o666)
    assert read_calibration(folder) is None


def test_what_cannot_be_kept_is_used_once(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    assert keep_calibration(TWICE, place) == WorkSeconds(2.0, 2.0, 2.0)
    assert read_calibration(place) is None


def test_what_was_not_measured_changes_nothing(folder: Path) -> None:
    assert keep_calibration(WorkSeconds(0.0, 0.0, 0.0), folder) == NO_CALIBRATION
    assert read_calibration(folder) is None


def test_it_is_kept_beside_the_kernels() -> None:
    folder = kernel_folder()
    assert folder is None or len(folder.name) == 20
