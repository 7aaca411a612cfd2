"""The profile of a run: where its time went, by pass and by kind of task.

A profile holds names of passes and tasks, counts, times, workers' addresses and places in code: no
values and no columns of the microdata. Even so it is written to files that only their owner can
read: how many records a partition has is confidential.
"""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tclose.data.places.atomic_files import write_atomically
from tclose.data.places.untrusted_files import dump_json
from tclose.errors import OutputError
from tclose.package import VERSION
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.monitoring.work import Work
from tclose.runtime.profiling.task_report import (
    peaks,
    render_report,
    sum_tasks,
    sum_workers,
)
from tclose.runtime.run import repository_of
from tclose.runtime.safe_errors import to_safe_error

DATA_FILE, TABLE_FILE, REPORT_FILE = "profile.json", "profile.md", "dask-report.html"


@contextlib.contextmanager
def profiling(folder: Path, policy: Policy, progress: Progress) -> Iterator[None]:
    """Write where the time of the block went, however it ends.

    A profile that cannot be written in the end is said to be so, and fails no run.

    Raises
    ------
    OutputError
        Before the block: the folder cannot be used.
    """
    _open_folder(folder, policy)
    started, start, ended = datetime.now(UTC), time.perf_counter(), "done"
    try:
        yield
    except BaseException as error:
        ended = type(error).__name__  # its message is the command's to give
        raise
    finally:
        frame = _Frame(policy.name, started, ended, time.perf_counter() - start)
        try:
            write_profile(folder, frame, progress)
            progress.info(f"profile: {folder}")
        except Exception as error:
            progress.warn(f"tclose: {to_safe_error(error, f'profile {folder}')}")


