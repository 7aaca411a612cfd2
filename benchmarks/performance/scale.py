"""Scale-out: one release by 1, 2 and 4 workers, its bytes compared; and what each pass writes.

``python -m benchmarks.performance.scale [--rows N] [--repeats N] [--refine off]
[--folder DATA] [--out PAGE]``

Beside them two releases by one worker each, at the same time: what the machine gives two processes
that have nothing to do with each other, which no release by two workers can be better than.
"""

import argparse
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.performance.run import (
    make_document,
    read_manifest,
    release_command,
    remove_releases,
    warm_up,
    working_folder,
    write_source,
)
from benchmarks.performance.timings import Case
from benchmarks.results import (
    Target,
    describe_call,
    render_table,
    render_targets,
    say,
    show_section,
)
from tclose.passes.release import RELEASE, TRIAL, open_release
from tclose.passes.verify.verdict import VERDICT
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import run_pipeline
from tclose.runtime.run import INSPECTION

PASSES = ("summarise", "distribute", "encode", "microaggregate", "verify", "publish")
TITLE = "Scale-out"
ROWS = 10_000_000
COLUMNS = (
    "refine", "workers", "seconds of each run", "median", "times one", "seconds per pass", "data"
)  # fmt: skip
LEAST_SPEEDUP = 1.7
SPACE_COLUMNS = ("pass", "files", "bytes per record")
# Two at once have the same name and content, and so each a folder of its own.
SECOND = "second"


@dataclass(frozen=True)
class Timed:
    """Wall seconds of some releases at once, and the manifest of the last."""

    seconds: float
    manifest: dict[str, Any]


def main() -> None:
    """Run what is asked, and print the tables."""
    given = _parse()
    call = describe_call("benchmarks.performance.scale")
    with working_folder(given.folder) as folder:
        warm_up(folder)
        source = write_source(folder / f"{given.rows}.parquet", given.rows)
        timed = {
            refine: _time(Case(given.rows, 5, 0.05, 1, refine, repeats=given.repeats), source)
            for refine in given.refine
        }
        space = _measure_space(Case(given.rows, 5, 0.05, 2, "off"), source, folder)
    how = (
        f"{call}: {given.rows:,} records, k = 5, t = 0.05; medians "
        "of runs that take turns, start-up included, nothing beside them (asking for memory takes "
        "time), the passes those of the last. `1 and 1`: two releases by a worker each, started "
        "together: what is left of two cores when nothing is shared. Data: the first digits of a "
        "SHA-256 over those of the files."
    )
    told = "What each pass leaves on disk for the next one, of the runs with `off`:"
    tables = [*render_times(timed), told, render_table(SPACE_COLUMNS, space)]
    body = "\n\n".join([how, *tables])
    title = TITLE if given.rows == ROWS else f"{TITLE}: {given.rows:,} records"
    show_section(title, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time one release by 1, 2 and 4 workers.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--refine", nargs="+", default=["off", "fast"], choices=["off", "fast"])
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--out", type=Path, help="write the tables into this page, too")
    return parser.parse_args()


def _time(alone: Case, source: Path) -> dict[str, list[Timed]]:
    """Runs of a refinement, by their workers."""
    measures: dict[str, Callable[[], Timed]] = {
        "1": lambda: _run(alone, source),
        "2": lambda: _run(replace(alone, workers=2), source),
        "1 and 1": lambda: _run(alone, source, n_at_once=2),
    }
    found: dict[str, list[Timed]] = {name: [] for name in measures}
    for _ in range(alone.repeats):
        for name, measure in measures.items():
            found[name].append(measure())
    return found | {"4": [_run(replace(alone, workers=4), source)]}


def render_times(timed: dict[str, dict[str, list[Timed]]]) -> list[str]:
    """Tables of the runs, by refinement and workers, and of what is wanted of two workers."""
    rows, targets = [], []
    for refine, found in timed.items():
        took = {name: median(run.seconds for run in runs) for name, runs in found.items()}
        times = {name: took["1"] / seconds for name, seconds in took.items()}
        times["1 and 1"] *= 2  # releases
        for name, runs in found.items():
            each = ", ".join(f"{run.seconds:.1f}" for run in runs)
            cells = [refine, name, each, f"{took[name]:.1f}", f"{times[name]:.2f}"]
            rows.append([*cells, *_describe(runs)])
        what = f"{refine}: 2 workers as fast as 1, times"
        targets.append(Target(what, LEAST_SPEEDUP, times["2"], at_least=True))
    return [render_table(COLUMNS, rows), render_targets(targets)]


def _describe(runs: Sequence[Timed]) -> tuple[str, str]:
    """Seconds of the passes of the last run, and what data all of them published."""
    last = runs[-1].manifest
    passes = ", ".join(f"{name} {seconds:.1f}" for name, seconds in last["seconds"].items())
    return passes, " or ".join(sorted({_digest(run.manifest) for run in runs}))


def _run(case: Case, source: Path, *, n_at_once: int = 1) -> Timed:
    """Release the source so many times at once, to folders beside it."""
    say(f"measuring: {case}, {n_at_once} at once")
    folders = [source.parent, source.parent / SECOND][:n_at_once]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        remove_releases(folder)
    commands = [release_command(case, source, folder) for folder in folders]
    start = time.perf_counter()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    codes = [process.wait() for process in running]
    seconds = time.perf_counter() - start
    if any(codes):
        raise RuntimeError("a release failed")
    return Timed(seconds, read_manifest(folders[-1]))


def _digest(manifest: dict[str, Any]) -> str:
    """One digest of all released files."""
    listed = "".join(f"{file['path']} {file['sha256']}\n" for file in manifest["files"])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]


def _measure_space(case: Case, source: Path, folder: Path) -> list[Sequence[str]]:
    """Files and bytes per record that each pass leaves."""
    remove_releases(folder)
    quiet = Progress("none")
    found: dict[str, tuple[int, int]] = {}
    with open_release(parse_policy(make_document(case, source, folder)), quiet) as run:
        run_pipeline(TRIAL.after(INSPECTION), run, quiet)
        for name in PASSES[:-1]:
            found[name] = _size_of(run.workspace.root / name)
        run_pipeline(RELEASE.after(VERDICT), run, quiet)
        found["publish"] = _size_of(Path(str(run.repository.release(run.release_id))) / "data")
    return [
        [name, f"{n_files:,}", f"{n_bytes / case.n_rows:.1f}"]
        for name, (n_files, n_bytes) in found.items()
    ]


def _size_of(folder: Path) -> tuple[int, int]:
    """Files below a folder, and their bytes."""
    sizes = [
        (Path(place) / name).stat().st_size for place, _, names in os.walk(folder) for name in names
    ]
    return len(sizes), sum(sizes)


if __name__ == "__main__":
    main()
