"""What a task that runs tells of itself moves the bar, and nothing else depends on it."""

import re
import time
from pathlib import Path

import pytest

from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring import progress as progress_module
from tclose.runtime.monitoring import task_shares
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.monitoring.task_shares import (
    SUFFIX,
    TaskShares,
    part_of_task,
    tell_share,
    telling,
)
from tclose.runtime.tasks import Task, run_tasks

SIZE = 1_000
SECONDS = 20.0


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every share is written."""
    monkeypatch.setattr(task_shares, "TELL_SECONDS", 0.0)


def read(path: Path) -> float:
    return float(path.read_text())


def test_a_part_of_a_task_tells_shares_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / f"one.{SUFFIX}"
    with telling(path):
        tell_share(0.1)
        assert read(path) == 0.1
        with part_of_task(0.2, 0.6):
            tell_share(0.5)
            assert read(path) == 0.4
            with part_of_task(0.5, 1.0):
                tell_share(2.0)  # as an estimate may say
                assert read(path) == 0.6
        tell_share(0.7)
        assert read(path) == 0.7
    assert not path.exists()


def test_outside_a_task_nothing_is_told(tmp_path: Path) -> None:
    with part_of_task(0.2, 0.6):
        tell_share(0.5)
    assert list(tmp_path.iterdir()) == []


def test_shares_are_of_those_that_are_not_done_and_never_fall(tmp_path: Path) -> None:
    (tmp_path / f"a.{SUFFIX}").write_text("0.7")  # of a run that was killed
    shares = TaskShares(tmp_path, {"a": 0, "b": 1})
    assert shares.look([]) == {}
    for name, share in {"a": "0.5", "b": "1.0", "c": "0.3"}.items():
        (tmp_path / f"{name}.{SUFFIX}").write_text(share)
    assert shares.look([]) == {0: 0.5, 1: 0.99}
    (tmp_path / f"a.{SUFFIX}").write_text("0.2")
    (tmp_path / f"b.{SUFFIX}").write_text("half")  # as it may be while it is written
    assert shares.look([1]) == {0: 0.5}
    assert TaskShares(tmp_path / "nowhere", {}).look([]) == {}


def test_a_folder_is_not_looked_through_for_every_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = TaskShares(tmp_path, {"a": 0, "b": 1})
    (tmp_path / f"a.{SUFFIX}").write_text("0.5")
    assert shares.look([]) == {0: 0.5}
    monkeypatch.setattr(task_shares, "TELL_SECONDS", 1e9)
    (tmp_path / f"b.{SUFFIX}").write_text("0.5")
    assert shares.look([]) == {0: 0.5}
    assert shares.look([0]) == {}


def test_a_share_that_cannot_be_removed_fails_no_task(tmp_path: Path) -> None:
    path = tmp_path / f"a.{SUFFIX}"
    path.mkdir()
    with telling(path):
        tell_share(0.5)
    assert TaskShares(tmp_path, {"a": 0}).look([]) == {}


def test_a_task_that_runs_moves_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.01)
    progress = Progress("lines")

    def wait(_: Workspace, share: float, __: PendingFiles) -> None:
        tell_share(share)
        end = time.monotonic() + SECONDS
        while progress.works[-1].records_running != share * SIZE:
            assert time.monotonic() < end
            time.sleep(0.01)

    workspace = Workspace(tmp_path)
    run_tasks(InProcess(), workspace, Task("wait", "waiting", wait), [0.25], progress, sizes=[SIZE])
    shown = capsys.readouterr().err
    assert re.search(r"waiting: 25 %, 250 of 1,000 records, [\d,]+ records/s, about ", shown)
    assert progress.works[-1].records_running == 0
    assert progress.works[-1].records_done == SIZE
    assert not list(tmp_path.rglob(f"*.{SUFFIX}"))
