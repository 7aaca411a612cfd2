"""Anonymeter in a Python of its own: its libraries cannot be installed beside those of tclose.

The tables are in a private scratch folder meanwhile. The program gets no variables of this process
but those that find it, and says nothing but its answer. It ends with this process, however that
ends: at an error or an interrupt its whole process group is killed, and it kills that itself when
its standard input, which this process holds open, is closed.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from tclose.errors import TaskError, UsageError
from tclose.releases.manifest.sections import Section
from tclose.runtime.interrupts import deferred
from tclose.runtime.scratch import scratch_folder

SCRIPT = Path(__file__).with_name("anonymeter_script.py")
NEEDED = "anonymeter 1.1"
_MOST_HOURS = 12
_FINDS_IT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class Answer(Section):
    """The answer of the program: a version and results, or the module that it did not find."""

    missing: str | None = None
    version: str = ""
    results: list[dict[str, Any]] = Field(default_factory=list)


def find_python(text: str) -> Path:
    """The Python that has Anonymeter.

    Raises
    ------
    UsageError
        There is no such program.
    """
    program = shutil.which(text)
    if program is None:
        raise UsageError(
            f"--python {text}: is no program; name a Python in which {NEEDED} is installed, as "
            "`make intruder` does in .venv-intruder (deploy/requirements-intruder.lock)"
        )
    return Path(program).absolute()


def ask_other_python(
    python: Path, tables: Mapping[str, pa.Table], request: Mapping[str, Any]
) -> Answer:
    """Run the attacks there; the tables are gone when it ends, however that is.

    Raises
    ------
    UsageError
        Anonymeter is not installed there.
    TaskError
        The program failed, or was not ready after 12 hours.
    """
    with scratch_folder("intrude") as folder:
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet")
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        environment = {name: os.environ[name] for name in _FINDS_IT if name in os.environ}
        environment |= {"TMPDIR": str(folder), "HOME": str(folder)}
        status, output = _run_to_its_end([python, "-I", "-B", SCRIPT, folder], folder, environment)
    return _read_answer(python, status, output)


def _run_to_its_end(
    command: list[str | Path], folder: Path, environment: Mapping[str, str]
) -> tuple[int, bytes]:
    """Status and output of a program of which nothing is left, whatever happens meanwhile.

    Raises
    ------
    TaskError
        It took too long.
    """
    watched, held = os.pipe()
    program = None
    try:
        with deferred():  # or an interrupt at its start would leave it behind
            program = subprocess.Popen(  # noqa: S603 (the program that the user names)
                command,
                cwd=folder,
                env=environment,
                stdin=watched,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        output, _ = program.communicate(timeout=_MOST_HOURS * 3600)
    except subprocess.TimeoutExpired:
        raise TaskError(
            f"--python {command[0]}: gave no answer in {_MOST_HOURS} hours; ask for fewer attacks "
            "by --attacks"
        ) from None
    else:
        return program.returncode, output
    finally:
        if program is not None and program.returncode is None:
            _end_group(program)
        os.close(watched)
        os.close(held)


def _end_group(program: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    if program.stdout is not None:
        program.stdout.close()


def _read_answer(python: Path, status: int, output: bytes) -> Answer:
    try:
        answer = Answer.model_validate_json(output.splitlines()[-1])
    except (IndexError, ValidationError):
        raise TaskError(
            f"--python {python}: ended with status {status} and no answer; it has to be "
            f"a Python in which {NEEDED} is installed"
        ) from None
    if status:
        raise TaskError(f"--python {python}: ended with status {status}")
    if answer.missing is not None:
        raise UsageError(
            f"--python {python}: has no module {answer.missing!r}; install {NEEDED} there, as "
            "`make intruder` does in .venv-intruder (deploy/requirements-intruder.lock)"
        )
    return answer
