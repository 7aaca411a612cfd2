"""Killed anywhere and started again, a run ends as if nothing had happened."""

import json
import os
import shutil
import signal
import threading
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.cases.discharge_policies import (
    data_digests,
    discharge_document,
    discharge_policy,
    write_discharges,
)
from support.cases.people import folder_of, publish
from support.faults.started_modules import run_and_die
from support.length import count, every
from support.passes import find_pass, replace_work, run_passes
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.errors import DataError
from tclose.passes.release import open_release, run_release
from tclose.runtime import open_run, tasks
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.engines.engine import OnCluster
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")

ROWS = 15_000
METHOD = {"refine": "off"}  # a search takes most of a run's time, and is a task like all else
POINTS = [
    "before:summarise",
    "during:summarise",
    "before:plan",
    "during:distribute",
    "during:grow",
    "during:encode",
    "before:microaggregate",
    "during:microaggregate",
    "before:verify",
    "during:verify",
    "during:compare",
    "before:publish",
    "during:publish",
    "before:commit",
    "after:commit",
    "after:set_current",
    "after:clear_work",
]


@pytest.fixture(scope="module")
def discharges(tmp_path_factory):
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", ROWS)


@pytest.fixture(scope="module")
def undisturbed(discharges, tmp_path_factory):
    place = tmp_path_factory.mktemp("undisturbed") / "releases"
    policy = discharge_policy(discharges, place, method=METHOD)
    return data_digests(folder_of(run_release(policy, Progress("none"))))


def write_policy(discharges: Path, folder: Path) -> Path:
    path = folder / "policy.yaml"
    document = discharge_document(discharges, folder / "releases", method=METHOD)
    path.write_text(yaml.safe_dump(document))
    return path


def run_and_crash(policy: Path, pass_name: str) -> None:
    """Leave the files of a run killed before a pass; in this process, as that is quicker."""

    def broken(_):
        raise RuntimeError

    with pytest.MonkeyPatch.context() as patch:
        replace_work(patch, pass_name, broken)
        with pytest.raises(RuntimeError):
            run_release(release_policy(policy), Progress("none"))


def assert_clean(folder: Path, release_folder: Path) -> None:
    root = folder / "releases" / "discharges"
    assert (root / "CURRENT").read_text().strip() == release_folder.name
    left = {path.name for path in root.iterdir()}
    assert left == {"CURRENT", ".lock", release_folder.name}


@pytest.mark.parametrize("point", every(5, POINTS))
def test_killed_run_goes_on_to_the_same_bytes(point, discharges, undisturbed, tmp_path):
    policy = write_policy(discharges, tmp_path)
    run_and_die(policy, point)
    root = tmp_path / "releases" / "discharges"
    if point not in ("after:set_current", "after:clear_work"):
        assert not (root / "CURRENT").exists()
    if point != "after:clear_work":
        assert (root / ".work").stat().st_mode & 0o777 == 0o700
    outcome = run_release(release_policy(policy), Progress("none"))
    assert data_digests(folder_of(outcome)) == undisturbed
    assert_clean(tmp_path, folder_of(outcome))


def release_policy(path: Path):
    from tclose.policy.policy import load_policy

    return load_policy(path)


def test_second_run_changes_nothing(discharges, undisturbed, tmp_path):
    policy = discharge_policy(discharges, tmp_path / "releases", method=METHOD)
    first = run_release(policy, Progress("none"))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "releases").rglob("*")}
    second = run_release(policy, Progress("none"))
    assert second.already_published
    assert not first.already_published
    assert second.release == first.release
    files = {p: t for p, t in before.items() if p.is_file()}
    assert {p: p.stat().st_mtime_ns for p in files} == files


def test_finished_tasks_are_not_run_again(discharges, tmp_path, monkeypatch):
    policy_file = write_policy(discharges, tmp_path)
    run_and_crash(policy_file, "verify")
    done = []
    original = tasks._Runner.__call__

    def noted(runner, call):
        done.append(runner.task.name)
        return original(runner, call)

    monkeypatch.setattr(tasks._Runner, "__call__", noted)
    run_release(release_policy(policy_file), Progress("none"))
    assert set(done) == {"verify", "compare", "publish"}


