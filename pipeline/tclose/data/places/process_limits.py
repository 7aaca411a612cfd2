"""Processors, memory and limits of a process: detected before they are met where possible."""

import errno
import os
import resource
from collections.abc import Mapping
from pathlib import Path

from tclose.data.places.control_groups import find_memory_limit, find_quota
from tclose.errors import LimitError, LostError

OPEN_FILES = 128  # of a command that works in its own process: it has 20 to 80
_ENOUGH = 4096  # to which a limit is raised if it may be
_PROBE_BYTES = 1 << 20
# Error numbers of calls that met a limit of the process or of the machine, and remedies.
_REMEDIES: Mapping[int, str] = {
    errno.EMFILE: "raise the limit (ulimit -n)",
    errno.ENFILE: "all processes of this machine together have too many; end some",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or give engine.workers fewer",
    errno.ENOMEM: "give engine.memory_per_worker more, or raise the limit (ulimit -v)",
    errno.EFBIG: "raise the limit (ulimit -f); output.rows_per_file makes released files smaller",
    errno.EDQUOT: "make room, or have the quota raised",
    errno.ENOSPC: "make room, or choose another place",
    errno.EROFS: "choose another place",
    errno.EACCES: "give this user permission, or choose another place",
}
_OF_PLACES = (errno.EFBIG, errno.EDQUOT, errno.ENOSPC, errno.EROFS, errno.EACCES)
_NOT_OF_DATA = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def ensure_open_files(n_files: int) -> None:
    """Ensure that this process and its children can have ``n_files`` files open.

    Raises
    ------
    LimitError
        The limit is lower, and only its administrator may raise it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= n_files:
        return
    if hard != resource.RLIM_INFINITY and hard < n_files:
        raise LimitError(
            f"at most {hard} files may be open at once here, and this takes {n_files}: raise the "
            f"limit (ulimit -n {n_files}) or give engine.workers fewer"
        )
    enough = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(n_files, enough), hard))


def count_processors() -> int:
    """Processors that this process may use; of a share of one, as containers have, one."""
    has_affinity = hasattr(os, "sched_getaffinity")
    n_processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(n_processors, find_quota() or n_processors)


def machine_memory() -> int:
    """Bytes of memory that this machine has, or the container that this process is in."""
    n_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(n_bytes, find_memory_limit() or n_bytes)


def find_remedy(error: BaseException) -> str:
    """Return the remedy for an error that met a limit of the system; empty for other errors."""
    number = error.errno if isinstance(error, OSError) else None
    return _REMEDIES.get(number, "") if number is not None else ""


def add_place(error: BaseException, folder: Path) -> None:
    """Name the folder in which something could not be written, if the error names no file."""
    if isinstance(error, OSError) and error.errno in _OF_PLACES and error.filename is None:
        error.filename = str(folder)


def find_unwritable(error: OSError) -> str:
    """Return where something could not be read or written; empty for other errors.

    Folders below one of a release's partition, whose name quotes a value, are left out.
    """
    if error.errno not in _OF_PLACES or not isinstance(error.filename, str):
        return ""
    parts = Path(error.filename).parts
    n_kept = next((i for i, part in enumerate(parts) if "=" in part), len(parts))
    return str(Path(*parts[:n_kept]))


def find_cause(path: Path) -> OSError:
    """Find why a file could not be written whole, by writing on; for libraries that do not tell."""
    try:
        with path.open("ab", buffering=0) as stream:
            for _ in range(2):  # the first may be cut short, and is no error then
                stream.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return OSError(error.errno, error.strerror, str(path.parent))
    return OSError(errno.EIO, os.strerror(errno.EIO), str(path.parent))


def check_limits(error: OSError, place: str) -> None:
    """See that it is not the system's limits that keep a file from being read.

    Raises
    ------
    LostError
        It is: nothing is wrong with the file.
    """
    if error.errno in _NOT_OF_DATA:
        raise LostError(f"{place}: {error.strerror}; {find_remedy(error)}") from None
