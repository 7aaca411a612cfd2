"""Targets of the Makefile, with a command in place of tclose."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.servers.clusters import ROOT

STUB = """#!/bin/sh
echo "$1" >> calls
[ "$1" != "$FAILING" ]
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")
@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        ("", ["generate", "flow", "audit"]),
        ("generate", ["generate"]),
        ("flow", ["generate", "flow"]),
    ],
)
def test_demonstration_ends_where_a_step_fails(
    failing: str, calls: list[str], tmp_path: Path
) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "tclose"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    for name in (".warm", ".run"):
        (tmp_path / "venv" / name).touch()
    done = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), "demo", "VENV=venv", "ROWS=10"],
        cwd=tmp_path,
        env=os.environ | {"FAILING": failing},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (tmp_path / "calls").read_text().split() == calls, done.stderr
    assert (done.returncode == 0) == (not failing)
    assert (tmp_path / "demo" / ".rows").exists() == (failing != "generate")
