"""One of several processes compiles what all of them want; the others wait for its code.

Compiling the search takes a minute and some hundred megabytes, in every process that does it: on a
first use that would be every worker. Nothing depends on a turn but who does the work: a process
that cannot wait, or has waited for long, compiles for itself.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

LONGEST_WAIT = 300.0  # seconds; the kernel that takes longest takes a tenth of it
_LOOK_EVERY = 0.02  # seconds


def take_turn(path: Path) -> int | None:
    """Wait until nobody else has the turn that a file stands for; it ends with the process, too.

    Returns
    -------
    Descriptor for `end_turn`. None: the file cannot be locked, or the wait took too long.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None
    until = time.monotonic() + LONGEST_WAIT
    with contextlib.suppress(OSError):
        while not _lock(descriptor):
            if time.monotonic() > until:
                break
            time.sleep(_LOOK_EVERY)
        else:
            return descriptor
    os.close(descriptor)
    return None


def end_turn(path: Path, descriptor: int) -> None:
    """Let the next one in; who waits by then has the removed file open, and locks that."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