def test_what_other_code_began_is_made_again(discharges, undisturbed, tmp_path, monkeypatch):
    """A release's id says nothing of how its working files are written."""
    policy_file = write_policy(discharges, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(open_run, "source_digest", lambda: "of other sources")
        run_and_crash(policy_file, "verify")
    work = next((tmp_path / "releases" / "discharges" / ".work").iterdir())
    removed: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "remove", noting(Workspace.remove, removed))
        outcome = run_release(release_policy(policy_file), Progress("none"))
    assert removed == [work.with_name("inspect"), work]
    assert outcome.release.name == work.name
    assert data_digests(folder_of(outcome)) == undisturbed


def noting(function, roots):
    def noted(workspace):
        roots.append(workspace.root)
        function(workspace)

    return noted


@pytest.mark.parametrize(
    ("piece", "harm"),
    every(
        3,
        product(
            ["summarise/000001", "encode/000002", "microaggregate/*"],
            ["damage", "delete", "damage-record", "truncate"],
        ),
    ),
)
def test_harmed_piece_is_noticed_and_made_again(harm, piece, discharges, undisturbed, tmp_path):
    policy_file = write_policy(discharges, tmp_path)
    run_and_crash(policy_file, "verify")
    work = next((tmp_path / "releases" / "discharges" / ".work").iterdir())
    suffix = "record" if harm == "damage-record" else "*"
    found = sorted(p for p in work.glob(f"{piece}.{suffix}"))
    victim = next(p for p in found if harm == "damage-record" or p.suffix != ".record")
    if harm == "delete":
        victim.unlink()
    elif harm == "truncate":
        victim.write_bytes(victim.read_bytes()[:-100])
    else:
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 0xFF
        victim.write_bytes(bytes(content))
    outcome = run_release(release_policy(policy_file), Progress("none"))
    assert data_digests(folder_of(outcome)) == undisturbed


def test_damaged_release_is_made_again(discharges, undisturbed, tmp_path):
    policy = discharge_policy(discharges, tmp_path / "releases", method=METHOD)
    first = run_release(policy, Progress("none"))
    victim = next((folder_of(first) / "data").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    second = run_release(policy, Progress("none"))
    assert not second.already_published
    assert second.release == first.release
    assert data_digests(folder_of(second)) == undisturbed
    assert_clean(tmp_path, folder_of(second))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "harm",
    ["no-current", "dangling-current", "no-internal", "no-lineage", "empty-manifest", "edited"],
)
def test_damaged_description_is_made_good(harm, discharges, undisturbed, tmp_path):
    policy = discharge_policy(discharges, tmp_path / "releases", method=METHOD)
    first = folder_of(run_release(policy, Progress("none")))
    manifest = first / "manifest.json"
    if harm == "no-current":
        (first.parent / "CURRENT").unlink()
    elif harm == "dangling-current":
        (first.parent / "CURRENT").write_text("0123456789abcdef0123\n")
    elif harm == "no-internal":
        shutil.rmtree(first / "internal")
    elif harm == "no-lineage":
        (first / "internal" / "lineage.jsonl").unlink()
    elif harm == "empty-manifest":
        manifest.write_text("{}")
    else:
        manifest.write_text(manifest.read_text().replace('"achieved": 5', '"achieved": 999'))
    second = run_release(policy, Progress("none"))
    assert data_digests(folder_of(second)) == undisturbed
    assert audit_release(first.parent).findings == []
    assert_clean(tmp_path, folder_of(second))


