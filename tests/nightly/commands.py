"""Commands that are disturbed, and looked at: in copies of this process, which start at once.

Those that start processes of their own are processes from the start, since a copy ends without what
the interpreter does at its end; so is one whose imports are disturbed, too. Each has its own
session, streams, home and temporary folder.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from nightly.kernel_cache import kernel_cache
from support.cases.people import mixed_people, mixed_policy, release, write_parquet, write_policy
from support.cases.published import data_of
from tclose.__main__ import run_command
from tclose.assess.auditing.audit import audit_release

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # Prefect looks for a server that was killed for two minutes
BROKEN = 70  # status of a command that let an exception through
BESIDE = {".lock", ".failed", ".journal.jsonl", ".claims", "CURRENT"}
PROBES = (b"", b"blat")  # of Python's tempfile, which tries with it whether it can write
AS_PROCESSES = ("run from its start", "run on two workers", "flow")
# Of each command its arguments, for a policy, a folder of releases and a release in it.
COMMANDS: dict[str, list[str]] = {
    "run": ["run", "{policy}"],
    "run from its start": ["run", "{policy}"],
    "run on two workers": ["run", "{policy}", "--set", "engine.workers=2"],
    "flow": ["flow", "{policy}"],
    "plan": ["plan", "{policy}"],
    "frontier": ["frontier", "{policy}", "--k", "3,4", "--t", "0.5"],
    "audit with originals": [
        "audit",
        "{root}/{third}",
        "--originals",
        "{policy}",
        "--set",
        "seed=4",
    ],
    "audit": ["audit", "{root}/{third}"],
    "rollback": ["rollback", "{root}", "{first}"],
    "prune": ["prune", "{root}", "--keep", "1"],
}


@dataclass
class Site:
    """A folder with records, a policy, and three releases by other seeds than the policy's."""

    folder: Path
    releases: list[str] = field(default_factory=list)
    expected: dict[str, bytes] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """Folder of the releases of the one name."""
        return self.folder / "releases" / "people"

    @property
    def policy(self) -> Path:
        """The policy's file."""
        return self.folder / "policy.yaml"

    def arguments(self, command: str) -> list[str]:
        """The command line, for this place."""
        first, _, third = self.releases
        places = {"policy": self.policy, "root": self.root, "first": first, "third": third}
        return [part.format(**places) for part in COMMANDS[command]]

    def reset(self, template: Path) -> None:
        """Let the folder be as it was made, at the same place: paths are part of its policy."""
        shutil.rmtree(self.folder)
        shutil.copytree(template, self.folder, symlinks=True)

    def look(self) -> list[str]:
        """What is wrong with the releases that stand there: each passes, CURRENT names one."""
        wrong = []
        current = (self.root / "CURRENT").read_text().split()[0]
        there = [p.name for p in self.root.iterdir() if p.is_dir() and not p.name.startswith(".")]
        if current not in there:
            wrong.append(f"CURRENT names {current} of {there}")
        for name in there:
            wrong += [f"{name}: {f}" for f in audit_release(self.root / name).findings]
        return wrong

    def look_again(self, command: str, ended: "Ended", done: str) -> list[str]:
        """What is wrong after a disturbed command, and once it and a run were run again.

        ``done``: how a command may fail that was done by then.
        """
        wrong = [f"{name} goes on" for name in ended.left]
        if "Traceback" in ended.errors:
            wrong.append(ended.errors)
        wrong += self.look()
        for name in dict.fromkeys((command, "run")):
            again = run_to_end(self, name)
            if again.status and not (done and done in again.errors):
                wrong.append(f"{name} again: status {again.status}: {again.errors}")
        return [*wrong, *self.look_after()]

    def look_after(self) -> list[str]:
        """What is wrong once the policy's run has ended: its bytes, and nothing that was left."""
        wrong = self.look()
        current = self.root / (self.root / "CURRENT").read_text().split()[0]
        if data_of(current) != self.expected:
            wrong.append("the release has other bytes than that of an undisturbed run")
        left = {p.name for p in self.root.iterdir()} - BESIDE - {current.name, *self.releases}
        left |= {p.name for p in (self.root / ".work").glob("*")}
        temporary = self.folder / "tmp"
        files = [path for path in temporary.rglob("*") if path.is_file()]
        left |= {str(p.relative_to(temporary)) for p in files if p.read_bytes() not in PROBES}
        return [*wrong, *(f"{name} was left" for name in left)]


def make_site(folder: Path, n_records: int = 150, **changes: Any) -> Site:
    """A place for trials."""
    folder.mkdir()
    source = write_parquet(folder / "in.parquet", mixed_people(n_records))
    document = mixed_policy(source, folder / "releases") | changes
    site = Site(folder)
    for seed in (2, 3, 4):
        site.releases.append(release(document | {"seed": seed}).folder.name)
    write_policy(site.policy, document)
    for name in ("tmp", "home"):
        (folder / name).mkdir()
    return site


