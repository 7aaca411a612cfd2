"""Ctrl-C once and twice: one line, exit status 1, and nothing that goes on running."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import psutil
import pytest

from support.cases.discharge_policies import discharge_document, write_discharges
from support.cases.people import write_policy
from support.length import every
from support.servers.begun_flow import own_environment, processes_of
from support.servers.flow_runs import wait_until

pytestmark = pytest.mark.usefixtures("small_regions")

TOLD = "tclose: interrupted; run again to go on from here\n"
KEEPS_NOTHING = "tclose: interrupted; run again to begin anew\n"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of enough records for a run that is still at it."""
    folder = tmp_path_factory.mktemp("interrupts")
    discharges = write_discharges(folder / "discharges.parquet", 200_000)
    document = discharge_document(discharges, folder / "releases", engine={"workers": 2})
    return write_policy(folder / "policy.yaml", document)


def descendants(process: "subprocess.Popen[str]", what: str) -> int:
    """Processes below that have a word in their command line, without those that have ended."""
    n_found = 0
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie is one of these
            n_found += what in " ".join(child.cmdline())
    return n_found


def fork_server_starts(process: "subprocess.Popen[str]", _: Path) -> bool:
    return descendants(process, "forkserver") > 0


def workers_start(process: "subprocess.Popen[str]", _: Path) -> bool:
    return descendants(process, "forkserver") > 1


def work_is_done(process: "subprocess.Popen[str]", releases: Path) -> bool:
    """Whether a task has ended: "values" has what the run says of itself before there are any."""
    begun = psutil.Process(process.pid).create_time()
    found = (path for path in releases.glob("*/.work/*/*/*") if path.parent.name != "values")
    with contextlib.suppress(FileNotFoundError):  # a file gets its name when it is finished
        return any(path.stat().st_mtime > begun for path in found)
    return False


@pytest.mark.parametrize(
    ("command", "moment", "times"),
    every(
        2,
        [
            ("run", fork_server_starts, 2),
            ("run", fork_server_starts, 1),
            ("run", workers_start, 2),
            ("run", workers_start, 1),
            ("run", work_is_done, 3),
            ("plan", workers_start, 2),
            ("frontier", workers_start, 2),
            ("flow", workers_start, 2),
        ],
    ),
)
def test_interrupts_end_a_command_in_one_line(command, moment, times, policy, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "tclose", command, str(policy), "--quiet"],
        env=own_environment(PREFECT_HOME=str(tmp_path / "prefect")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_until(lambda: moment(process, policy.parent / "releases"), "the moment has come")
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            time.sleep(0.05)
        errors = process.communicate(timeout=300)[1]
    told = TOLD if command in ("run", "flow") else KEEPS_NOTHING
    assert (process.returncode, errors) == (1, told)
    wait_until(lambda: not processes_of(process.pid), "no process is left")


AT_AN_IMPORT = """
import runpy, signal, sys, time

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            exec({statement!r})

sys.meta_path.insert(0, Interrupting())
sys.argv = ["tclose", "schema"]
runpy.run_module("tclose", run_name="__main__")
"""


RAISED = "signal.raise_signal(signal.SIGINT); 0; 0"
TWICE = f"try: {RAISED}\nfinally: {RAISED}"
# As modules do that try one import after the other; the next signal comes before the second sleep.
SWALLOWED = f"try: {RAISED}\nexcept BaseException: time.sleep(1.5)\ntime.sleep(30)"

# Python drops what is raised there, and says so.
FINALISED = f"""
class Ends:
    def __del__(self):
        {RAISED}
Ends()
time.sleep(30)
"""
STATEMENTS = {"raised": RAISED, "twice": TWICE, "swallowed": SWALLOWED, "finalised": FINALISED}


@pytest.mark.parametrize(
    ("name", "statement"),
    every(3, product(["tclose.cli.main", "numpy", "pydantic", "tclose.policy.policy"], STATEMENTS)),
)
def test_interrupted_while_modules_are_imported(name, statement, tmp_path):
    program = AT_AN_IMPORT.format(name=name, statement=STATEMENTS[statement])
    (tmp_path / "program.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env=own_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", KEEPS_NOTHING)
