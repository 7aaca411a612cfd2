"""An S3 server that answers one request after the other.

It is called as ``python -m support.servers.moto_server PORT``.

moto looks whether a conditional write may be done, and does it, in two steps, in a thread for each
request: of two writes at the same time both could succeed, which S3 excludes.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


class OneByOne:
    """An application that is never called twice at the same time."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._turn = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """Answer a request: that of S3 is complete when the application returns."""
        with self._turn:
            return list(self._application(environ, start_response))


if __name__ == "__main__":
    application = OneByOne(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), application, threaded=True)
