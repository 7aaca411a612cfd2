"""Traces of finished tasks on a cluster: each task's time, worker and code.

Kept of a task are its number, its worker and its times, and nothing else: what Dask says of failed
tasks quotes their arguments. Times come from Dask's own stream of tasks; why its report is not used
is explained in `task_report`.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclose.runtime.engines.sampling import (
    Calls,
    build_call_tree,
    drop_sampling,
    start_sampling,
    stop_sampling,
)

THIS_PROCESS = "this process"
ANSWER_SECONDS = 20  # of the scheduler


@dataclass(frozen=True)
class Span:
    """A task's span on a thread of a worker, from ``start`` to ``stop`` (seconds since 1970).

    ``action``: compute, transfer, deserialize, disk-read or disk-write.
    """

    worker: str
    thread: int
    task: int
    action: str
    start: float
    stop: float

    @property
    def seconds(self) -> float:
        """The duration."""
        return max(0.0, self.stop - self.start)


@dataclass
class Trace:
    """The trace of the tasks of a kind, on a cluster or in this process.

    ``peaks``: most memory that each worker's process ever held, in bytes. ``problem``: why
    something is missing.
    """

    task_name: str
    on_cluster: bool = False
    spans: list[Span] = field(default_factory=list)
    calls: Calls | None = None
    peaks: dict[str, int] = field(default_factory=dict)
    problem: str = ""


def peak_memory() -> int:
    """Most memory that the calling process has held, in bytes; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        if match := re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE):
            return int(match[1]) * 1024
    return 0


@contextlib.contextmanager
def trace_here(task_name: str) -> Iterator[Trace]:
    """Trace tasks that run in this process: its memory."""
    trace = Trace(task_name)
    try:
        yield trace
    finally:
        trace.peaks = {THIS_PROCESS: peak_memory()}


@contextlib.contextmanager
def trace_tasks(client: Any, task_name: str) -> Iterator[Trace]:
    """Trace tasks that run on a cluster; the trace is filled when the block ends.

    A trace that cannot be had is no reason to fail: it says itself what is missing. After an
    interrupt nothing is asked for, as workers may be busy for long.
    """
    trace = Trace(task_name, on_cluster=True)
    samples, first = f"{task_name}-{client.id}", None
    with _noting(trace):  # from this question on the scheduler keeps the times of tasks
        first = _ask(client, "get_task_stream_index")
        client.run(start_sampling, samples)
    try:
        yield trace
    except Exception:
        _fill(trace, client, samples, first)
        raise
    except BaseException:
        with contextlib.suppress(Exception):
            client.run(drop_sampling, samples, wait=False)
        raise
    _fill(trace, client, samples, first)


def _fill(trace: Trace, client: Any, samples: str, first: int | None) -> None:
    with _noting(trace):
        trace.calls = build_call_tree(client.run(stop_sampling, samples).values())
    with _noting(trace):
        trace.peaks = dict(client.run(peak_memory))
    if first is not None:
        with _noting(trace):
            messages = _ask(client, "get_task_stream", start_index=first)
            trace.spans = _read_spans(client, trace.task_name, messages)


@contextlib.contextmanager
def _noting(trace: Trace) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        trace.problem = f"the cluster did not tell everything ({type(error).__name__})"


def _ask(client: Any, what: str, **how: Any) -> Any:
    """An answer of the scheduler, or TimeoutError."""
    return client.sync(getattr(client.scheduler, what), callback_timeout=ANSWER_SECONDS, **how)


def task_prefix(client: Any, task_name: str) -> str:
    """Return the prefix of the keys of a client's tasks: ``<task>-<client>``.

    Dask groups tasks by the part before the first digit, so that dashboards show the kind of task.
    """
    return f"{task_name}-0{client.id}"


def _read_spans(client: Any, task_name: str, messages: list[dict[str, Any]]) -> list[Span]:
    """The spans of this client's tasks: others may use the scheduler too."""
    prefix = task_prefix(client, task_name)
    return [
        Span(
            worker=str(message["worker"]),
            thread=int(message["thread"]),
            task=int(str(message["key"]).rpartition("-")[2]),
            action=str(part["action"]),
            start=float(part["start"]),
            stop=float(part["stop"]),
        )
        for message in messages
        if str(message["key"]).startswith(prefix)
        for part in message["startstops"]
    ]
