"""The parts of the stack, each with the command that an operator would give."""

import json
import secrets
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.stack.errors import StackError
from deploy.stack.processes import Process, Processes, free_port, listens

_START_SECONDS = 180  # of Prefect's server, which makes its tables first
_DASK_SECONDS = 60
_PYTHON = sys.executable
WORKER_MEMORY = "2GB"
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # all is on loopback


@dataclass(frozen=True)
class Dask:
    """Where the scheduler is, and the folder of the certificates."""

    address: str
    tls: Path

    def client_files(self) -> dict[str, str]:
        """What ``engine.tls`` of a policy is to be."""
        files = {"ca": "ca.pem", "cert": "client.pem", "key": "client-key.pem"}
        return {key: str(self.tls / name) for key, name in files.items()}

    def client_options(self) -> tuple[str, ...]:
        """Overrides of a policy that is to run there."""
        files = self.client_files().items()
        return (
            f"engine.scheduler={self.address}",
            *(f"engine.tls.{key}={quote_path(path)}" for key, path in files),
        )


def quote_path(path: str | Path) -> str:
    """Write a path as the value of an override, which is YAML: it may have blanks and marks."""
    return json.dumps(str(path), ensure_ascii=False)


def start_prefect_server(processes: Processes, database_url: str, port: int) -> str:
    """Start Prefect's server on loopback; it is ready when it says so itself.

    Whoever may speak to it may have code run by the worker, and every user of the machine reaches
    loopback; so it asks for a password that nobody else knows.

    Returns
    -------
    User and password, which clients and the pages are given as one text.
    """
    user_and_password = f"tclose:{secrets.token_urlsafe(24)}"
    command = [_PYTHON, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
    more = {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": database_url,
        "PREFECT_SERVER_API_AUTH_STRING": user_and_password,
        "PREFECT_UI_API_URL": "/api",  # of this port, whichever it is
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",  # a schedule is seen to in time
    }
    processes.start("prefect-server", [*command, "--port", str(port)], more=more)
    health = f"http://127.0.0.1:{port}/api/health"
    processes.wait(lambda: _says_true(health), "Prefect's server answers", _START_SECONDS)
    return user_and_password


def _says_true(url: str) -> bool:
    try:
        with _DIRECTLY.open(url, timeout=5) as answer:
            return json.load(answer) is True
    except (OSError, ValueError):
        return False


def start_scheduler(
    processes: Processes, tls: Path, *, more: Mapping[str, str] | None = None
) -> Dask:
    """A Dask scheduler on loopback; it speaks TLS, to workers and to clients."""
    port = free_port()
    dask = Dask(f"tls://127.0.0.1:{port}", tls)
    processes.start(
        "dask-scheduler",
        [
            *(_PYTHON, "-m", "dask", "scheduler", "--protocol=tls", "--host=127.0.0.1"),
            *(f"--port={port}", "--no-dashboard", "--dashboard-address=127.0.0.1:0"),
            *_certificates(tls, "scheduler"),
        ],
        more=more,
    )
    processes.wait(lambda: listens(port), "the Dask scheduler listens", _DASK_SECONDS)
    return dask


def start_worker(
    processes: Processes,
    dask: Dask,
    number: int,
    scratch: Path,
    *,
    more: Mapping[str, str] | None = None,
) -> Process:
    """A worker of that scheduler: one process of one thread, under its nanny."""
    return processes.start(
        f"dask-worker-{number}",
        [
            *(_PYTHON, "-m", "dask", "worker", dask.address, "--host=127.0.0.1"),
            *("--nworkers=1", "--nthreads=1", f"--memory-limit={WORKER_MEMORY}"),
            *(f"--local-directory={scratch}", "--no-dashboard", "--death-timeout=60"),
            *("--dashboard-address=127.0.0.1:0", *_certificates(dask.tls, "worker")),
        ],
        more=more,
    )


def _certificates(tls: Path, role: str) -> Sequence[str]:
    files = {"ca-file": "ca.pem", "cert": f"{role}.pem", "key": f"{role}-key.pem"}
    return [f"--tls-{option}={tls / name}" for option, name in files.items()]


def await_workers(dask: Dask, processes: Processes, n_workers: int) -> None:
    """Wait until all workers have come."""
    from distributed import Client, Security

    tls = dask.tls
    security = Security(
        require_encryption=True,
        tls_ca_file=str(tls / "ca.pem"),
        tls_client_cert=str(tls / "client.pem"),
        tls_client_key=str(tls / "client-key.pem"),
    )
    with Client(dask.address, security=security, timeout="30s", set_as_default=False) as client:
        try:
            client.wait_for_workers(n_workers, timeout=_DASK_SECONDS)
        except TimeoutError:
            raise StackError(
                f"not all {n_workers} Dask workers came; see {processes.logs}"
            ) from None


def start_prefect_worker(processes: Processes, pool: str) -> Process:
    """The worker that takes scheduled runs; each is a process of its own."""
    command = [_PYTHON, "-m", "prefect", "worker", "start", "--type=process", f"--pool={pool}"]
    return processes.start("prefect-worker", command)
