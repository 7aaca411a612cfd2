"""The other Python: nothing of it is left, however the command ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tclose.assess.intrusion import other_python
from tclose.assess.intrusion.other_python import SCRIPT, _run_to_its_end
from tclose.errors import TaskError

# It starts another process, as libraries do, and notes both.
PROGRAM = """
import pathlib, runpy, subprocess, sys, threading, time
end_with_caller = runpy.run_path({script!r})["end_with_caller"]
threading.Thread(target=end_with_caller, daemon=True).start()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
noted = pathlib.Path({folder!r}, "pids")
noted.with_suffix(".part").write_text(f"{{__import__('os').getpid()}} {{child.pid}}")
noted.with_suffix(".part").rename(noted)
time.sleep(600)
"""
# A shell has its background jobs ignore Ctrl-C, and so whatever they start.
CALLER = """
import os, pathlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tclose.assess.intrusion.other_python import _run_to_its_end
from tclose.runtime.interrupts import hear_interrupts
hear_interrupts()
_run_to_its_end([sys.executable, "-I", "-c", {program!r}], pathlib.Path({folder!r}), os.environ)
"""


def started(folder: Path) -> list[psutil.Process]:
    """The processes that the program notes, as soon as it has."""
    for _ in range(600):
        if (folder / "pids").exists():
            return [psutil.Process(int(pid)) for pid in (folder / "pids").read_text().split()]
        time.sleep(0.05)
    raise AssertionError("the program did not start")


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_command_that_is_killed_or_interrupted(tmp_path, number):
    program = PROGRAM.format(script=str(SCRIPT), folder=str(tmp_path))
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER.format(program=program, folder=str(tmp_path))],
        stderr=subprocess.DEVNULL,
    )
    try:
        processes = started(tmp_path)
        assert [process.is_running() for process in processes] == [True, True]
    finally:
        caller.send_signal(number)
        caller.wait(timeout=60)
    psutil.wait_procs(processes, timeout=30)
    assert [one.pid for one in processes if is_running(one.pid)] == []


def test_it_is_ended_when_it_takes_too_long(tmp_path, monkeypatch):
    ended, end_group = [], other_python._end_group
    monkeypatch.setattr(other_python, "_MOST_HOURS", 0.2 / 3600)

    def end(program):
        end_group(program)
        ended.append(program)

    monkeypatch.setattr(other_python, "_end_group", end)
    with pytest.raises(TaskError, match=r"gave no answer in .* hours; ask for fewer attacks"):
        _run_to_its_end(
            [sys.executable, "-I", "-c", "import time; time.sleep(600)"], tmp_path, os.environ
        )
    assert [program.returncode for program in ended] == [-signal.SIGKILL]


def test_the_script_ends_by_itself_while_it_is_watched(tmp_path):
    status, output = _run_to_its_end([sys.executable, "-I", "-B", SCRIPT, tmp_path], tmp_path, {})
    assert (status, output) == (0, b'{"missing": "anonymeter"}\n')
