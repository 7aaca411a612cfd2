"""``tclose`` with one fault: ``python -m support.faults.faulty_run FAULT COMMAND POLICY ...``.

Faults, by what they are and when:

``none``, ``count``            nothing; ``count`` prints how many renames and flushes there were
``end@PASS``                   SIGKILL to this process, after the first task of a pass
``worker@PASS``                SIGKILL to one of this process's workers, then
``process:ID@PASS``            SIGKILL to a process of that id, then
``before@N``, ``after@N``      SIGKILL to this process around its rename (or link) number N
``full@N``                     the disk is full when it is to be flushed for the Nth time
``clock:SECONDS@N``            the clock jumps after it was read N times
``conflict@N``                 somebody else writes what is to be the Nth new object of a bucket
"""

import contextlib
import datetime
import errno
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil

from support.faults.killed_run import SMALL_REGION
from tclose.cli import main as cli
from tclose.data.places.bucket_paths import BucketPath
from tclose.passes.plan import coarse_tree
from tclose.releases.repository.repository import KEY_FILE
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.monitoring.work import Work

RENAMES = ("rename", "replace", "link")
FOREIGN = b"of somebody else"
counted = {"renames": 0, "flushes": 0, "readings": 0, "objects": 0}


def end(process: int) -> None:
    """End like ``kill -9``: no handler, no clean-up."""
    os.kill(process, signal.SIGKILL)


def end_a_worker() -> None:
    """End one of the worker processes that this one has started."""
    below = psutil.Process().children(recursive=True)
    workers = [p for p in below if p.ppid() != os.getpid()]  # they are the fork server's children
    end(random.choice(workers).pid)


def strike_in(struck_task: str, strike: Callable[[], None]) -> None:
    """Strike once, after the first task of a pass."""
    original = Progress.following
    struck: list[str] = []

    @contextlib.contextmanager
    def following(
        self: Progress, task_name: str, n_tasks: int | Work, *, label: str = ""
    ) -> Iterator[Callable[[], None]]:
        with original(self, task_name, n_tasks, label=label) as step:

            def one_more() -> None:
                step()
                if task_name == struck_task and not struck:
                    struck.append(task_name)
                    strike()

            yield one_more

    Progress.following = following  # type: ignore[method-assign]  # for this process alone


def watch_renames(strike: Callable[[int, str], None]) -> None:
    """Call before and after each rename, with its number."""

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def renamed(*arguments: Any, **keywords: Any) -> Any:
            counted["renames"] += 1
            number = counted["renames"]
            strike(number, "before")
            result = function(*arguments, **keywords)
            strike(number, "after")
            return result

        return renamed

    for name in RENAMES:
        setattr(os, name, watched(getattr(os, name)))


def fill_disk_at(limit: int) -> None:
    """Refuse the flush of that number and all later ones: there is no room; 0 never does."""
    flush = os.fsync

    def refusing(fd: Any) -> None:
        counted["flushes"] += 1
        if 0 < limit <= counted["flushes"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(fd)

    os.fsync = refusing


def jump_clock(seconds: float, after: int) -> None:
    """Let every clock but the monotonic one jump, after so many readings."""
    true_time = time.time

    def jumping() -> float:
        counted["readings"] += 1
        return true_time() + (seconds if counted["readings"] > after else 0)

    class Jumping(datetime.datetime):
        @classmethod
        def now(  # type: ignore[override]  # a plain time, which can be pickled
            cls, tz: datetime.tzinfo | None = None
        ) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(jumping(), tz)

    time.time = jumping
    for name, module in list(sys.modules.items()):
        if name.startswith("tclose") and hasattr(module, "datetime"):
            vars(module)["datetime"] = Jumping


def write_before(number: int) -> None:
    """Let a foreign object stand where the run is to put its Nth new one."""
    put = BucketPath.put

    def contested(self: BucketPath, data: bytes, tag: str | None) -> str:
        if tag is None and self.name != KEY_FILE:  # which nobody could make good
            counted["objects"] += 1
            if counted["objects"] == number:
                put(self, FOREIGN, None)
        return put(self, data, tag)

    BucketPath.put = contested  # type: ignore[method-assign]  # for this process alone


def arrange(fault: str) -> None:
    """Prepare the fault."""
    what, _, when = fault.partition("@")
    kind, _, detail = what.partition(":")
    if kind in ("end", "worker", "process"):
        targets: dict[str, Callable[[], int]] = {"end": os.getpid, "process": lambda: int(detail)}
        target = targets.get(kind)
        strike_in(when, end_a_worker if target is None else lambda: end(target()))
    elif kind in ("before", "after"):
        watch_renames(
            lambda number, side: end(os.getpid()) if (number, side) == (int(when), kind) else None
        )
    elif kind == "full":
        fill_disk_at(int(when))
    elif kind == "clock":
        jump_clock(float(detail), int(when))
    elif kind == "conflict":
        write_before(int(when))
    elif kind == "count":
        watch_renames(lambda number, side: None)
        fill_disk_at(0)


def main() -> int:
    """Run the command with the fault."""
    coarse_tree.MIN_REGION_RECORDS = SMALL_REGION
    arrange(sys.argv[1])
    status = cli.main(sys.argv[2:])
    if sys.argv[1] == "count":
        sys.stdout.write(f"counted {counted['renames']} {counted['flushes']}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
