"""What workers hold stays within what is stated, and what is not enough is said."""

import time
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from distributed import LocalCluster, system

from support.cases.discharge_policies import discharge_policy, write_discharges
from support.passes import run_passes
from tclose.errors import LostError, PolicyError
from tclose.methods.method import Method
from tclose.passes.plan.notices import compile_notice, estimate
from tclose.passes.plan.notices.estimate import task_megabytes
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.search_budget import choose_search_budget
from tclose.passes.release import (
    open_release,
)
from tclose.policy.sections.engine_settings import LEAST_MEMORY, EngineSettings
from tclose.runtime.engines.engine import InProcess, OnCluster, connect
from tclose.runtime.engines.local import local_cluster
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


def run_with(policy, progress):
    """The plan of a run that is made to its end."""
    with open_release(policy, progress) as run:
        run_passes(run, progress, "summarise", "plan")
        made = run.workspace.load(PLAN)
        run_passes(run, progress, "encode", "microaggregate", "verify", "publish")
    return made


@pytest.mark.nightly
def test_no_pass_holds_more_than_the_stated_multiple_of_a_piece(tmp_path):
    def make_policy(n_records, name, **engine):
        path = write_discharges(tmp_path / f"{name}.parquet", n_records)
        return discharge_policy(path, tmp_path / name, engine=engine, method={"refine": "off"})

    run_with(make_policy(5_000, "first"), Progress("none"))  # compiles what is not: no piece's
    progress = Progress("none", profiled=True)
    made = run_with(make_policy(120_000, "measured", workers=1), progress)

    held = {trace.task_name: max(trace.peaks.values()) for trace in progress.traces}
    assert {"inspect", "summarise", "encode", "microaggregate", "verify"} <= set(held)
    assert max(held.values()) <= task_megabytes(made) * 1e6
    assert min(held.values()) > 50e6  # of a process that has numpy and pyarrow: it was measured


def hold(n_values: int) -> float:
    """More than a worker may hold, for long enough to be noticed."""
    held = np.ones(n_values)
    if n_values > 1:
        time.sleep(60)  # it is ended as soon as it is noticed
    return float(held[-1])


def test_workers_with_too_little_end_the_run_and_do_not_stand_still():
    least = EngineSettings(workers=1, memory_per_worker=f"{LEAST_MEMORY // 1_000_000}MB")
    with local_cluster(least) as address, connect(address) as engine:
        assert list(engine.run(hold, [1])) == [(0, 1.0)]
        with pytest.raises(LostError, match=r"give engine\.memory_per_worker more"):
            list(engine.run(hold, [40_000_000]))


ANY_PLAN: Any = None  # nobody looks at it


class Limited(InProcess):
    """Workers that have 400 MB for a task."""

    def memory_per_unit(self):
        return 400_000_000


@pytest.mark.parametrize(("needed", "is_said"), [(500.0, True), (300.0, False)])
def test_less_than_a_task_may_need_is_a_warning(needed, is_said, monkeypatch, capsys):
    monkeypatch.setattr(estimate, "task_megabytes", lambda plan: needed)
    estimate.warn_of_short_memory(ANY_PLAN, Limited(), Progress("lines"))
    shown = capsys.readouterr().err
    assert ("may need 500 MB, and a worker has 400 MB for each of its threads" in shown) is is_said


@pytest.mark.parametrize(
    ("engine", "block", "n_threads"),
    [
        (InProcess(), 0, 8),
        (InProcess(), 1_000_000, 8),
        (InProcess(), 100_000_000, 3),
        (InProcess(), 1_000_000_000, 1),
        (Limited(), 40_000_000, 3),
        (Limited(), 101_000_000, 1),
    ],
)
def test_threads_have_the_memory_for_their_blocks(engine, block, n_threads, monkeypatch):
    monkeypatch.setattr(type(engine), "threads_per_task", lambda *_: 8)
    monkeypatch.setattr(estimate, "task_megabytes", lambda plan: 300.0)
    monkeypatch.setattr(estimate, "block_bytes", lambda plan: block)
    assert estimate.count_threads(ANY_PLAN, engine, 1) == n_threads


def test_nothing_is_said_where_there_is_no_limit(monkeypatch, capsys):
    monkeypatch.setattr(estimate, "task_megabytes", lambda plan: 1e6)
    estimate.warn_of_short_memory(ANY_PLAN, InProcess(), Progress("lines"))
    assert not capsys.readouterr().err


@pytest.mark.parametrize("engine", [Limited(), InProcess()])
@pytest.mark.parametrize("name", ["t-closeness-first", "mdav"])
def test_compiling_is_said_with_what_it_needs(engine, name, monkeypatch, capsys):
    plan: Any = SimpleNamespace(
        method=Method.model_validate({"name": name}),
        search_budget=choose_search_budget("off", 1000),
        keeps_persons=False,
    )
    monkeypatch.setattr(compile_notice, "task_megabytes", lambda plan: 300.0)
    monkeypatch.setattr(compile_notice, "is_kept", lambda kernel: False)
    compile_notice.report_compiling(plan, engine, Progress("lines"))
    shown = capsys.readouterr().err
    assert ("compiling the kernels" in shown) is (name == "t-closeness-first")
    said = "may need 750 MB, and a worker has 400 MB"
    assert (said in shown) is (name == "t-closeness-first" and isinstance(engine, Limited))
    monkeypatch.setattr(compile_notice, "is_kept", lambda kernel: True)
    compile_notice.report_compiling(plan, engine, Progress("lines"))
    assert not capsys.readouterr().err


def test_limit_of_a_cluster_is_shared_by_a_workers_threads():
    # A worker in this process is one that holds all that the tests before it have left there.
    # It would be paused for that, as soon as its memory is looked at.
    with dask.config.set({"distributed.worker.memory.pause": False}), LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, memory_limit="1GB",
        host="127.0.0.1", protocol="tcp", dashboard_address="127.0.0.1:0",
    ) as cluster, connect(cluster.scheduler_address) as engine:  # fmt: skip
        assert engine.memory_per_unit() == 500_000_000


def test_client_that_lost_its_scheduler_is_told_so():
    class Client:
        scheduler = None

        def scheduler_info(self, n_workers):
            return {"type": "Scheduler"}

    with pytest.raises(LostError, match="the Dask scheduler went away"):
        OnCluster(Client()).memory_per_unit()


def test_workers_of_a_machine_that_has_too_little_are_refused(monkeypatch):
    monkeypatch.setattr(system, "MEMORY_LIMIT", 100_000_000)
    with (
        pytest.raises(PolicyError, match=r"memory_per_worker auto: is \d+ MB .*; give it 256MB"),
        local_cluster(EngineSettings(workers=1)),
    ):
        pass
