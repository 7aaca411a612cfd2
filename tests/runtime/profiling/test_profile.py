"""Where the time of a run went: what a profile says, who may read it, and what is not in it."""

import contextlib
import json
import re
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from support.cases.discharge_policies import DISCHARGE_ROLES, discharge_document
from support.cases.people import people, policy_for, write_csv, write_policy
from support.checks.canaries import CANARY_AGE, CANARY_CHARGE, CANARY_ID, CANARY_PLACE
from support.checks.html_page import Page
from support.checks.permissions import run_bound
from support.passes import replace_work
from tclose.cli.main import main
from tclose.data.synthetic import generate_rows
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.profiling import profile

pytestmark = pytest.mark.usefixtures("small_regions")

ROWS = 5_000
PASSES = [
    "start", "inspect", "summarise", "plan", "encode", "microaggregate", "verify", "publish"
]  # fmt: skip
TASKS = ["inspect", "summarise", "distribute", "encode", "microaggregate", "aggregate"]
TASKS += ["verify", "compare", "publish"]


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
    pq.write_table(table, folder / "input.parquet", row_group_size=2_000)
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


def test_run_in_this_process(canaries, tmp_path):
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    assert_private(tmp_path / "profile", "profile.json", "profile.md")
    assert_no_values(tmp_path / "profile")
    found = read(tmp_path / "profile")
    assert (found["ended"], found["on_cluster"], found["cluster_tasks"]) == ("done", False, [])
    assert [one["pass"] for one in found["passes"]] == PASSES
    tasks = [task for one in found["passes"] for task in one["tasks"]]
    assert [task["task"] for task in tasks] == TASKS
    assert {task["task"]: task["n_tasks"] for task in tasks}["summarise"] == 3
    assert all(t["tasks_done"] == t["n_tasks"] and t["tasks_before"] == 0 for t in tasks)
    assert {task["records"] for task in tasks} <= {None, ROWS}
    assert found["peak_bytes"]["this process"] > 50e6


def test_times_add_up(canaries, tmp_path):
    start = time.perf_counter()
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    elapsed = time.perf_counter() - start
    found = read(tmp_path / "profile")
    passes = sum(one["seconds"] for one in found["passes"])
    assert 0 < passes <= found["seconds"] <= elapsed + 0.001
    assert found["seconds"] == pytest.approx(passes + found["seconds_outside_passes"], abs=0.01)
    for one in found["passes"]:
        whole = sum(task["seconds"] for task in one["tasks"]) + one["seconds_outside_tasks"]
        assert one["seconds"] == pytest.approx(whole, abs=0.01)
        assert one["seconds_outside_tasks"] > -0.01


def test_table_is_of_the_same_figures(canaries, tmp_path):
    assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 0
    found, text = read(tmp_path / "profile"), (tmp_path / "profile" / "profile.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {8}
    assert text.startswith("# Profile of a run: discharges\n")
    (summarise,) = (p["tasks"][0] for p in found["passes"] if p["pass"] == "summarise")
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
    by_task = {t["task"]: t["n_tasks"] for one in found["passes"] for t in one["tasks"]}
    assert {t["task"]: t["n_tasks"] for t in found["cluster_tasks"]} == by_task
    assert all(0 < t["median_seconds"] <= t["longest_seconds"] for t in found["cluster_tasks"])
    assert len(found["workers"]) == 2
    assert sum(worker["tasks"] for worker in found["workers"]) == sum(by_task.values())
    assert all(worker["peak_bytes"] > 50e6 for worker in found["workers"])
    page = Page((folder / "dask-report.html").read_text())
    assert page.tags.count("rect") >= sum(by_task.values())
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [name for name in ("src", "href", "onclick") if page.values(name)]
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
        replace_work(patch, "verify", broken)
        assert run(canaries, tmp_path, *asked) == 1
    assert_no_values(tmp_path / "profile")
    first = read(tmp_path / "profile")
    assert first["ended"] == "ValueError"
    assert [one["pass"] for one in first["passes"]] == PASSES[:7]  # the one that failed is there
    assert run(canaries, tmp_path, *asked) == 0
    tasks = [t for one in read(tmp_path / "profile")["passes"] for t in one["tasks"]]
    before = {t["task"]: (t["tasks_before"], t["tasks_done"]) for t in tasks}
    assert before["summarise"] == (3, 0)
    assert before["microaggregate"][1] == 0
    assert before["verify"][0] == 0
    assert "An earlier run" in (tmp_path / "profile" / "profile.md").read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_stopped_run_writes_what_it_has(error, canaries, tmp_path, monkeypatch):
    def stopped(*_):
        raise error

    replace_work(monkeypatch, "plan", stopped)
    with contextlib.suppress(KeyboardInterrupt):
        assert run(canaries, tmp_path, "--profile", str(tmp_path / "profile")) == 1
    assert read(tmp_path / "profile")["ended"] == error.__name__


def test_report_of_an_earlier_run_does_not_stay(canaries, tmp_path):
    folder = tmp_path / "profile"
    folder.mkdir(mode=0o700)
    (folder / "dask-report.html").write_text("of another run")
    (folder / "notes.txt").write_text("mine")
    assert run(canaries, tmp_path, "--profile", str(folder)) == 0
    assert {p.name for p in folder.iterdir()} == {"profile.json", "profile.md", "notes.txt"}


@pytest.mark.parametrize(
    "place", ["", "mine", "discharges", "discharges/internal", "discharges/1f0c9b7d2a/data"]
)
def test_folder_among_releases_is_refused(place, canaries, tmp_path, capsys):
    folder = tmp_path / "releases" / place
    assert run(canaries, tmp_path, "--profile", str(folder)) == 2
    assert "it holds releases; choose another folder" in capsys.readouterr().err
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize("mark", ["CURRENT", ".release-key"])
def test_folder_among_releases_of_another_policy_is_refused(mark, canaries, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    (other / mark).write_text("1f0c9b7d2a\n")
    assert run(canaries, tmp_path, "--profile", str(other / "1f0c9b7d2a")) == 2
    assert "it holds releases" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == [mark]


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
    *warned, said = shown.splitlines(keepends=True)
    assert any(line.startswith("warning TC-W007: column 'diagnosis_group'") for line in warned)
    assert re.fullmatch(r"tclose: profile .*: No space left on device; make room.* \(.*\)\n", said)


def test_folder_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    write_policy(tmp_path / "policy.yaml", policy_for(write_csv(tmp_path / "p.csv", people())))
    (tmp_path / "profile").mkdir(mode=0o500)
    ended = run_bound("-m", "tclose", "run", "policy.yaml", "--profile", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    refused = "profile profile: cannot be written (Permission denied); choose another folder\n"
    assert ended.stderr.endswith(refused)
    assert not (tmp_path / "releases").exists()
