"""Processors and memory that Linux's control groups leave to a process, as those of a container.

Of version 2 of control groups, and of version 1. A process has the limits of its own group and of
all groups above it. In a container its own group is the topmost that it sees, whatever it is called
outside; groups that are not seen are left out.
"""

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def find_quota() -> int | None:
    """Find how many processors' time the groups leave, rounded up; None without a limit."""
    quotas = []
    for folder in _folders("cpu"):
        first = f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}"
        for text in (first, _read(folder / "cpu.max")):
            time, period = (*map(_as_count, text.split()), 0, 0)[:2]
            if time and period:
                quotas.append(time / period)
    return math.ceil(min(quotas)) if quotas else None


def find_memory_limit() -> int | None:
    """Find the bytes that the groups leave; None without a limit."""
    names = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits = [_as_count(_read(folder / name)) for folder in _folders("memory") for name in names]
    return min(filter(None, limits), default=None)


def _folders(controller: str) -> Iterator[Path]:
    """Folders of the groups of this process, of one controller, and of those above them."""
    for line in _read(_OWN).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        mounted = _GROUPS / controller if controllers else _GROUPS
        group = PurePosixPath(path.lstrip("/"))
        for one in (group, *group.parents):
            if ".." not in one.parts:
                yield mounted / one


def _read(path: Path) -> str:
    """A file of the system; empty where there is none."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _as_count(text: str) -> int:
    """A number above 0; 0 for all words and numbers that mean no limit."""
    return int(text) if text.isdecimal() else 0
