"""The recipe: start every part, deploy, wait for a scheduled release, audit it, end every part.

python -m deploy.stack [--database sqlite] [--rows 20000] [--workers 2] [--folder stack] [--hold]
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from deploy.certificates import make_certificates
from deploy.stack.database import Database, find_programs, start_postgres, start_sqlite
from deploy.stack.deployments import ROOT, await_run, deploy_all, schedule_once
from deploy.stack.errors import StackError
from deploy.stack.processes import Processes, free_port, last_lines
from deploy.stack.services import (
    WORKER_MEMORY,
    Dask,
    await_workers,
    quote_path,
    start_prefect_server,
    start_prefect_worker,
    start_scheduler,
    start_worker,
)

POOL = "tclose"
DEPLOYMENT = "release/release"
_PUBLISHED = "published: "
_MARK = ".made-by-make-stack"  # a file in the folder, without which nothing there is removed


@dataclass(frozen=True)
class Asked:
    """What the command was asked for."""

    folder: Path
    database: str
    rows: int
    workers: int
    hold: bool

    @property
    def releases(self) -> Path:
        """Where the release goes; it stays."""
        return self.folder / "releases"

    @property
    def input(self) -> Path:
        """The records, which are made up."""
        return self.folder / "discharges"


@dataclass
class Steps:
    """What is said while the parts start."""

    start: float

    def say(self, text: str) -> None:
        """A line with the seconds since the start."""
        print(f"{time.monotonic() - self.start:6.1f} s  {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0: released and audited; 1: something failed, and is named."""
    asked = _read(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    steps = Steps(time.monotonic())
    try:
        release = _run(asked, steps)
        steps.say("every part has ended; what was published:")
        return _audit(release)
    except StackError as error:
        print(f"make stack: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("make stack: interrupted; every part has ended", file=sys.stderr)
    return 1


def _read(arguments: Sequence[str] | None) -> Asked:
    parser = argparse.ArgumentParser(prog="python -m deploy.stack", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "stack", help="input, releases, logs")
    parser.add_argument("--database", choices=("postgres", "sqlite"), default="postgres")
    parser.add_argument("--rows", type=int, default=20_000, help="records that are made up")
    parser.add_argument("--workers", type=int, default=2, help="Dask workers")
    parser.add_argument("--hold", action="store_true",
                        help="stay until Ctrl-C when the release is there")  # fmt: skip
    given = parser.parse_args(arguments)
    return Asked(given.folder.absolute(), given.database, given.rows, given.workers, given.hold)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise KeyboardInterrupt


def _run(asked: Asked, steps: Steps) -> Path:
    """All of it, from nothing to the folder of the release, which alone is left with the logs."""
    if asked.database == "postgres":
        find_programs()  # or stop before anything is made
    with ExitStack() as stack:
        private = stack.enter_context(_private_folder())
        processes = stack.enter_context(_processes(asked, private))
        _prepare_input(asked, processes, steps)
        database = _start_database(asked, processes, stack)
        steps.say(database.description)
        pages = _start_prefect(processes, database, steps)
        make_certificates(private / "tls")
        dask = start_scheduler(processes, private / "tls")
        for number in range(1, asked.workers + 1):
            start_worker(processes, dask, number, private)
        await_workers(dask, processes, asked.workers)
        steps.say(f"Dask scheduler and {asked.workers} workers of {WORKER_MEMORY}, {dask.address}")
        deploy_all(processes, ROOT / "deploy" / "prefect.yaml", POOL)
        start_prefect_worker(processes, POOL)
        steps.say(f"flows deployed, a worker takes runs of the pool {POOL!r}")
        deployment = schedule_once(DEPLOYMENT, _parameters(asked, dask))
        steps.say(f"{DEPLOYMENT} is scheduled; {pages} shows it meanwhile")
        release = _published(await_run(processes, deployment, steps.say), processes)
        if asked.hold:
            _hold(processes, steps, {
                "Prefect's pages": pages,
                "Dask's scheduler": f"{dask.address} (certificates in {dask.tls})",
                "database": database.description,
                "releases": str(asked.releases),
                "logs": str(processes.logs),
            })  # fmt: skip
        return release


def _hold(processes: Processes, steps: Steps, addresses: Mapping[str, str]) -> None:
    """Stay until Ctrl-C, which ends the parts and is no failure.

    Raises
    ------
    StackError
        A process ended by itself.
    """
    steps.say("the release is there; every part stays up until Ctrl-C:")
    for part, address in addresses.items():
        print(f"          {part:<18}{address}", flush=True)
    processes.stay()


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Keys, Prefect's home, what workers spill: nobody else reads it, and it is removed."""
    folder = Path(tempfile.mkdtemp(prefix="tclose-stack-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_folder(folder: Path) -> None:
    """Make the folder, in which input and logs of an earlier call are removed.

    Raises
    ------
    StackError
        It has files that no earlier call has put there.
    """
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise StackError(
            f"{folder}: has files, and was not made by make stack, which removes discharges and "
            "logs there; name another folder by --folder, or empty it"
        )
    (folder / _MARK).touch()


def _processes(asked: Asked, private: Path) -> Processes:
    _take_folder(asked.folder)
    logs = asked.folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not _is_of_others(name)}
    own = {
        "PYTHONPATH": str(ROOT),
        "PREFECT_HOME": str(private / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "TMPDIR": str(private),  # Prefect and Dask leave folders there
    }
    return Processes(logs, kept | own)


def _is_of_others(name: str) -> bool:
    """Return whether a variable speaks of other servers: nothing here leaves loopback."""
    return name.startswith(("PREFECT_", "DASK_")) or name.lower().endswith("_proxy")


def _take_environment(environment: Mapping[str, str]) -> None:
    """Have here what the parts have, and nothing else."""
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)


def _prepare_input(asked: Asked, processes: Processes, steps: Steps) -> None:
    shutil.rmtree(asked.input, ignore_errors=True)
    command = [sys.executable, "-m", "tclose", "generate", "--quiet"]
    command += [f"--rows={asked.rows}", f"--out={asked.input}"]
    log = processes.logs / "generate.log"
    with log.open("wb") as output:
        done = subprocess.run(  # noqa: S603
            command,
            env=dict(processes.environment),
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    processes.check_interrupted()
    if done.returncode:
        raise StackError(f"the records could not be made\n{last_lines(log)}")
    steps.say(f"{asked.rows:,} invented discharges in {asked.input}")


def _start_database(asked: Asked, processes: Processes, stack: ExitStack) -> Database:
    folder = stack.enter_context(_private_folder())
    if asked.database == "sqlite":
        return start_sqlite(folder)
    return start_postgres(processes, folder)


def _start_prefect(processes: Processes, database: Database, steps: Steps) -> str:
    """Start the server, and tell it to everything that is started afterwards, and to here.

    Returns
    -------
    Where its pages are, and how to sign in.
    """
    port = free_port()
    secret = start_prefect_server(processes, database.url, port)
    own = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_API_AUTH_STRING": secret}
    processes.environment = {**processes.environment, **own}
    _take_environment(processes.environment)  # before Prefect is imported here
    steps.say(f"Prefect's server on 127.0.0.1:{port}")
    return f"http://127.0.0.1:{port} (sign in with {secret})"


def _parameters(asked: Asked, dask: Dask) -> dict[str, Any]:
    overrides = (
        "name=stack",
        f"input.path={quote_path(asked.input)}",
        f"output.path={quote_path(asked.releases)}",
        *dask.client_options(),
    )
    policy = str(ROOT / "config" / "demo.yaml")
    return {"policy": policy, "overrides": list(overrides), "as_of": None}


def _published(run: Any, processes: Processes) -> Path:
    message = run.state.message or ""
    if not run.state.is_completed() or _PUBLISHED not in message:
        raise StackError(f"the run ended as {run.state.name}: {message}\n  ({processes.logs})")
    return Path(message.partition(_PUBLISHED)[2])


def _audit(release: Path) -> int:
    """Show the release, and let it be verified again from its files alone."""
    status = 0
    for command in (["show"], ["audit", "--quiet"]):
        status |= subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tclose", *command, str(release)], cwd=ROOT, check=False
        ).returncode
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
