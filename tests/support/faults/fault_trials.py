"""Trials of faults: a run is disturbed, and what it leaves is what a run from the start leaves."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from deploy.stack.processes import free_port
from support.cases.discharge_policies import data_digests, discharge_document
from support.faults.fault_servers import (
    SECONDS,
    TESTS,
    changed_environment,
    cluster,
    prefect_server,
)
from support.faults.faulty_run import FOREIGN
from support.servers.s3_buckets import make_bucket
from tclose.assess.auditing.audit import audit_release
from tclose.releases.stores.object_store import BucketStore

METHOD = {"refine": "off"}  # a search takes most of a run's time, and fails like all else
IN_A_MOUNT = ("unshare", "--mount", "--map-root-user")
PASSES = ("summarise", "distribute", "encode", "microaggregate", "verify", "publish")


@dataclass(frozen=True)
class Site:
    """The policy of one trial, and the folder of its releases."""

    folder: Path
    policy: Path
    rng: random.Random
    undisturbed: dict[str, str]
    turn: int = 0

    @property
    def task_name(self) -> str:
        """The pass in which to strike: each in its turn, so that none is left out."""
        return PASSES[self.turn % len(PASSES)]

    @property
    def root(self) -> Path:
        """Folder of the releases of the one name."""
        return self.folder / "releases" / "discharges"

    def command(self, fault: str, command: str = "run", *more: str) -> list[str]:
        """The command line of a run with a fault in it."""
        module = [sys.executable, "-m", "support.faults.faulty_run", fault]
        return [*module, command, str(self.policy), *more]

    def start(self, fault: str, *more: str, command: str = "run") -> "subprocess.Popen[bytes]":
        """Start a run, in a process group of its own."""
        (self.folder / "tmp").mkdir(exist_ok=True)
        environment = os.environ | {
            "PYTHONPATH": f"{TESTS}:{TESTS.parent}",
            "TMPDIR": str(self.folder / "tmp"),
        }
        environment.pop("PREFECT_LOGGING_LEVEL", None)  # which would have Prefect log here
        return subprocess.Popen(
            self.command(fault, command, *more, "--quiet"),
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, fault: str, *more: str, command: str = "run") -> "Ended":
        """A run to its end, whatever that is; what it started is ended, too."""
        process = self.start(fault, *more, command=command)
        return wait(process)

    def current(self) -> Path | None:
        """The current release, which has to be one that an audit passes."""
        pointer = self.root / "CURRENT"
        if not pointer.exists():
            return None
        release = self.root / pointer.read_text().strip()
        assert audit_release(release).findings == []
        return release


@dataclass(frozen=True)
class Ended:
    """The end of a process."""

    status: int
    output: str
    errors: str

    @property
    def was_killed(self) -> bool:
        """True if it was ended by SIGKILL."""
        return self.status == -signal.SIGKILL

    def assert_plain(self) -> None:
        """It ended well, or with one message of tclose's own."""
        assert self.status in (0, 1, 2, 3), self.errors
        assert "Traceback" not in self.errors, self.errors
        if self.status:
            assert self.errors.startswith("tclose: "), self.errors


