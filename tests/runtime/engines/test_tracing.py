"""What a cluster did: its tasks, the code it spent its time in, and a report of both."""

import contextlib
import re
import sys
import threading
import time
from pathlib import Path

import cloudpickle
import pytest
from distributed import LocalCluster

from support.checks.canaries import CANARY_PLACE
from support.checks.html_page import Page
from tclose.errors import TaskError
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.engines.engine import connect
from tclose.runtime.engines.sampling import Calls, build_call_tree
from tclose.runtime.engines.tracing import Span, Trace
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.profiling.task_report import render_report, sum_tasks, sum_workers
from tclose.runtime.tasks import Task, run_tasks

pytestmark = pytest.mark.usefixtures("small_regions")

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this module


def square_slowly(_, item: int, __) -> int:
    time.sleep(0.4)
    if item < 0:
        raise ValueError(f"{CANARY_PLACE} {item}")
    return item * item


@pytest.fixture(scope="module")
def cluster():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        connect(cluster.scheduler_address) as engine,
    ):
        yield engine


def count_samplers() -> int:
    return sum(thread.name == "tclose-sampler" for thread in threading.enumerate())


def follow_tasks(engine, folder: Path, items: list[int]) -> Progress:
    workspace = Workspace(folder / "work")
    workspace.create()
    progress = Progress("none", profiled=True)
    sizes = [1_000 * abs(item) for item in items]
    with contextlib.suppress(TaskError), progress.timing("plan"):
        run_tasks(
            engine,
            workspace,
            Task("encode", "placing records", square_slowly),
            items,
            progress,
            sizes=sizes,
        )
    return progress


def test_work_on_a_cluster_is_known_by_tasks_code_and_records(cluster, tmp_path):
    progress = follow_tasks(cluster, tmp_path, list(range(1, 9)))
    (work,), (trace,) = progress.works, progress.traces
    assert (work.pass_name, work.task_name, work.n_records, work.records_done) == (
        "plan", "encode", 36_000, 36_000,
    )  # fmt: skip
    assert work.records_per_second is not None
    assert 0 < work.records_per_second < 36_000 / 1.6  # two workers, eight times 0.4 s
    computed = [span for span in trace.spans if span.action == "compute"]
    assert sorted(span.task for span in computed) == list(range(8))
    assert all(span.seconds >= 0.4 for span in computed)
    (sums,) = sum_tasks(progress.traces)
    assert sums.compute_seconds == pytest.approx(sum(span.seconds for span in computed))
    shares = {worker.worker: worker.busy_share for worker in sum_workers(progress.traces)}
    busy = {span.worker for span in computed}
    assert len(busy) == 2
    assert all(0 < shares[worker] <= 1 for worker in busy)
    html = render_report(progress.traces, "people")
    place = r"<td>square_slowly <small>\S+/test_tracing.py:\d+</small></td>"
    shown = [int(share) for share in re.findall(r"</small></td><td>(\d+) %", html)]
    [share] = re.findall(place + r"<td>(\d+) %", html)
    assert int(share) == max(shown)
    assert re.search(r"encode 7, compute: \d+\.\d+ s on tcp://", html)


def test_failed_work_on_a_cluster_leaves_its_tasks_and_no_words(cluster, tmp_path):
    """What Dask keeps of a failed task quotes its arguments and its error."""
    progress = follow_tasks(cluster, tmp_path, [1, 2, 3, -4])
    (work,), (trace,) = progress.works, progress.traces
    assert work.tasks_done < 4
    assert not work.is_done
    assert 3 in {span.task for span in trace.spans}
    assert trace.problem == ""
    assert not any(cluster.client.run(count_samplers).values())
    assert CANARY_PLACE not in render_report(progress.traces, "people") + repr(trace)


def test_interrupted_work_leaves_no_sampler(cluster):
    with contextlib.suppress(KeyboardInterrupt), cluster.tracing("encode"):
        assert all(cluster.client.run(count_samplers).values())
        raise KeyboardInterrupt
    deadline = time.monotonic() + 300  # nobody waited for them to stop
    while any(cluster.client.run(count_samplers).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_tasks_of_others_on_the_scheduler_are_not_told(cluster, tmp_path):
    from distributed import Client

    address = cluster.client.scheduler.address
    with Client(address, set_as_default=False) as other:
        theirs = other.map(abs, range(5), key="encode", pure=False)
        progress = follow_tasks(cluster, tmp_path, [1, 2])
        other.gather(theirs)
    assert sorted({span.task for span in progress.traces[0].spans}) == [0, 1]


def test_cluster_that_does_not_tell_fails_no_run(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("tclose.runtime.engines.tracing._ask", lambda *_, **__: 1 // 0)
    progress = follow_tasks(cluster, tmp_path, [1, 2])
    (trace,) = progress.traces
    assert progress.works[0].is_done
    assert (trace.spans, trace.calls) == ([], None)
    assert "ZeroDivisionError" in trace.problem
    assert "Missing: the cluster did not tell" in render_report(progress.traces, "people")


def test_report_escapes_and_leaves_out_what_no_browser_draws(monkeypatch):
    monkeypatch.setattr("tclose.runtime.profiling.task_report._MOST_SPANS", 10)
    spans = [Span("tcp://<w>:1", 7, i, "compute", i, i + 1 + i / 100) for i in range(40)]
    spans.append(Span("tcp://<w>:1", 7, 3, "transfer", 3, 103.5))
    calls = Calls(
        "root", "", 10, (Calls("<lambda>", "a/b.py:1", 10, (Calls("f", "b.py:2", 4, ()),)),)
    )
    trace = Trace("<task>", on_cluster=True, spans=spans, calls=calls)
    html = render_report([trace], "<script>")
    page = Page(html)
    assert page.tags.count("rect") == 10
    assert "The 31 shortest are left out." in html
    assert "script" not in page.tags
    assert not {"w", "task", "lambda"} & set(page.tags)
    assert re.search(r"&lt;lambda&gt; <small>a/b.py:1</small></td><td>60 %", html)
    assert sum_tasks([trace])[0].other_seconds == pytest.approx(100.5)


def test_samples_of_all_workers_make_one_tree():
    f, g, h = ("f", "a/f.py:1"), ("g", "a/g.py:1"), ("h", "a/h.py:1")
    tree = build_call_tree([{(f,): 100, (f, g): 300}, {(f, g): 200, (f, h): 1, (g,): 399}, {}])
    assert (tree.count, [(call.name, call.count) for call in tree.called]) == (
        1_000, [("f", 601), ("g", 399)],
    )  # fmt: skip
    in_f = tree.called[0]
    assert in_f.called == (Calls("g", "a/g.py:1", 500, ()),)  # h is too rare
    assert build_call_tree([{}, {}]) is None
