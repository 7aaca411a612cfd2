"""The part of a task that is done, as the task tells it while it runs, on whatever worker.

It is written to a small file beside those of the task, which whoever waits looks at once a second.
A share is an estimate, and nothing but what is shown depends on it.
"""

import contextlib
import math
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from tclose.data.places.atomic_files import write_atomically
from tclose.runtime.interrupts import stop_if_unwanted

SUFFIX = "share"
TELL_SECONDS = 0.5  # between two writes of a task
MOST = 0.99  # of a task that is not done


@dataclass(frozen=True)
class _Teller:
    """The file of the running task, and the part of it that is being worked at."""

    path: Path
    begin: float = 0.0
    end: float = 1.0
    last: list[float] = field(default_factory=lambda: [0.0])  # when it was written

    def tell(self, share: float) -> None:
        now = time.monotonic()
        if now - self.last[0] >= TELL_SECONDS and not math.isnan(share):
            self.last[0] = now
            whole = self.begin + (self.end - self.begin) * min(max(share, 0.0), 1.0)
            with contextlib.suppress(OSError):  # a full disk is found by what matters
                write_atomically(self.path, f"{whole:.4f}".encode(), is_forced=False)


_TELLER: ContextVar[_Teller | None] = ContextVar("teller", default=None)


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Let the task of the block tell its share, in a file that is gone afterwards."""
    token = _TELLER.set(_Teller(path))
    try:
        yield
    finally:
        _TELLER.reset(token)
        _remove(path)


def _remove(path: Path) -> None:
    """Remove a file of shares; where that fails, no more than what is shown is wrong."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def part_of_task(begin: float, end: float) -> Iterator[None]:
    """Let the block tell shares of its own, which is the task from one share to another.

    Raises
    ------
    UnwantedError
        Nobody waits for the task any more.
    """
    stop_if_unwanted()
    teller = _TELLER.get()
    if teller is None:
        yield
        return
    width = teller.end - teller.begin
    inner = replace(teller, begin=teller.begin + width * begin, end=teller.begin + width * end)
    token = _TELLER.set(inner)
    try:
        yield
    finally:
        _TELLER.reset(token)


def tell_share(share: float) -> None:
    """Tell how much is done of the task, or of the part of it: 0 to 1.

    Raises
    ------
    UnwantedError
        Nobody waits for the task any more.
    """
    stop_if_unwanted()
    teller = _TELLER.get()
    if teller is not None:
        teller.tell(share)


class TaskShares:
    """The shares that tasks of a kind have told: the last of each, which never falls."""

    def __init__(self, folder: Path, positions: Mapping[str, int]) -> None:
        """Look into a folder; ``positions``: of the items, by their names there.

        What a run told that was killed is nobody's share any more.
        """
        for left in folder.glob(f"*.{SUFFIX}"):
            _remove(left)
        self._folder, self._positions = folder, positions
        self._shares: dict[int, float] = {}
        self._last = 0.0

    def look(self, done: Collection[int]) -> dict[int, float]:
        """The shares of the items that are not done, by their positions; 0 of others.

        The folder may have files of thousands of tasks, so it is not looked through for each of
        them. Two threads may look at once.
        """
        now = time.monotonic()
        if now - self._last >= TELL_SECONDS:
            self._last = now
            self._scan()
        told = list(self._shares.items())
        return {position: share for position, share in told if position not in done}

    def _scan(self) -> None:
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                name, _, suffix = entry.name.rpartition(".")
                if suffix == SUFFIX and name in self._positions:
                    self._read(self._positions[name], Path(entry.path))

    def _read(self, position: int, path: Path) -> None:
        with contextlib.suppress(OSError, ValueError):  # it may be gone by now
            share = min(float(path.read_bytes()), MOST)
            self._shares[position] = max(self._shares.get(position, 0.0), share)