def wait(process: "subprocess.Popen[bytes]") -> Ended:
    """Wait for a process and then end what is left of its group."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return Ended(process.returncode, output.decode(), errors.decode())


def end_with_process(site: Site) -> str:
    """The process is killed in a pass."""
    name, command = site.task_name, site.rng.choice(["run", "run", "flow"])
    workers = site.rng.choice(["auto", "2"])
    ended = site.run(f"end@{name}", "--set", f"engine.workers={workers}", command=command)
    assert ended.was_killed, ended.errors
    return f"in {name}, {command}, workers {workers}"


def end_around_rename(site: Site) -> str:
    """The process is killed before or after one of its renames."""
    counting = replace(site, folder=site.folder / "counting")
    counting.folder.mkdir()
    ended = counting.run("count", "--set", f"output.path={counting.folder / 'releases'}")
    n_renames = int(ended.output.split()[-2])
    shutil.rmtree(counting.folder)
    number, side = site.rng.randint(1, n_renames), site.rng.choice(["before", "after"])
    assert site.run(f"{side}@{number}").was_killed
    return f"{side} rename {number} of {n_renames}"


def end_a_worker(site: Site) -> str:
    """One worker is killed in a pass: nothing is lost, and the run need not be started again."""
    name = site.task_name
    ended = site.run(f"worker@{name}", "--set", "engine.workers=2")
    assert ended.status == 0, ended.errors
    return f"in {name}"


def end_the_scheduler(site: Site) -> str:
    """The scheduler of a cluster is killed in a pass; a new one takes its place."""
    name = site.task_name
    with cluster(site.folder) as (address, scheduler):
        ended = site.run(f"process:{scheduler}@{name}", "--set", f"engine.scheduler={address}")
        ended.assert_plain()
        assert ended.status == (0 if name == "publish" else 1)  # whose one task is done by then
    with cluster(site.folder) as (address, _):
        again = site.run("none", "--set", f"engine.scheduler={address}")
        assert again.status == 0, again.errors
    return f"in {name}"


def fill_the_disk(site: Site) -> str:
    """There is no room from some flush on."""
    number = site.rng.randint(1, 60)
    ended = site.run(f"full@{number}")
    ended.assert_plain()
    return f"from flush {number} on: status {ended.status}"


def jump_the_clock(site: Site) -> str:
    """The clock jumps by hours or years, forwards or back."""
    seconds = site.rng.choice([-1, 1]) * site.rng.choice([3600, 86_400, 400_000_000])
    after = site.rng.randint(0, 50)
    ended = site.run(f"clock:{seconds}@{after}", "--set", "engine.workers=2")
    assert ended.status == 0, ended.errors
    return f"by {seconds} s after {after} readings"


def start_two(site: Site) -> str:
    """Two runs of one release start together: one makes it, the other says why it does not."""
    first = site.start("none")
    time.sleep(site.rng.choice([0, 0, 0.5, 2.5]))
    second = site.start("none")
    ends = [wait(first), wait(second)]
    for ended in ends:
        ended.assert_plain()
    statuses = sorted(ended.status for ended in ends)
    assert statuses[0] == 0
    if statuses[1]:
        assert any("another run is working on the releases of" in ended.errors for ended in ends)
    return f"statuses {statuses}"


def contest_a_bucket(site: Site) -> str:
    """Somebody else writes to the bucket while a release is committed there."""
    place, number = make_bucket() / "releases", site.rng.randint(1, 14)
    output = ("--set", f"output.path={place}", "--set", "engine.lease_seconds=1")
    ended = site.run(f"conflict@{number}", *output)
    ended.assert_plain()
    root = place / "discharges"
    if ended.status:
        assert "commit conflict" in ended.errors or "another run" in ended.errors, ended.errors
    pointer = root / "CURRENT"
    if pointer.exists() and pointer.read_bytes() != FOREIGN:
        assert audit_release(root).findings == []
    assert site.run("none", *output).status == 0
    release = root / (root / "CURRENT").read_text().split()[0]
    assert audit_release(release).findings == []
    assert BucketStore(root).ids() == [release.name]
    digests = {
        path.relative_to(release).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (release / "data").rglob()
    }
    assert digests == site.undisturbed
    return f"new object {number}: status {ended.status}"


def in_a_mount(site: Site, options: str, again: str) -> str:
    """A run on a file system with options, which then is mounted with others for another run."""
    trial = [*IN_A_MOUNT, "mount", "-t", "tmpfs", "none", str(site.folder)]
    if shutil.which("unshare") is None or subprocess.call(trial, stderr=subprocess.DEVNULL):
        pytest.skip("file systems of its own are not allowed to a process here")
    small, kept = site.folder / "small", site.folder / "releases"
    for folder in (small, kept):
        folder.mkdir()
    set_path = f"--set output.path={small}/releases"
    run = " ".join(site.command("none")) + f" {set_path} --quiet"
    script = f"""
    mount -t tmpfs -o size=64m none {small} && mkdir {small}/releases
    mount -o remount,{options} {small}
    {run} > {site.folder}/first.log 2>&1; echo $? > {site.folder}/first.status
    mount -o remount,{again} {small} && {run} > {site.folder}/second.log 2>&1
    cp -a {small}/releases/. {kept}/
    """
    environment = os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    command = [*IN_A_MOUNT, "sh", "-c", script]
    subprocess.run(command, env=environment, check=True, timeout=SECONDS, capture_output=True)
    status = int((site.folder / "first.status").read_text())
    Ended(status, "", (site.folder / "first.log").read_text()).assert_plain()
    return f"status {status}"


def small_disk(site: Site) -> str:
    """The file system has room for a part of what a run writes."""
    return in_a_mount(site, f"size={site.rng.randint(2, 30) * 100}k", "size=200m")


def read_only_output(site: Site) -> str:
    """The output's file system cannot be written to."""
    return in_a_mount(site, "ro", "rw")


def restart_prefect(site: Site) -> str:
    """Prefect's server is killed in a pass, and comes back."""
    name = site.task_name
    home, port = site.folder / "prefect", free_port()
    with prefect_server(home, port) as server:
        environment = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_HOME": str(home)}
        with changed_environment(environment):
            process = site.start(f"process:{server.pid}@{name}", command="flow")
            server.wait(SECONDS)
            with prefect_server(home, port):
                ended = wait(process)
                ended.assert_plain()
                assert site.run("none", command="flow").status == 0
    return f"in {name}: status {ended.status}"


KINDS: dict[str, Callable[[Site], str]] = {
    "process-killed": end_with_process,
    "killed-around-rename": end_around_rename,
    "worker-killed": end_a_worker,
    "disk-full": fill_the_disk,
    "two-runs": start_two,
    "scheduler-killed": end_the_scheduler,
    "small-disk": small_disk,
    "clock-jump": jump_the_clock,
    "s3-conflict": contest_a_bucket,
    "read-only": read_only_output,
    "prefect-restarted": restart_prefect,
}


def make_site(
    folder: Path, data: Path, undisturbed: dict[str, str], number: int, seed: int
) -> Site:
    """A folder with a policy for the trial of that number."""
    policy = folder / "policy.yaml"
    document = discharge_document(data, folder / "releases", method=METHOD)
    policy.write_text(yaml.safe_dump(document))
    rng = random.Random(seed * 100_000 + number)
    turn = number // len(KINDS) + number % len(KINDS)  # not all kinds in the same pass
    return Site(folder, policy, rng, undisturbed, turn)


def finish(site: Site) -> None:
    """Run once more: the undisturbed run's bytes, one release, and nothing beside it."""
    site.current()
    again = site.run("none")
    assert again.status == 0, again.errors
    release = site.current()
    assert release is not None
    assert data_digests(release) == site.undisturbed
    left = {path.name for path in site.root.iterdir()}
    assert left - {".lock", ".failed", ".journal.jsonl"} == {"CURRENT", release.name}
