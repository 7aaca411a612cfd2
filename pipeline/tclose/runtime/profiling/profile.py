"""The profile of a run: where its time went, by stage and by pass, and on a cluster by task.

A profile holds names of stages and passes, counts, times, workers' addresses and places in code: no
values and no columns of the microdata. Even so it stays with whoever runs tclose, in files that
only their owner reads: how many records a partition has is nobody else's business.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tclose
from tclose.data.places.atomic_files import write_atomically
from tclose.data.places.untrusted_files import dump_json
from tclose.errors import OutputError
from tclose.policy.policy import Policy
from tclose.runtime.engines.engine import to_safe_error
from tclose.runtime.profiling.task_report import (
    peaks,
    render_report,
    sum_passes,
    sum_workers,
)
from tclose.runtime.progress import Progress, Work
from tclose.runtime.run import repository_of

DATA_FILE, TABLE_FILE, REPORT_FILE = "profile.json", "profile.md", "dask-report.html"


@contextlib.contextmanager
def profiling(folder: Path | None, policy: Policy, progress: Progress) -> Iterator[None]:
    """Write where the time of the block went, however it ends; ``None``: nowhere.

    A profile that cannot be written in the end is said to be so, and fails no run.

    Raises
    ------
    OutputError
        Before the block: the folder cannot be used.
    """
    if folder is None:
        yield
        return
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
    """Make the folder; refuse one in which releases stand, as what is there is handed out."""
    place = folder.absolute().resolve()
    own = repository_of(policy).root.resolve()
    if any(at == own or (at / "CURRENT").is_file() for at in (place, *place.parents)):
        raise OutputError(f"profile {folder}: releases stand there; choose another folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (DATA_FILE, TABLE_FILE, REPORT_FILE):  # of an earlier run: not this one's
            (folder / name).unlink(missing_ok=True)
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
        "tclose": tclose.__version__,
        "started": frame.started.isoformat(timespec="seconds"),
        "ended": frame.ended,
        "on_cluster": on_cluster,
        "seconds": round(frame.seconds, 3),
        "seconds_outside_stages": round(frame.seconds - sum(progress.seconds.values()), 3),
        "stages": [_describe_stage(s, t, progress.passes) for s, t in progress.seconds.items()],
        "tasks": [sums.as_dict() for sums in sum_passes(progress.traces)] if on_cluster else [],
        "workers": [sums.as_dict() for sums in sum_workers(progress.traces)] if on_cluster else [],
        "peak_bytes": peaks(progress.traces),
        "missing": sorted({trace.problem for trace in progress.traces if trace.problem}),
    }


def _describe_stage(stage: str, seconds: float, passes: list[Work]) -> dict[str, Any]:
    own = [work for work in passes if work.stage == stage]
    return {
        "stage": stage,
        "seconds": round(seconds, 3),
        "seconds_outside_passes": round(seconds - sum(work.seconds for work in own), 3),
        "passes": [_describe_pass(work) for work in own],
    }


def _describe_pass(work: Work) -> dict[str, Any]:
    """Tasks and records are those of the whole pass, done before or now; speed is this run's."""
    speed = work.records_per_second
    return {
        "pass": work.pass_name,
        "seconds": round(work.seconds, 3),
        "tasks": work.n_tasks,
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
        "| stage | pass | seconds | share | tasks | records | records/s |",
        "|---|---|--:|--:|--:|--:|--:|",
        *_stage_lines(described),
        "",
    ]
    if any(of_pass["tasks_before"] for s in described["stages"] for of_pass in s["passes"]):
        lines += ["An earlier run had done some of the tasks; they do not count as speed.", ""]
    lines += _cluster_lines(described) if described["on_cluster"] else [_WITHOUT_DASK, ""]
    for name, held in described["peak_bytes"].items():
        lines.append(f"- {name}: held {held / 1e6:,.0f} MB at most")
    return "\n".join([*lines, ""])


_WITHOUT_DASK = (
    "The run took place in the calling process, without Dask, so there is no "
    f"`{REPORT_FILE}`. With `--set engine.workers=2` it runs on a cluster."
)


def _stage_lines(described: dict[str, Any]) -> Iterator[str]:
    total = described["seconds"] or 1.0
    for stage in described["stages"]:
        yield _row(stage["stage"], "", stage["seconds"], total)
        for of_pass in stage["passes"]:
            yield _row("", of_pass["pass"], of_pass["seconds"], total, of_pass)
        if stage["passes"]:
            yield _row("", "(outside passes)", stage["seconds_outside_passes"], total)
    yield _row("(outside stages)", "", described["seconds_outside_stages"], total)
    yield _row("together", "", described["seconds"], total)


def _row(
    stage: str, name: str, seconds: float, total: float, of_pass: dict[str, Any] | None = None
) -> str:
    share = f"{seconds / total:.0%}".replace("%", " %")
    counts = ["", "", ""]
    if of_pass is not None:
        known = of_pass["records"] is not None
        tasks = f"{of_pass['tasks']:,}"
        done = of_pass["tasks_before"] + of_pass["tasks_done"]
        counts = [
            tasks if done == of_pass["tasks"] else f"{done:,} of {tasks}",
            f"{of_pass['records']:,}" if known else "",
            f"{of_pass['records_per_second']:,.0f}" if of_pass["records_per_second"] else "",
        ]
    return f"| {' | '.join([stage, name, f'{seconds:.2f}', share, *counts])} |"


def _cluster_lines(described: dict[str, Any]) -> list[str]:
    rows = [
        f"| {t['pass']} | {t['tasks']:,} | {t['compute_seconds']:.2f} | {t['median_seconds']:.3f} "
        f"| {t['longest_seconds']:.3f} | {t['other_seconds']:.2f} |"
        for t in described["tasks"]
    ]
    return [
        f"Tasks of the Dask cluster; more in `{REPORT_FILE}`:",
        "",
        "| pass | tasks | seconds of work | median task | longest | transfer, disk |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        "",
        *(f"Missing: {problem}." for problem in described["missing"]),
    ]
