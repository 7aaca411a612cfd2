"""Prefect's embedded server: of this user alone, and gone when the process that started it is.

It listens on loopback, which every user of the machine can reach, and shows policies and messages
to whoever asks. So it asks for a secret that each run draws anew, which is in the environment of
the run's processes, that no other user can read, and in no file.

Prefect stops it at the end of the program, but not after a kill. Here it holds one end of a pipe,
whose other end is open for as long as its parent lives, and leaves when that closes.
"""

import contextlib
import contextvars
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    PREFECT_SERVER_API_AUTH_STRING,
    get_current_settings,
    temporary_settings,
)

from tclose.errors import TaskError
from tclose_flows.prefect_home import make_home_private

_SECONDS_TO_LEAVE = 10
_ERROR = re.compile(r"^[A-Za-z][\w.]*(?:Error|Exception): .*$", re.MULTILINE)  # of a traceback
_LONGEST_REASON = 300  # characters


class _Server(SubprocessASGIServer):
    """The one that Prefect's clients find: it is the only instance."""

    def start(self, timeout: int | None = None) -> None:
        """Start it, unless that is done, and wait until it answers.

        Raises
        ------
        TaskError
            It ended instead.
        """
        super().start(timeout)
        if isinstance(self.server_process, _ServerProcess):
            self.server_process.close_reasons()

    def find_available_port(self) -> int:
        """A port that stays this user's, also before the server listens and after it has gone.

        Another user who listened there instead would be given the secret, and then the policy.
        """
        held = _bind(0)
        port: int = held.getsockname()[1]
        self._held = held.detach()  # a descriptor, which is never closed: it ends with this process
        return port

    def _run_uvicorn_command(self) -> "subprocess.Popen[bytes]":
        as_prefect_does = {
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
        }
        settings = get_current_settings().to_environment_variables(exclude_unset=True)
        # -P: nothing is imported from the working folder
        command = [sys.executable, "-P", "-m", "tclose_flows.embedded_server"]
        ending, _held_open = os.pipe()  # the other end is never closed: it ends with this process
        reasons, telling = os.pipe()
        try:
            with _bind(self.port or 0) as serving:
                return _ServerProcess(
                    [*command, str(serving.fileno()), str(telling)],
                    reasons,
                    env={**os.environ, **as_prefect_does, **settings},
                    stdin=ending,
                    pass_fds=[serving.fileno(), telling],
                )
        finally:
            os.close(ending)
            os.close(telling)


class _ServerProcess(subprocess.Popen[bytes]):
    """The server's process, which Prefect waits for to answer, also when it has ended.

    ``reasons``: descriptor from which is read why it could not start.
    """

    def __init__(self, command: list[str], reasons: int, **options: Any) -> None:
        self._reasons: int | None = reasons
        super().__init__(command, **options)

    def poll(self) -> int | None:
        """The exit status; None while it runs.

        Raises
        ------
        TaskError
            The first time that it has ended.
        """
        status = super().poll()
        if status is None or self._reasons is None:
            return status
        reason, home = self.close_reasons(), get_current_settings().home
        raise TaskError(
            f"Prefect's server could not start ({reason or f'its process ended with {status}'}); "
            f"see that its database in PREFECT_HOME {home} is whole, has room, and was made by no "
            "later version of Prefect, or name another; `tclose run` does the same without Prefect"
        )

    def close_reasons(self) -> str:
        """The words of a process that has ended; from now on one may end."""
        if self._reasons is None:
            return ""
        with os.fdopen(self._reasons, encoding="utf-8", errors="replace") as stream:
            self._reasons = None
            return stream.read() if self.returncode is not None else ""


def _bind(port: int) -> socket.socket:
    """A socket on loopback; of several on one port all have to be one user's."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound


@contextlib.contextmanager
def serving_this_run() -> Iterator[None]:
    """An embedded server that answers flows within the block and nobody else.

    Raises
    ------
    OutputError
        Its database cannot be kept from others.
    """
    make_home_private()
    secret = f"tclose:{secrets.token_urlsafe(32)}"
    both = {PREFECT_SERVER_API_AUTH_STRING: secret, PREFECT_API_AUTH_STRING: secret}
    # An empty address, as of a file of settings, is none; Prefect takes it for one here and there.
    with temporary_settings(both, restore_defaults={PREFECT_API_URL}):
        _start_server()
        yield


def _start_server() -> None:
    """Start the embedded server out of reach of Ctrl-C.

    A terminal sends Ctrl-C to every process that was started from it. The server has to outlive it
    by a moment, or Prefect tries for minutes to tell it that the run was interrupted.
    """

    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the server inherits
        _Server().start()

    with ThreadPoolExecutor(1) as starter:
        starter.submit(contextvars.copy_context().run, start).result()


def _leave_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written: it returns when the parent has gone
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_SECONDS_TO_LEAVE)
    os._exit(1)


def _serve(descriptor: int, telling: int) -> None:
    import uvicorn

    os.umask(0o077)  # Prefect leaves its database to all
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    application = "prefect.server.api.server:create_app"
    configured = uvicorn.Config(application, factory=True, log_level="error", lifespan="on")
    server = uvicorn.Server(configured)
    reasons: list[str] = []

    def hide_start(record: logging.LogRecord) -> bool:
        reasons.extend(_ERROR.findall(record.getMessage()))
        return server.started

    logging.getLogger("uvicorn.error").addFilter(hide_start)
    try:
        server.run(sockets=[socket.socket(fileno=descriptor)])
    except SystemExit as ended:
        if server.started:
            raise
        os.write(telling, (reasons or [""])[-1][:_LONGEST_REASON].encode())
        raise SystemExit(1) from ended  # after its own status Prefect would try again and again


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