def expect(site: Site, template: Path) -> None:
    """Keep the place as it is, and what an undisturbed run releases there."""
    shutil.copytree(site.folder, template, symlinks=True)
    document = yaml.safe_load(site.policy.read_text())
    site.expected = release(document).data
    site.expected = {k.removeprefix("data/"): v for k, v in site.expected.items()}
    site.reset(template)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status as a shell has it, and what it said."""

    status: int
    output: str
    errors: str
    left: tuple[str, ...] = ()


class Started:
    """A command under way."""

    def __init__(self, site: Site, command: str) -> None:
        self.site, self.output = site, site.folder / "output.txt"
        self.errors = site.folder / "errors.txt"
        arguments = [*site.arguments(command), "--quiet"]
        arguments = arguments[:-1] if command in ("frontier", "rollback", "prune") else arguments
        if command in AS_PROCESSES:
            self._popen: subprocess.Popen[bytes] | None = self._start(arguments)
            self.id = self._popen.pid
        else:
            self._popen = None
            self.id = fork()
        if self.id == 0:
            self._work(arguments)
        self.process = psutil.Process(self.id)

    def _environment(self) -> dict[str, str]:
        home = self.site.folder / "home"
        places = {
            "TMPDIR": self.site.folder / "tmp",
            "HOME": home,
            "PREFECT_HOME": home / "prefect",
        }
        named = {name: str(place) for name, place in places.items()}
        return kernel_cache() | named | {"XDG_CACHE_HOME": ""}

    def _start(self, arguments: list[str]) -> "subprocess.Popen[bytes]":
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "tclose", *arguments],
                cwd=self.site.folder,
                env=os.environ | self._environment() | {"PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    def _work(self, arguments: list[str]) -> None:
        """What the copy does; it never comes back."""
        status = BROKEN
        try:
            os.setsid()
            for stream, path in ((1, self.output), (2, self.errors)):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(descriptor, stream)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            os.environ |= self._environment()
            tempfile.tempdir = None
            os.chdir(self.site.folder)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["tclose", *arguments]
            status = run_command()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else BROKEN
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def wait_until_it_hears(self) -> None:
        """Wait until the command handles signals; Python's own start, before, nobody can mend."""
        with contextlib.suppress(FileNotFoundError):  # it has ended
            status = Path(f"/proc/{self.id}/status")
            while not _caught(status.read_text()) >> (signal.SIGTERM - 1) & 1:
                time.sleep(0.001)

    def family(self) -> list[psutil.Process]:
        """The command's process and all that it has started, but for Python's own book-keeper."""
        below = []
        with contextlib.suppress(psutil.NoSuchProcess):
            below = self.process.children(recursive=True)
        return [self.process, *filter(_does_its_work, below)]

    def wait_until_it_has_others(self) -> None:
        """Wait until the command has started processes, or has ended."""
        while self.process.status() != psutil.STATUS_ZOMBIE and len(self.family()) == 1:
            time.sleep(0.01)

    def wait(self) -> Ended:
        """Wait for the end of the command and of what it has started; that may take a moment."""
        if self._popen is not None:
            status = self._popen.wait(SECONDS)
        else:
            status = os.waitstatus_to_exitcode(os.waitpid(self.id, 0)[1])
        left = self._await_group()
        errors = self.errors.read_text() if self.errors.exists() else ""
        output = self.output.read_text() if self.output.exists() else ""
        return Ended(status, output, errors, left)

    def _await_group(self) -> tuple[str, ...]:
        """Names of processes of the group that do not end by themselves; they are ended."""
        deadline = time.monotonic() + SECONDS / 4
        while group := [p for p in psutil.process_iter() if _is_of_session(p, self.id)]:
            if time.monotonic() > deadline:
                names = tuple(" ".join(p.cmdline()[-3:]) for p in group if p.is_running())
                for process in group:
                    process.kill()
                return names or ("a process",)
            time.sleep(0.02)
        return ()


def _does_its_work(process: psutil.Process) -> bool:
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has ended
        return False


def _caught(status: str) -> int:
    """Signals that a process catches, as bits; all of them of one that has ended."""
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    return -1 if fields["State"].startswith("Z") else int(fields["SigCgt"], 16)


def fork() -> int:
    """A copy of this process, whose other threads do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _is_of_session(process: psutil.Process, session: int) -> bool:
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, PermissionError, psutil.NoSuchProcess):
        return False


def run_to_end(site: Site, command: str) -> Ended:
    """A command that nobody disturbs."""
    return Started(site, command).wait()


def measure(site: Site, template: Path, command: str) -> float:
    """About how long a command takes undisturbed: moments are drawn within that."""
    start = time.monotonic()
    ended = run_to_end(site, command)
    assert ended.status == 0, ended.errors
    taken = time.monotonic() - start
    site.reset(template)
    return taken


def sleep_a_part(rng: random.Random, seconds: float) -> None:
    """Wait for a drawn part of a time; which moment that is, the trial does not depend on."""
    time.sleep(rng.random() * seconds)
