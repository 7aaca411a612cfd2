"""A clock that jumps by years every few readings, in every process of a run: it ends as any other.

Python reads ``sitecustomize`` when a process begins, so that no process has another clock.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import metrics, scheduler
from tornado.ioloop import IOLoop

from support.cases.discharge_policies import (
    data_digests,
    discharge_document,
    discharge_policy,
    write_discharges,
)
from support.cases.people import folder_of, write_policy
from support.length import every
from support.servers.begun_flow import own_environment
from tclose.passes.release import run_release
from tclose.runtime.engines.steady_clock import use_steady_clock
from tclose.runtime.monitoring.progress import Progress

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 200
RESTLESS = """
import random, time

true_time, readings, ahead = time.time, 0, 0.0

def jumping():
    global readings, ahead
    readings += 1
    if readings % {every} == 0:
        ahead = random.choice([-1, 0, 1]) * random.uniform(1, 10) * 31_557_600
    return true_time() + ahead

time.time = jumping
"""


@pytest.mark.nightly
@pytest.mark.parametrize("calls", every(2, [3, 50]))
def test_run_on_a_local_cluster_ends_as_any_other(calls, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(RESTLESS.format(every=calls))
    discharges = write_discharges(tmp_path / "discharges.parquet", 20_000)
    method, there = {"refine": "off"}, tmp_path / "there"
    document = discharge_document(discharges, there, method=method, engine={"workers": 2})
    command = [sys.executable, "-m", "tclose", "run"]
    ended = subprocess.run(
        [*command, str(write_policy(tmp_path / "policy.yaml", document)), "--quiet"],
        check=False, capture_output=True, text=True, timeout=SECONDS,
        env=own_environment(PYTHONPATH=f"{tmp_path}:{ROOT}"),
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    release = there / "discharges" / (there / "discharges" / "CURRENT").read_text().strip()
    here = run_release(
        discharge_policy(discharges, tmp_path / "here", method=method), Progress("none")
    )
    assert data_digests(release) == data_digests(folder_of(here))


def test_dask_and_tornado_have_a_clock_that_does_not_jump(monkeypatch):
    use_steady_clock()
    before = metrics.time()
    assert before == pytest.approx(time.time(), abs=60)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= metrics.time() - before < 60
    assert 0 <= scheduler.time() - before < 60  # type: ignore[attr-defined]
    assert 0 <= IOLoop.time(None) - before < 60  # type: ignore[arg-type]
