"""Modules of Python that are started as processes of their own."""

import os
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
