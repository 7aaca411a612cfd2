"""Prefect's embedded server, in a process that ends when the one that started it does.

Prefect stops it at the end of the program, but not after a kill. Here it holds one end of a pipe,
whose other end is open for as long as its parent lives, and leaves when that closes.
"""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import get_current_settings

_SECONDS_TO_LEAVE = 10


class _Server(SubprocessASGIServer):
    """The one that Prefect's clients find: it is the only instance."""

    def _run_uvicorn_command(self) -> "subprocess.Popen[bytes]":
        as_prefect_does = {
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
        }
        settings = get_current_settings().to_environment_variables(exclude_unset=True)
        ending, _held = os.pipe()  # the other end is never closed: it ends with this process
        try:
            return subprocess.Popen(  # noqa: S603 (this program itself)
                [sys.executable, "-m", "flows.embedded_server", str(self.port)],
                env={**os.environ, **as_prefect_does, **settings},
                stdin=ending,
            )
        finally:
            os.close(ending)


def start_server() -> None:
    """Start the embedded server out of reach of Ctrl-C.

    A terminal sends Ctrl-C to every process that was started from it. The server has to outlive it
    by a moment, or Prefect tries for minutes to tell it that the run was interrupted.
    """

    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the server inherits
        _Server().start()

    with ThreadPoolExecutor(1) as starter:
        starter.submit(start).result()


def _leave_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written: it returns when the parent has gone
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_SECONDS_TO_LEAVE)
    os._exit(1)


def _serve(port: int) -> None:
    import uvicorn

    threading.Thread(target=_leave_with_parent, daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
