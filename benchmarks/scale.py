"""Scale-out: one release by 1, 2 and 4 workers, its bytes compared; and what each pass writes.

``python -m benchmarks.scale [--rows N] [--folder DATA] [--out RESULTS.md]``
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import describe_command, describe_machine, render_table, update_page
from benchmarks.run import (
    make_document,
    read_manifest,
    release_command,
    remove_releases,
    say,
    warm_up,
    working_folder,
    write_source,
)
from benchmarks.timings import Case
from pipeline.execution.progress import Progress
from pipeline.execution.release import microaggregate, open_run, plan, publish, summarise, verify
from pipeline.settings import parse_policy

WORKERS = (1, 2, 4)
PASSES = ("summarise", "distribute", "encode", "microaggregate", "verify", "publish")
TITLE = "Scale-out"
COLUMNS = ("refine", "workers", "seconds", "one worker's / these", "seconds per stage", "data")
SPACE_COLUMNS = ("pass", "files", "bytes per record")


def main() -> None:
    """Run what is asked, and print the tables."""
    given = _parse()
    command = describe_command("benchmarks.scale", sys.argv[1:])
    with working_folder(given.folder) as folder:
        warm_up(folder)
        source = write_source(folder / f"{given.rows}.parquet", given.rows)
        rows = [
            row for refine in ("off", "fast") for row in _time(given.rows, refine, source, folder)
        ]
        space = _measure_space(Case(given.rows, 5, 0.05, 2, "off"), source, folder)
    how = (
        f"`{command}` on {describe_machine()}: {given.rows:,} records, k = 5, t = 0.05, single "
        "runs, start-up included, nothing beside them (asking for memory takes time). Data: the "
        "first digits of a SHA-256 over those of the files."
    )
    told = "What each pass leaves on disk for the next one, of the runs with `off`:"
    parts = [how, render_table(COLUMNS, rows), told, render_table(SPACE_COLUMNS, space)]
    body = "\n\n".join(parts)
    print(f"## {TITLE}\n\n{body}\n", flush=True)
    if given.out:
        update_page(given.out, {TITLE: body})


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time one release by 1, 2 and 4 workers.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--out", type=Path, help="write the tables into this page, too")
    return parser.parse_args()


def _time(n_rows: int, refine: str, source: Path, folder: Path) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    alone = 0.0
    for workers in WORKERS:
        case = Case(n_rows, 5, 0.05, workers, refine)
        say(f"measuring: {case}")
        remove_releases(folder)
        command = release_command(case, source, folder)
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds = time.perf_counter() - start
        alone = alone or seconds
        manifest = read_manifest(folder)
        stages = ", ".join(f"{name} {took:.1f}" for name, took in manifest["seconds"].items())
        times = f"{alone / seconds:.2f}"
        rows.append([refine, str(workers), f"{seconds:.1f}", times, stages, _digest(manifest)])
    return rows


def _digest(manifest: dict[str, Any]) -> str:
    """One digest of all released files."""
    listed = "".join(f"{file['path']} {file['sha256']}\n" for file in manifest["files"])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]


def _measure_space(case: Case, source: Path, folder: Path) -> list[Sequence[str]]:
    """Files and bytes per record that each pass leaves."""
    remove_releases(folder)
    quiet = Progress("none")
    found: dict[str, tuple[int, int]] = {}
    with open_run(parse_policy(make_document(case, source, folder)), quiet) as run:
        for stage in (summarise, plan, microaggregate, verify):
            stage(run, quiet)
        for name in PASSES[:-1]:
            found[name] = _size_of(run.workspace.root / name)
        publish(run, quiet)
        found["publish"] = _size_of(Path(str(run.shelf.release(run.release_id))) / "data")
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
