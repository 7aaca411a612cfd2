"""Kernels compiled ahead of time: what releases then need is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

from tclose.api import warm_up as module
from tclose.api.warm_up import CASES, warm_up
from tclose.cli.main import main
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
