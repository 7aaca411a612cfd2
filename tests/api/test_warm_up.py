"""Kernels compiled ahead of time: what releases then need is there."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import config

from tclose.api import warm_up as module
from tclose.api.warm_up import CASES, warm_up
from tclose.cli.main import main
from tclose.errors import LostError, OutputError
from tclose.kernels import compiler
from tclose.passes import release
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress

# A release of another table by the same kind of policy, in a process of its own.
RELEASE = """
from pathlib import Path
from tclose.api import warm_up
folder = Path("again")
folder.mkdir()
from tclose.data.synthetic import write_microdata
write_microdata(folder / "table.parquet", 2_000, 7)
for number, overrides in enumerate(warm_up.CASES.values()):
    warm_up._release(folder, number, list(overrides))
"""


def test_each_kind_of_release_is_made_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "CASES", {"the clusters": CASES["the clusters"]})
    assert main(["warm-up"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "kernels of 1 of 1 kinds of releases are there" in lines


def test_errors_of_a_release_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CASES", {"wrong": ("privacy.k=0",)})
    with pytest.raises(Exception, match=r"privacy\.k"):
        warm_up(Progress("none"))


def wait_and_see(*_: object) -> None:
    """In place of a release: take longer than any test waits, and say in which process."""
    Path(os.environ["SEEN_IN"], f"{os.getpid()}").touch()
    multiprocessing.Event().wait(200)


STOPPED = """
import sys
sys.path.insert(0, sys.argv.pop())
from test_warm_up import wait_and_see
from tclose.__main__ import run_command
from tclose.api import warm_up
warm_up._release = wait_and_see
if __name__ == "__main__":
    sys.exit(run_command())
"""


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)],
)
def test_processes_and_table_go_with_the_command(tmp_path: Path, number: int) -> None:
    """At once, though they are compiling; what a kill leaves in TMPDIR goes with the next one."""
    seen, temporary = tmp_path / "seen", tmp_path / "tmp"
    seen.mkdir()
    temporary.mkdir()
    (tmp_path / "stopped.py").write_text(STOPPED)
    own = {"SEEN_IN": str(seen), "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(tmp_path / "c")}
    command = [sys.executable, str(tmp_path / "stopped.py"), "warm-up", str(Path(__file__).parent)]
    started = subprocess.Popen(command, env=os.environ | own, stderr=subprocess.PIPE)
    children = _wait_for(lambda: [int(one.name) for one in seen.iterdir()])
    started.send_signal(number)
    _, shown = started.communicate(timeout=10)
    assert _wait_for(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children))
    assert b"Traceback" not in shown
    if number == signal.SIGKILL:
        clear = "from tclose.runtime.scratch import clear_scratch; clear_scratch()"
        subprocess.run([sys.executable, "-c", clear], env=os.environ | own, check=True)
    assert not list(temporary.iterdir())


def be_ended(*_: object) -> None:
    """In place of a release: what the system does where there is no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail_to_write(*_: object) -> str:
    """In place of a release: what a full disk does."""
    compiler._failed_writes.append("/a/folder cannot be written (No space left on device)")
    return compiler.find_failed_write()


def test_a_process_that_was_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CASES", {"one": ()})
    monkeypatch.setattr(module, "_release", be_ended)
    with pytest.raises(LostError, match=r"was ended, most likely for want of memory.*taskset"):
        warm_up(Progress("none"))


def test_kernels_that_cannot_be_written_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CASES", {"one": ()})
    monkeypatch.setattr(module, "_release", fail_to_write)
    with pytest.raises(OutputError, match=r"not kept: /a/folder .*No space left.*NUMBA_CACHE_DIR"):
        warm_up(Progress("none"))


def _wait_for(found: Callable[[], Any]) -> Any:
    """Return what is there within some seconds."""
    until = time.monotonic() + 30
    while not (answer := found()) and time.monotonic() < until:
        time.sleep(0.05)
    return answer


def test_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Policy] = []
    monkeypatch.setattr(release, "run_release", lambda policy, _: made.append(policy))
    module._release(tmp_path / "a #1", 1, [])
    assert made[0].input.path == str(tmp_path / "a #1" / "table.parquet")


def test_nothing_is_compiled_that_could_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in an image, which would be made without kernels."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(compiler, "_open_cache", compiler._open_cache.__wrapped__)
    monkeypatch.setattr(module, "_release", lambda *_: pytest.fail("was made"))
    assert main(["warm-up"]) == 2
    shown = capsys.readouterr().err
    assert "tclose: compiled kernels are not kept: there is no folder for them" in shown
    assert "are there" not in shown


@pytest.mark.nightly
def test_nothing_is_compiled_afterwards(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "tclose", "warm-up", "--quiet"]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=600)
    (folder,) = (tmp_path / "cache").iterdir()
    kept = sorted(folder.iterdir())
    assert len(kept) > 20
    command = [sys.executable, "-c", RELEASE]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=600)
    assert sorted(folder.iterdir()) == kept


@pytest.mark.nightly
def test_nothing_is_compiled_where_an_image_has_it(tmp_path: Path) -> None:
    """Of any processor of a kind, as in the image: read only, with nowhere else to keep code."""
    kind = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    ahead = os.environ | kind | {"NUMBA_CACHE_DIR": str(tmp_path / "ahead")}
    command = [sys.executable, "-m", "tclose", "warm-up", "--quiet"]
    subprocess.run(command, env=ahead, cwd=tmp_path, check=True, timeout=600)
    (folder,) = (tmp_path / "ahead").iterdir()
    kept = sorted(folder.iterdir())
    read_only = kind | {
        "TCLOSE_KERNELS": str(folder.parent),
        "XDG_CACHE_HOME": str(tmp_path / "new"),
    }
    environment = {n: v for n, v in os.environ.items() if n != "NUMBA_CACHE_DIR"} | read_only
    command = [sys.executable, "-c", RELEASE]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=600)
    assert sorted(folder.iterdir()) == kept
    assert not list((tmp_path / "new").rglob("*.code"))
