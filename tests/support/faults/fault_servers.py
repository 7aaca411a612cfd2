"""Servers for trials of faults, on loopback: a Dask cluster, a Prefect server."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from deploy.stack.processes import free_port

TESTS = Path(__file__).resolve().parents[2]
SECONDS = 150


@contextlib.contextmanager
def changed_environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables as they are given, for as long as it lasts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until somebody listens on a port."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server has ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError


@contextlib.contextmanager
def started(command: list[str], folder: Path, **more: str) -> "Iterator[subprocess.Popen[bytes]]":
    """A process beside the trial, ended with all that it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent}"} | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, int]]:
    """A scheduler and two workers on loopback: address, and the scheduler's process id."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--host", "127.0.0.1"]
    worker += ["--no-dashboard", "--local-directory", str(folder / "spill")]
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(started([*scheduler, "--no-dashboard"], folder))
        await_port(port, process)
        for _ in range(2):
            stack.enter_context(started(worker, folder))
        yield address, process.pid


@contextlib.contextmanager
def prefect_server(home: Path, port: int) -> "Iterator[subprocess.Popen[bytes]]":
    """A Prefect server on loopback with its database in a folder."""
    home.mkdir(exist_ok=True)
    command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    more = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    with started(command, home, **more) as process:
        await_port(port, process)
        yield process
