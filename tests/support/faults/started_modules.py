"""Modules of Python that are started as processes of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]


def start(*words: str | Path) -> "subprocess.Popen[bytes]":
    """Start a module of Python with its arguments."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def run_and_die(policy: Path, point: str) -> None:
    """Run a policy in another process, which ends itself by SIGKILL at a point of `killed_run`."""
    with start("support.faults.killed_run", policy, point) as process:
        try:
            _, said = process.communicate(timeout=300)
        finally:
            process.kill()  # if it has not done so
    assert process.returncode == -signal.SIGKILL, said.decode()
