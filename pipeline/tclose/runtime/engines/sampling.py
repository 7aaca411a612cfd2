"""Functions in which a worker spends its time, by its threads' stacks, looked at every 10 ms.

Dask has samples of its own, but counts a function that calls no other for its caller, so that the
functions that do the work cannot be told from each other.
"""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

from tclose.package import PACKAGE

SAMPLE_SECONDS = 0.01
_IDLE_SECONDS = 300.0  # after which nobody is thought to wait for the samples any more
_LEAST_SHARE = 0.005  # of all samples; what is rarer is left out
_PACKAGE = str(PACKAGE) + os.sep

Function = tuple[str, str]  # its name, and the file and line where it is defined
Stacks = Mapping[tuple[Function, ...], int]  # how often each was found; the outermost call first


@dataclass(frozen=True)
class Calls:
    """A function and what it called: in how many samples each was found."""

    name: str
    place: str
    count: int
    called: tuple["Calls", ...]

    @property
    def own(self) -> int:
        """Samples in which the function itself was at work, or a kernel that it called."""
        return self.count - sum(call.count for call in self.called)


class _Sampler(threading.Thread):
    """Samples the other threads of this process until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(name="tclose-sampler", daemon=True)
        self.ended = threading.Event()
        self.stacks_seen: Counter[tuple[CodeType, ...]] = Counter()

    def run(self) -> None:
        """Look now and then."""
        last = time.monotonic()
        while not self.ended.wait(SAMPLE_SECONDS) and time.monotonic() - last < _IDLE_SECONDS:
            frames = sys._current_frames()  # noqa: SLF001 (there is no other way to them)
            stacks = [cut_stack(frame) for of, frame in frames.items() if of != self.ident]
            del frames  # or they would keep what their functions hold
            if any(stacks):
                self.stacks_seen.update(filter(None, stacks))
                last = time.monotonic()


_samplers: dict[str, _Sampler] = {}


def start_sampling(name: str) -> None:
    """Sample the threads of this process from here on."""
    _samplers[name] = _Sampler()
    _samplers[name].start()


def stop_sampling(name: str) -> Stacks:
    """End the sampling of that name; the stacks that it found, none if it was not begun here."""
    sampler = _samplers.pop(name, None)
    if sampler is None:
        return {}
    sampler.ended.set()
    sampler.join()
    stacks: Counter[tuple[Function, ...]] = Counter()
    for codes, count in sampler.stacks_seen.items():
        stacks[tuple(_name_function(code) for code in codes)] += count
    return dict(stacks)


async def drop_sampling(name: str) -> None:
    """End the sampling without a result. A coroutine, as Dask has nobody wait for those."""
    stop_sampling(name)


def cut_stack(frame: FrameType | None) -> tuple[CodeType, ...]:
    """The stack from the first function of tclose on; empty where there is none."""
    codes: list[CodeType] = []
    depth = 0
    while frame is not None:
        codes.append(frame.f_code)
        if frame.f_code.co_filename.startswith(_PACKAGE):
            depth = len(codes)
        frame = frame.f_back
    if depth and codes[depth - 1].co_filename == __file__:
        return ()  # the thread that starts or stops the sampling
    return tuple(reversed(codes[:depth]))


def _name_function(code: CodeType) -> Function:
    place = "/".join(Path(code.co_filename).parts[-2:])
    return code.co_qualname, f"{place}:{code.co_firstlineno}"


def build_call_tree(of_workers: Iterable[Stacks]) -> Calls | None:
    """All workers' stacks as one tree, without its rare branches; None where there are none."""
    stacks: Counter[tuple[Function, ...]] = Counter()
    for stacks_seen in of_workers:
        stacks.update(stacks_seen)
    n_samples = stacks.total()
    return _grow(("all", ""), dict(stacks), n_samples * _LEAST_SHARE) if n_samples else None


def _grow(function: Function, stacks: Stacks, least: float) -> Calls:
    """``stacks`` are below the function."""
    below: dict[Function, dict[tuple[Function, ...], int]] = {}
    for stack, count in stacks.items():
        if stack:
            below.setdefault(stack[0], {})[stack[1:]] = count
    called = [
        _grow(inner, inner_stacks, least)
        for inner, inner_stacks in below.items()
        if sum(inner_stacks.values()) >= least
    ]
    called.sort(key=lambda calls: -calls.count)
    return Calls(*function, sum(stacks.values()), tuple(called))
