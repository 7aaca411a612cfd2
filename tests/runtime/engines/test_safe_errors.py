"""What may be shown of an error, and interrupts that arrive as another error."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tclose.errors import LostError
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime import safe_errors
from tclose.runtime.engines import local
from tclose.runtime.safe_errors import to_safe_error


def test_interrupted_call_of_compiled_code_is_an_interrupt() -> None:
    """Python reports a function of C that returns with an exception set as a SystemError."""
    error = SystemError("returned a result with an exception set")
    shown = str(to_safe_error(error, "verify"))
    assert shown.startswith("verify: stopped by SystemError")
    error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        to_safe_error(error, "verify")


def test_interrupt_that_compiled_code_dropped_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the error names no cause, and only the handler of the signal knows."""
    heard = threading.Event()
    monkeypatch.setattr(safe_errors, "HEARD", heard)
    error = SystemError("returned NULL without setting an exception")
    assert str(to_safe_error(error, "verify")).startswith("verify: stopped by SystemError")
    heard.set()
    with pytest.raises(KeyboardInterrupt):
        to_safe_error(error, "verify")


@pytest.mark.parametrize(
    ("error", "is_told"), [("FileNotFoundError(2, 'gone')", False), ("ValueError", True)]
)
def test_processes_that_cannot_start_say_nothing_themselves(error: str, is_told: bool) -> None:
    """The run says in a line that its cluster did not start."""
    program = f"import tclose.runtime.engines.worker_start; raise {error}"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 1
    assert ("Traceback" in ended.stderr) == is_told


def test_cluster_that_does_not_start_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("Cluster failed to start")

    monkeypatch.setattr("distributed.LocalCluster", fail)
    with pytest.raises(LostError, match="the local cluster did not start"):
        local._start(EngineSettings(), tmp_path)