def _open_folder(folder: Path, policy: Policy) -> None:
    """Make the folder; refuse one that has releases, as what is in it is handed out."""
    place = folder.absolute().resolve()
    own, marks = repository_of(policy).root.resolve(), ("CURRENT", ".release-key")
    for at in (place, *place.parents):
        if at in (own, own.parent) or any((at / mark).exists() for mark in marks):
            within = "" if at == place else f"is in {at}, and "
            raise OutputError(f"profile {folder}: {within}it holds releases; choose another folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (DATA_FILE, TABLE_FILE, REPORT_FILE):  # of an earlier run: not this one's
            (folder / name).unlink(missing_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise OutputError(
            f"profile {folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None


@dataclass(frozen=True)
class _Frame:
    """The frame of a run's profile: figures known from outside the passes."""

    name: str
    started: datetime
    ended: str
    seconds: float


def write_profile(folder: Path, frame: _Frame, progress: Progress) -> None:
    """Write the files of a profile, readable by their owner only."""
    described = _describe(frame, progress)
    write_atomically(folder / DATA_FILE, dump_json(described))
    write_atomically(folder / TABLE_FILE, _render_table(described).encode())
    if described["on_cluster"]:
        report = render_report(progress.traces, described["release"])
        write_atomically(folder / REPORT_FILE, report.encode())


def _describe(frame: _Frame, progress: Progress) -> dict[str, Any]:
    on_cluster = any(trace.on_cluster for trace in progress.traces)
    return {
        "release": frame.name,
        "tclose": VERSION,
        "started": frame.started.isoformat(timespec="seconds"),
        "ended": frame.ended,
        "on_cluster": on_cluster,
        "seconds": round(frame.seconds, 3),
        "seconds_outside_passes": round(frame.seconds - sum(progress.seconds.values()), 3),
        "passes": [_describe_pass(name, s, progress.works) for name, s in progress.seconds.items()],
        "cluster_tasks": [sums.as_dict() for sums in sum_tasks(progress.traces)],
        "workers": [s.as_dict() for s in sum_workers(progress.traces)] if on_cluster else [],
        "peak_bytes": peaks(progress.traces),
        "missing": sorted({trace.problem for trace in progress.traces if trace.problem}),
    }


def _describe_pass(name: str, seconds: float, works: list[Work]) -> dict[str, Any]:
    own = [work for work in works if work.pass_name == name]
    return {
        "pass": name,
        "seconds": round(seconds, 3),
        "seconds_outside_tasks": round(seconds - sum(work.seconds for work in own), 3),
        "tasks": [_describe_task(work) for work in own],
    }


def _describe_task(work: Work) -> dict[str, Any]:
    """Counts are those of the whole work, done before or now; the speed is this run's."""
    speed = work.records_per_second
    return {
        "task": work.task_name,
        "seconds": round(work.seconds, 3),
        "n_tasks": work.n_tasks,
        "tasks_before": work.tasks_before,
        "tasks_done": work.tasks_done,
        "records": work.n_records,
        "records_done": work.records_done if work.n_records is not None else None,
        "records_per_second": None if speed is None else round(speed, 1),
    }


def _render_table(described: dict[str, Any]) -> str:
    """The profile for a reader: Markdown."""
    when = f"Started {described['started']}, took {described['seconds']:.2f} s"
    lines = [
        f"# Profile of a run: {described['release']}",
        "",
        f"{when}, ended: {described['ended']}. tclose {described['tclose']}.",
        "",
        "| pass | task | seconds | share | tasks | records | records/s |",
        "|---|---|--:|--:|--:|--:|--:|",
        *_pass_lines(described),
        "",
    ]
    if any(task["tasks_before"] for p in described["passes"] for task in p["tasks"]):
        lines += ["An earlier run had done some of the tasks; they do not count as speed.", ""]
    lines += _cluster_lines(described) if described["on_cluster"] else [_WITHOUT_DASK, ""]
    for name, held in described["peak_bytes"].items():
        lines.append(f"- {name}: held {held / 1e6:,.0f} MB at most")
    return "\n".join([*lines, ""])


_WITHOUT_DASK = (
    "The run took place in the calling process, without Dask, so there is no "
    f"`{REPORT_FILE}`. With `--set engine.workers=2` it runs on a cluster."
)


def _pass_lines(described: dict[str, Any]) -> Iterator[str]:
    total = described["seconds"] or 1.0
    for one in described["passes"]:
        yield _row(one["pass"], "", one["seconds"], total)
        for task in one["tasks"]:
            yield _row("", task["task"], task["seconds"], total, task)
        if one["tasks"]:
            yield _row("", "(outside tasks)", one["seconds_outside_tasks"], total)
    yield _row("(outside passes)", "", described["seconds_outside_passes"], total)
    yield _row("together", "", described["seconds"], total)


def _row(
    pass_name: str, name: str, seconds: float, total: float, task: dict[str, Any] | None = None
) -> str:
    share = f"{seconds / total:.0%}".replace("%", " %")
    counts = ["", "", ""]
    if task is not None:
        known = task["records"] is not None
        tasks = f"{task['n_tasks']:,}"
        n_done = task["tasks_before"] + task["tasks_done"]
        counts = [
            tasks if n_done == task["n_tasks"] else f"{n_done:,} of {tasks}",
            f"{task['records']:,}" if known else "",
            f"{task['records_per_second']:,.0f}" if task["records_per_second"] else "",
        ]
    return f"| {' | '.join([pass_name, name, f'{seconds:.2f}', share, *counts])} |"


def _cluster_lines(described: dict[str, Any]) -> list[str]:
    rows = [
        f"| {t['task']} | {t['n_tasks']:,} | {t['compute_seconds']:.2f} "
        f"| {t['median_seconds']:.3f} | {t['longest_seconds']:.3f} | {t['other_seconds']:.2f} |"
        for t in described["cluster_tasks"]
    ]
    return [
        f"Tasks of the Dask cluster; more in `{REPORT_FILE}`:",
        "",
        "| task | tasks | seconds of work | median task | longest | transfer, disk |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        "",
        *(f"Missing: {problem}." for problem in described["missing"]),
    ]
