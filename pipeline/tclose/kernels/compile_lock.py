"""A lock under which one of several processes compiles a kernel; the others wait for its code.

Compiling the search takes a minute and some hundred megabytes, in every process that does it: on a
first use that would be every worker. The lock only decides who does the work: a process that has
waited in vain, or cannot lock a file, compiles for itself.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

LONGEST_WAIT = 300.0  # seconds, for all kernels that one calls: they take about one minute
_RETRY_SECONDS = 0.02  # seconds


@contextlib.contextmanager
def hold_compile_lock(name: str, folder: int) -> Iterator[None]:
    """Hold the lock of a file, or begin once the process that holds it has released it or died.

    ``folder``: descriptor of the folder that the file is in.
    """
    with contextlib.ExitStack() as kept:
        with contextlib.suppress(OSError):  # no such folder, or a file system without locks
            flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=folder)
            kept.callback(os.close, descriptor)
            if _lock(descriptor):
                kept.callback(_remove, name, folder)
            else:
                _wait(descriptor)
                kept.close()
        yield


def _remove(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):  # a disk that can no longer be written to
        os.unlink(name, dir_fd=folder)


def _wait(descriptor: int) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while not _lock(descriptor) and time.monotonic() < until:
        time.sleep(_RETRY_SECONDS)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
