"""Clusters that all workers have left: Dask waits for others however long that takes."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CHECK_SECONDS = 10.0
WAIT_SECONDS = 600.0  # in which a cluster may start others, on new machines if need be


@dataclass
class Absence:
    """The watch over a cluster's workers; ``is_over``: none has come back for `WAIT_SECONDS`."""

    is_over: bool = False


@contextlib.contextmanager
def watching_workers(client: Any, futures: Sequence[Any]) -> Iterator[Absence]:
    """Cancel tasks in the block once there were no workers for too long."""
    absence, ended = Absence(), threading.Event()
    arguments = (client, futures, ended, absence)
    threading.Thread(target=_watch, args=arguments, name="tclose-workers", daemon=True).start()
    try:
        yield absence
    finally:
        ended.set()


def _watch(client: Any, futures: Sequence[Any], ended: threading.Event, absence: Absence) -> None:
    last_seen = time.monotonic()
    while not ended.wait(CHECK_SECONDS):
        # Without a scheduler, or a client that is closed, futures say so themselves.
        with contextlib.suppress(Exception):
            if client.scheduler_info(n_workers=-1)["workers"]:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen >= WAIT_SECONDS:
                absence.is_over = True
                client.cancel(futures, force=True)
                return
