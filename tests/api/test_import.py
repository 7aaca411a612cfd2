"""The public names: all there, light to import, and found beside folders of any name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tclose

SOURCES = Path(tclose.__file__).resolve().parents[1]
HEAVY = ("dask", "distributed", "numba", "numpy", "pandas", "prefect", "pyarrow", "pydantic")

_RELEASE = """
import tclose
from tclose.data.synthetic import generate_rows
attributes = dict.fromkeys(["age", "sex", "zip"], "quasi-identifier") | {"charge": "confidential"}
policy = {"name": "d", "unlisted": "drop", "attributes": attributes,
          "privacy": {"k": 5, "t": 0.3}, "output": {"path": "out"}, "engine": ENGINE}
release = tclose.release(generate_rows(0, 400, 3).to_pandas(), policy)
print(release.verdict, release.audit().passed)
"""


def _python(*arguments: str, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    found = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_importing_loads_nothing_heavy(tmp_path):
    loaded = _python("-c", "import sys, tclose; print(*sys.modules)", folder=tmp_path).split()
    assert "tclose.errors" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_all_names_are_there():
    assert sorted(tclose.__all__) == tclose.__all__
    for name in tclose.__all__:
        assert getattr(tclose, name) is not None
    assert set(dir(tclose)) == set(tclose.__all__)
    assert not hasattr(tclose, "nothing")


_INTERRUPTED = """
import importlib, os, signal
import tclose
real, ended = importlib.import_module, []
def interrupted(name):
    importlib.import_module = real
    os.kill(os.getpid(), signal.SIGINT)
    ended.append(real(name))
    return ended[-1]
importlib.import_module = interrupted
try:
    tclose.check
except KeyboardInterrupt:
    print("interrupted", len(ended), tclose.check.__name__)
"""


def test_an_interrupt_waits_for_an_import(tmp_path):
    """In the middle it would leave libraries half imported, which no later import mends."""
    assert _python("-c", _INTERRUPTED, folder=tmp_path) == "interrupted 1 check"


def test_errors_are_tcloses_own():
    errors = [getattr(tclose, name) for name in tclose.__all__ if name.endswith("Error")]
    assert len(errors) > 8
    assert all(issubclass(error, tclose.TcloseError) for error in errors)


def test_a_release_beside_folders_named_as_the_sources(tmp_path):
    for name in ("pipeline", "flows"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('another package')")
    script = _RELEASE.replace("ENGINE", "{}")
    assert _python("-c", script, folder=tmp_path) == "pass True"


@pytest.mark.nightly
def test_a_script_without_a_guard_may_start_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_RELEASE.replace("ENGINE", "{'workers': 1}"))
    assert _python(str(script), folder=tmp_path) == "pass True"  # printed once: it ran once
