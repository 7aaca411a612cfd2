"""A clock for Dask that goes at one pace: the system's may be set while a run is at work.

Dask and Tornado measure deadlines and intervals by the time of day. Where that jumps, connections
time out that were just begun, messages and heartbeats wait for years, and workers that live are
taken for dead.
"""

import sys
import time
from typing import Any

_START = time.time() - time.monotonic()


def steady_time() -> float:
    """Seconds since 1970 as they were when this process began, and those that passed since."""
    return _START + time.monotonic()


def use_steady_clock() -> None:
    """Give it to Dask and Tornado in this process, in place of the system's."""
    import distributed
    from tornado.ioloop import IOLoop

    wall_time = distributed.metrics.time
    if wall_time is steady_time:
        return
    for name, module in list(sys.modules.items()):
        if name.startswith("distributed.") and getattr(module, "time", None) is wall_time:
            vars(module)["time"] = steady_time
    IOLoop.time = _loop_time  # type: ignore[method-assign]  # that of all loops


def _loop_time(self: Any) -> float:
    del self
    return steady_time()
