"""Anonymeter in a Python of its own: its libraries cannot be installed beside those of tclose.

The tables are in a private scratch folder meanwhile. The program gets no variables of this process
but those that find it, and says nothing but its answer.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from tclose.errors import TaskError, UsageError
from tclose.releases.manifest.sections import Section
from tclose.runtime.scratch import scratch_folder

SCRIPT = Path(__file__).with_name("anonymeter_script.py")
NEEDED = "anonymeter 1.1"
_FINDS_IT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class Answer(Section):
    """What the program says: a version and results, or the module that it did not find."""

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
    found = shutil.which(text)
    if found is None:
        raise UsageError(
            f"--python {text}: is no program; name a Python in which {NEEDED} is installed, as "
            "`make intruder` does in .venv-intruder (deploy/requirements-intruder.lock)"
        )
    return Path(found).absolute()


def ask_other_python(
    python: Path, tables: Mapping[str, pa.Table], request: Mapping[str, Any]
) -> Answer:
    """Run the attacks there; the tables are gone when it ends, however that is.

    Raises
    ------
    UsageError
        Anonymeter is not installed there.
    TaskError
        The program failed.
    """
    with scratch_folder("intrude") as folder:
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet")
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        environment = {name: os.environ[name] for name in _FINDS_IT if name in os.environ}
        environment |= {"TMPDIR": str(folder), "HOME": str(folder)}
        ended = subprocess.run(  # noqa: S603 (the program that the user names)
            [python, "-I", "-B", SCRIPT, folder],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return _read_answer(python, ended)


def _read_answer(python: Path, ended: "subprocess.CompletedProcess[bytes]") -> Answer:
    try:
        said = Answer.model_validate_json(ended.stdout.splitlines()[-1])
    except (IndexError, ValidationError):
        raise TaskError(
            f"--python {python}: ended with status {ended.returncode} and no answer; it has to be "
            f"a Python in which {NEEDED} is installed"
        ) from None
    if ended.returncode:
        raise TaskError(f"--python {python}: ended with status {ended.returncode}")
    if said.missing is not None:
        raise UsageError(
            f"--python {python}: has no module {said.missing!r}; install {NEEDED} there, as "
            "`make intruder` does in .venv-intruder (deploy/requirements-intruder.lock)"
        )
    return said
