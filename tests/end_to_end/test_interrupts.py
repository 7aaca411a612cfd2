"""Ctrl-C once and twice: one line, exit status 1, and nothing that goes on running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from support.cases import write_policy
from support.flow_command import own_environment, processes_of
from support.policies import discharge_document, write_discharges
from support.runs import wait_until
from tclose.cli import main

pytestmark = pytest.mark.usefixtures("small_regions")

TOLD = "tclose: interrupted; run again to go on from here\n"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of enough records for a run that is still at it."""
    folder = tmp_path_factory.mktemp("interrupts")
    discharges = write_discharges(folder / "discharges.parquet", 200_000)
    document = discharge_document(discharges, folder / "releases", engine={"workers": 2})
    return write_policy(folder / "policy.yaml", document)


def descendants(process: "subprocess.Popen[str]", what: str) -> int:
    below = psutil.Process(process.pid).children(recursive=True)
    return sum(what in " ".join(child.cmdline()) for child in below)


def fork_server_starts(process: "subprocess.Popen[str]") -> bool:
    return descendants(process, "forkserver") > 0


def workers_start(process: "subprocess.Popen[str]") -> bool:
    return descendants(process, "forkserver") > 1


def work_is_done(process: "subprocess.Popen[str]") -> bool:
    return workers_start(process) and not time.sleep(2)


@pytest.mark.parametrize(
    ("command", "moment", "times"),
    [
        ("run", fork_server_starts, 1),
        ("run", fork_server_starts, 2),
        ("run", workers_start, 1),
        ("run", workers_start, 2),
        ("run", work_is_done, 3),
        ("plan", workers_start, 2),
        ("frontier", workers_start, 2),
        ("flow", workers_start, 2),
    ],
)
def test_interrupts_end_a_command_in_one_line(command, moment, times, policy, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "tclose.cli.main", command, str(policy), "--quiet"],
        env=own_environment(PREFECT_HOME=str(tmp_path / "prefect")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_until(lambda: moment(process), "the moment has come", 60)
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            time.sleep(0.05)
        errors = process.communicate(timeout=120)[1]
    assert (process.returncode, errors) == (1, TOLD)
    wait_until(lambda: not processes_of(process.pid), "no process is left", 30)


def test_interrupted_while_the_command_line_is_read(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_parser", interrupted)
    assert main.main(["schema"]) == 1
    assert capsys.readouterr().err == "tclose: interrupted; run again to go on from here\n"
