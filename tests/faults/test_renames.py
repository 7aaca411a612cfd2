"""Killed before and after each rename of a run: the next run ends as if nothing had been.

A release for each: only where ``TCLOSE_FAULTS`` is given, as `make faults` does.
"""

import os
import shutil
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest

from support.cases.people import Released, people, policy_for, release, write_parquet
from support.faults.faulty_run import counted, watch_renames
from tclose.assess.auditing.audit import audit_release

LONG = () if "TCLOSE_FAULTS" in os.environ else (pytest.mark.nightly,)
pytestmark = [*LONG, pytest.mark.timeout(1800)]

SECONDS = 300


def in_a_child(work: Any) -> int:
    """Work in a copy of this process; how that ended, as `os.waitpid` has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do not matter here
        child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def release_counted(document: dict[str, Any], told: Path) -> None:
    """A run that tells how many renames it had."""
    watch_renames(lambda *_: None)
    before = counted["renames"]
    release(document)
    told.write_text(str(counted["renames"] - before))


def release_killed(document: dict[str, Any], number: int, side: str) -> None:
    """A run that is killed at one of its renames."""
    last = counted["renames"] + number
    watch_renames(
        lambda n, s: os.kill(os.getpid(), signal.SIGKILL) if (n, s) == (last, side) else None
    )
    release(document)


def check_clean(made: Released, expected: dict[str, bytes]) -> None:
    """One release, current, of the undisturbed bytes, and nothing beside it."""
    root = made.folder.parent
    assert made.data == expected
    assert audit_release(root).findings == []
    left = {path.name for path in root.iterdir()} - {".lock", ".failed"}
    assert left == {"CURRENT", made.folder.name}


def clear(folder: Path) -> None:
    """Let nothing stand there but a key, so that each run begins alike."""
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / ".release-key").write_bytes(bytes(32))
    (folder / ".release-key").chmod(0o600)


def test_killed_around_each_rename(tmp_path, record_property):
    document = policy_for(write_parquet(tmp_path / "people.parquet", people()))
    expected = release(document).data
    clear(tmp_path / "releases")
    assert in_a_child(lambda: release_counted(document, tmp_path / "n")) == 0
    n_renames = int((tmp_path / "n").read_text())
    points = [(n, side) for n in range(1, n_renames + 1) for side in ("before", "after")]
    root = tmp_path / "releases" / "people"
    for number, side in points:
        clear(tmp_path / "releases")
        status = in_a_child(lambda n=number, s=side: release_killed(document, n, s))
        assert os.WTERMSIG(status) == signal.SIGKILL, (number, side)
        if (root / "CURRENT").exists():
            assert audit_release(root).findings == []
        check_clean(release(document), expected)
    record_property("fault", f"killed around renames: {len(points)} points")