@pytest.mark.nightly
def test_older_policy_does_not_move_current(discharges, tmp_path, capsys):
    old = write_policy(discharges, tmp_path)
    assert main(["run", str(old), "--quiet"]) == 0
    assert main(["run", str(old), "--quiet", "--set", "seed=2"]) == 0
    newer = (tmp_path / "releases/discharges/CURRENT").read_text().strip()
    capsys.readouterr()
    assert main(["run", str(old), "--quiet"]) == 0
    assert f"CURRENT is another release: {newer}" in capsys.readouterr().out
    assert (tmp_path / "releases/discharges/CURRENT").read_text().strip() == newer


def test_spill_of_a_killed_run_is_cleared(discharges, tmp_path):
    policy = discharge_policy(discharges, tmp_path / "releases", method=METHOD)
    made = folder_of(run_release(policy, Progress("none")))
    spill = made.parent / ".work" / "dask-99999" / "spill"
    spill.mkdir(parents=True)
    assert run_release(policy, Progress("none")).already_published
    assert_clean(tmp_path, made)


@pytest.mark.parametrize("when", ["before:summarise", "before:plan"])
def test_input_that_changes_underway_is_refused(when, tmp_path, monkeypatch):
    path = write_discharges(tmp_path / "discharges.parquet", 5_000)
    policy = discharge_policy(path, tmp_path / "releases")
    pass_name = when.partition(":")[2]
    original = find_pass(pass_name).work

    def changing(context):
        write_discharges(path, 5_000, seed=2)
        original(context)

    replace_work(monkeypatch, pass_name, changing)
    with pytest.raises(DataError, match="changed while it was read"):
        run_release(policy, Progress("none"))
    assert not (tmp_path / "releases").exists()


def test_crash_leaves_its_lineage_and_what_was_done(discharges, tmp_path, monkeypatch):
    policy = discharge_policy(discharges, tmp_path / "releases", method=METHOD)

    def broken(_):
        raise RuntimeError("with a record's values")

    replace_work(monkeypatch, "verify", broken)
    with pytest.raises(RuntimeError):
        run_release(policy, Progress("none"))
    root = tmp_path / "releases" / "discharges"
    (failed,) = (root / ".failed").iterdir()
    events = [json.loads(line) for line in failed.read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "FAIL"]
    assert events[0]["run"]["runId"] == events[1]["run"]["runId"]
    assert "a record's values" not in failed.read_text()
    assert (root / ".work").is_dir()


@pytest.mark.nightly
def test_leftovers_of_another_policy_are_removed(discharges, tmp_path):
    policy_file = write_policy(discharges, tmp_path)
    run_and_die(policy_file, "before:verify")
    document = discharge_document(discharges, tmp_path / "releases", method=METHOD, seed=2)

    outcome = publish(document)
    assert_clean(tmp_path, folder_of(outcome))


@pytest.mark.nightly
def test_killed_worker_loses_nothing(tmp_path):
    n_rows = count(100_000, 300_000)
    big = write_discharges(tmp_path / "big.parquet", n_rows)
    one_round = {"method": {"refine": 1}}
    alone = run_release(discharge_policy(big, tmp_path / "alone", **one_round), Progress("none"))
    policy = discharge_policy(big, tmp_path / "killed", engine={"workers": 2}, **one_round)
    progress = Progress("none")
    with open_release(policy, progress) as run:
        run_passes(run, progress, "summarise", "plan", "encode")
        killed_pids: list[int] = []
        assert isinstance(run.engine, OnCluster)
        address = run.engine.client.scheduler.address
        killed = threading.Thread(target=kill_a_busy_worker, args=(address, killed_pids))
        killed.start()
        run_passes(run, progress, "microaggregate")
        killed.join()
        run_passes(run, progress, "verify", "publish")
    assert len(killed_pids) == 1
    made = run.repository.release(run.release_id)
    assert isinstance(made, Path)
    assert data_digests(made) == data_digests(folder_of(alone))


def kill_a_busy_worker(address: str, killed: list[int]) -> None:
    """Kill the first worker that has a task of the pass at hand."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            busy = [worker for worker, tasks in client.processing().items() if tasks]
            if busy:
                pid = client.run(os.getpid, workers=busy[:1])[busy[0]]
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
            time.sleep(0.002)
