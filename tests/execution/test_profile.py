"""Where the time of a run went: what a profile says, who may read it, and what is not in it."""

import contextlib
import json
import re
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import cloudpickle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from distributed import LocalCluster

from pipeline.cli import main
from pipeline.errors import UnitError
from pipeline.execution import profile, release
from pipeline.execution.engine import InProcess, connect
from pipeline.execution.passes import run_pass
from pipeline.execution.progress import Progress
from pipeline.execution.sampling import Calls, grow_tree
from pipeline.execution.taskreport import render_report, sum_passes, sum_workers
from pipeline.execution.tracing import Span, Trace
from pipeline.generator import generate_rows
from pipeline.storage.workspace import Workspace
from support.policies import DISCHARGE_ROLES, discharge_document

ROWS = 12_000
STAGES = ["start", "inspect", "summarise", "plan", "microaggregate", "verify", "publish"]
PASSES = ["inspect", "summarise", "distribute", "encode", "microaggregate", "verify", "publish"]
CANARY_ID = "CANARY-IDENTIFIER-7f3a"
CANARY_PLACE = "canary-quasi-identifier-c41d"
CANARY_AGE = 73_141_592
CANARY_CHARGE = 918_273_645.25

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this module


@pytest.fixture(scope="module")
def canaries(tmp_path_factory):
    """A policy over discharges of which one record can be told by each of its values."""
    folder = tmp_path_factory.mktemp("input")
    frame = generate_rows(0, ROWS, 1).to_pandas()
    frame["patient_id"] = [f"{CANARY_ID}-{i}" for i in range(ROWS)]
    frame["age"] = frame["age"].astype("int32")
    frame["charge"] = frame["charge"].astype("float64")
    frame.loc[ROWS // 2, "diagnosis_group"] = CANARY_PLACE
    frame.loc[ROWS // 2, "age"] = CANARY_AGE
    frame.loc[ROWS // 2, "charge"] = CANARY_CHARGE
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, folder / "input.parquet", row_group_size=5_000)
    return folder / "input.parquet"


def run(path: Path, folder: Path, *more: str) -> int:
    document = discharge_document(path, folder / "releases", method={"refine": "off"})
    (folder / "policy.yaml").write_text(yaml.safe_dump(document))
    return main(["run", str(folder / "policy.yaml"), "--quiet", *more])


def read(folder: Path) -> dict:
    return json.loads((folder / "profile.json").read_text())


def assert_private(folder: Path, *names: str) -> None:
    assert {path.name for path in folder.iterdir()} == set(names)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def assert_no_values(folder: Path) -> None:
    """No value of any record, nor a column's name; text that any record has counts as its value."""
    texts = {CANARY_ID, CANARY_PLACE, str(CANARY_AGE), str(CANARY_CHARGE), str(int(CANARY_CHARGE))}
    texts |= {name for name in DISCHARGE_ROLES if "_" in name}  # others are parts of other words
    texts |= set(generate_rows(0, 100, 1)["diagnosis_group"].to_pylist())
    written = "".join(path.read_text() for path in folder.iterdir())
    assert not [text for text in texts if text in written]


class Page(HTMLParser):
    """Elements of a page, and whether it loads or runs anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_run_in_this_process(canaries, tmp_path):
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    assert_private(tmp_path / "profile", "profile.json", "profile.md")
    assert_no_values(tmp_path / "profile")
    found = read(tmp_path / "profile")
    assert (found["ended"], found["on_cluster"], found["tasks"]) == ("done", False, [])
    assert [stage["stage"] for stage in found["stages"]] == STAGES
    passes = [of_pass for stage in found["stages"] for of_pass in stage["passes"]]
    assert [of_pass["pass"] for of_pass in passes] == PASSES
    assert {of_pass["pass"]: of_pass["units"] for of_pass in passes}["summarise"] == 3
    assert all(p["units_done"] == p["units"] and p["units_before"] == 0 for p in passes)
    assert {p["records"] for p in passes} <= {None, ROWS}
    assert found["peak_bytes"]["this process"] > 50e6


def test_times_add_up(canaries, tmp_path):
    start = time.perf_counter()
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    elapsed = time.perf_counter() - start
    found = read(tmp_path / "profile")
    stages = sum(stage["seconds"] for stage in found["stages"])
    assert 0 < stages <= found["seconds"] <= elapsed + 0.001
    assert found["seconds"] == pytest.approx(stages + found["seconds_outside_stages"], abs=0.01)
    for stage in found["stages"]:
        of_passes = sum(of_pass["seconds"] for of_pass in stage["passes"])
        whole = of_passes + stage["seconds_outside_passes"]
        assert stage["seconds"] == pytest.approx(whole, abs=0.01)
        assert stage["seconds_outside_passes"] > -0.01


def test_table_is_of_the_same_figures(canaries, tmp_path):
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    found, text = read(tmp_path / "profile"), (tmp_path / "profile" / "profile.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {8}
    assert text.startswith("# Profile of a run: discharges\n")
    (summarise,) = (s["passes"][0] for s in found["stages"] if s["stage"] == "summarise")
    assert any(row.startswith(f"|  | summarise | {summarise['seconds']:.2f} |") for row in rows)
    assert "without Dask" in text


def test_run_on_a_cluster(canaries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(canaries, tmp_path, "--set=engine.workers=2", "--profile") == 0
    folder = tmp_path / "profile"  # the default
    assert_private(folder, "profile.json", "profile.md", "dask-report.html")
    assert_no_values(folder)
    found = read(folder)
    assert found["on_cluster"] is True
    assert found["missing"] == []
    units = {p["pass"]: p["units"] for stage in found["stages"] for p in stage["passes"]}
    assert {tasks["pass"]: tasks["tasks"] for tasks in found["tasks"]} == units
    assert all(0 < t["median_seconds"] <= t["longest_seconds"] for t in found["tasks"])
    assert len(found["workers"]) == 2
    assert sum(worker["tasks"] for worker in found["workers"]) == sum(units.values())
    assert all(worker["peak_bytes"] > 50e6 for worker in found["workers"])
    page = Page((folder / "dask-report.html").read_text())
    assert page.tags.count("rect") >= sum(units.values())
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not {"src", "href", "onclick"} & page.attributes
    assert "dask-report.html" in (folder / "profile.md").read_text()


def test_nothing_is_traced_or_written_unasked(canaries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(InProcess, "tracing", None)
    assert run(canaries, tmp_path) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"releases", "policy.yaml"}


def test_failed_run_writes_what_it_has_and_the_next_one_the_rest(canaries, tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError(CANARY_PLACE)

    asked = ("--profile", str(tmp_path / "profile"))
    with monkeypatch.context() as patch:
        patch.setattr(release, "verify", broken)
        assert run(canaries, tmp_path, *asked) == 1
    assert_no_values(tmp_path / "profile")
    first = read(tmp_path / "profile")
    assert first["ended"] == "ValueError"
    assert [stage["stage"] for stage in first["stages"]] == STAGES[:5]
    assert run(canaries, tmp_path, *asked) == 0
    passes = [p for stage in read(tmp_path / "profile")["stages"] for p in stage["passes"]]
    before = {p["pass"]: (p["units_before"], p["units_done"]) for p in passes}
    assert before["summarise"] == (3, 0)
    assert before["microaggregate"][1] == 0
    assert before["verify"][0] == 0
    assert "An earlier run" in (tmp_path / "profile" / "profile.md").read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_stopped_run_writes_what_it_has(error, canaries, tmp_path, monkeypatch):
    def stopped(*_):
        raise error

    monkeypatch.setattr(release, "plan", stopped)
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 1
    assert read(tmp_path / "profile")["ended"] == error.__name__


def test_report_of_an_earlier_run_does_not_stay(canaries, tmp_path):
    folder = tmp_path / "profile"
    folder.mkdir(mode=0o700)
    (folder / "dask-report.html").write_text("of another run")
    (folder / "notes.txt").write_text("mine")
    assert run(canaries, tmp_path, "--profile", str(folder)) == 0
    assert {p.name for p in folder.iterdir()} == {"profile.json", "profile.md", "notes.txt"}


@pytest.mark.parametrize("place", ["", "internal", "1f0c9b7d2a/data"])
def test_folder_among_releases_is_refused(place, canaries, tmp_path, capsys):
    folder = tmp_path / "releases" / "discharges" / place
    assert run(canaries, tmp_path, "--profile", str(folder)) == 2
    assert "releases stand there; choose another folder" in capsys.readouterr().err
    assert not (tmp_path / "releases").exists()


def test_folder_among_releases_of_another_policy_is_refused(canaries, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    (other / "CURRENT").write_text("1f0c9b7d2a\n")
    assert run(canaries, tmp_path, "--profile", str(other / "1f0c9b7d2a")) == 2
    assert "releases stand there" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["CURRENT"]


def test_folder_that_cannot_be_made_is_refused_before_the_run(canaries, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "file")) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "releases").exists()


def test_profile_that_cannot_be_written_fails_no_release(canaries, tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(profile, "write_atomically", full)
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    printed, shown = capsys.readouterr()
    assert "published" in printed
    assert re.fullmatch(r"tclose: profile .*: No space left on device \(.*\)\n", shown)


def square_slowly(_, item, __):
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


def follow_pass(engine, folder: Path, items: list[int]) -> Progress:
    workspace = Workspace(folder / "work")
    workspace.create()
    progress = Progress("none", profiled=True)
    sizes = [1_000 * abs(item) for item in items]
    with contextlib.suppress(UnitError), progress.timing("plan"):
        run_pass(engine, workspace, "encode", square_slowly, items, progress, sizes=sizes)
    return progress


def test_pass_on_a_cluster_is_known_by_tasks_code_and_records(cluster, tmp_path):
    progress = follow_pass(cluster, tmp_path, list(range(1, 9)))
    (work,), (trace,) = progress.passes, progress.traces
    assert (work.stage, work.pass_name, work.n_records, work.records_done) == (
        "plan", "encode", 36_000, 36_000,
    )  # fmt: skip
    assert 36_000 / 8 < work.records_per_second < 36_000 / 1.6  # two workers, eight times 0.4 s
    computed = [span for span in trace.spans if span.action == "compute"]
    assert sorted(span.task for span in computed) == list(range(8))
    assert all(0.4 <= span.seconds < 2 for span in computed)
    (sums,) = sum_passes(progress.traces)
    assert 3.2 <= sums.compute_seconds < 8
    assert all(0.2 < worker.busy_share <= 1.001 for worker in sum_workers(progress.traces))
    assert len({span.worker for span in computed}) == 2
    html = render_report(progress.traces, "people")
    place = r"<td>square_slowly <small>\S+/test_profile.py:\d+</small></td>"
    assert int(re.search(place + r"<td>(\d+) %", html)[1]) > 50  # the most of it, on a busy machine
    assert re.search(r"encode 7, compute: 0\.\d+ s on tcp://", html)


def test_failed_pass_on_a_cluster_leaves_its_tasks_and_no_words(cluster, tmp_path):
    """What Dask keeps of a failed task quotes its arguments and its error."""
    progress = follow_pass(cluster, tmp_path, [1, 2, 3, -4])
    (work,), (trace,) = progress.passes, progress.traces
    assert work.units_done < 4
    assert not work.is_done
    assert 3 in {span.task for span in trace.spans}
    assert trace.problem == ""
    assert not any(cluster.client.run(count_samplers).values())
    assert CANARY_PLACE not in render_report(progress.traces, "people") + repr(trace)


def test_interrupted_pass_leaves_no_sampler(cluster):
    with contextlib.suppress(KeyboardInterrupt), cluster.tracing("encode"):
        assert all(cluster.client.run(count_samplers).values())
        raise KeyboardInterrupt
    deadline = time.monotonic() + 20  # nobody waited for them to stop
    while any(cluster.client.run(count_samplers).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_tasks_of_others_on_the_scheduler_are_not_told(cluster, tmp_path):
    from distributed import Client

    address = cluster.client.scheduler.address
    with Client(address, set_as_default=False) as other:
        theirs = other.map(abs, range(5), key="encode", pure=False)
        progress = follow_pass(cluster, tmp_path, [1, 2])
        other.gather(theirs)
    assert sorted({span.task for span in progress.traces[0].spans}) == [0, 1]


def test_cluster_that_does_not_tell_fails_no_run(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.execution.tracing._ask", lambda *_, **__: 1 // 0)
    progress = follow_pass(cluster, tmp_path, [1, 2])
    (trace,) = progress.traces
    assert progress.passes[0].is_done
    assert (trace.spans, trace.calls) == ([], None)
    assert "ZeroDivisionError" in trace.problem
    assert "Missing: the cluster did not tell" in render_report(progress.traces, "people")


def test_report_escapes_and_leaves_out_what_no_browser_draws(monkeypatch):
    monkeypatch.setattr("pipeline.execution.taskreport._MOST_SPANS", 10)
    spans = [Span("tcp://<w>:1", 7, i, "compute", i, i + 1 + i / 100) for i in range(40)]
    spans.append(Span("tcp://<w>:1", 7, 3, "transfer", 3, 103.5))
    calls = Calls(
        "root", "", 10, (Calls("<lambda>", "a/b.py:1", 10, (Calls("f", "b.py:2", 4, ()),)),)
    )
    trace = Trace("<pass>", on_cluster=True, spans=spans, calls=calls)
    html = render_report([trace], "<script>")
    page = Page(html)
    assert page.tags.count("rect") == 10
    assert "The 31 shortest are left out." in html
    assert "script" not in page.tags
    assert not {"w", "pass", "lambda"} & set(page.tags)
    assert re.search(r"&lt;lambda&gt; <small>a/b.py:1</small></td><td>60 %", html)
    assert sum_passes([trace])[0].other_seconds == pytest.approx(100.5)


def test_samples_of_all_workers_make_one_tree():
    f, g, h = ("f", "a/f.py:1"), ("g", "a/g.py:1"), ("h", "a/h.py:1")
    tree = grow_tree([{(f,): 100, (f, g): 300}, {(f, g): 200, (f, h): 1, (g,): 399}, {}])
    assert (tree.count, [(call.name, call.count) for call in tree.called]) == (
        1_000, [("f", 601), ("g", 399)],
    )  # fmt: skip
    in_f = tree.called[0]
    assert in_f.called == (Calls("g", "a/g.py:1", 500, ()),)  # h is too rare
    assert grow_tree([{}, {}]) is None
