"""The benchmark: ``tclose run``, end to end, as a multiple of reading, sorting and writing.

``python -m benchmarks.performance.run [--full] [--rows N] [--folder DATA] [--out RESULTS.md]``

Both commands run in turn on the same file, in processes of their own, after runs that are not
counted (they compile the kernels, warm the disk cache, and are watched for their memory, which
takes time); medians are given.

``python -m benchmarks.performance.run --once --rows 100000000 --folder DATA --out RESULTS.md``

runs one case a single time and adds a row to the section of runs by hand; the data stay in the
folder.
"""

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.performance.measure import Measured, measure, time_command
from benchmarks.performance.timings import (
    HAND_COLUMNS,
    HAND_NOTE,
    Case,
    Result,
    find_targets,
    hand_cells,
    render_timings,
)
from benchmarks.results import (
    append_row,
    describe_command,
    describe_machine,
    read_page,
    say,
    show_section,
)
from tclose.data.synthetic import write_microdata

QUASI_IDENTIFIERS = (
    "age",
    "sex",
    "zip",
    "admission_date",
    "length_of_stay",
    "diagnosis_group",
    "insurance_type",
)
FULL_ROWS = 10_000_000
WARMING_ROWS = 20_000
REFINEMENTS = ("off", "lean", "fast")
SMALL_MEMORY = "1.5GiB"
RELEASES = "tclose-bench-releases"  # removed before each run


def main() -> None:
    """Run what is asked, and print the tables."""
    given = _parse()
    command = describe_command("benchmarks.performance.run", sys.argv[1:])
    with working_folder(given.folder) as folder:
        if given.once:
            _run_by_hand(given, folder, command)
            return
        how = f"`{command}` on {describe_machine()}"
        for title, body in _measure_sections(given, folder, how):
            show_section(title, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time tclose against a plain sort.")
    parser.add_argument("--full", action="store_true", help="ten million records, too")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--out", type=Path, help="write the tables into this page, too")
    once = parser.add_argument_group("one run by hand")
    once.add_argument("--once", action="store_true", help="one case, one time")
    once.add_argument("--k", type=int, default=5)
    once.add_argument("--t", type=float, default=0.05)
    once.add_argument("--workers", type=int, default=2)
    once.add_argument("--refine", default="fast")
    once.add_argument("--memory", default="auto", help="engine.memory_per_worker")
    return parser.parse_args()


@contextlib.contextmanager
def working_folder(kept: Path | None) -> Iterator[Path]:
    """The folder that is kept, or one that is gone afterwards."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="tclose-bench-") as name:
        yield Path(name)


def _measure_sections(
    given: argparse.Namespace, folder: Path, how: str
) -> Iterator[tuple[str, str]]:
    """Titles and bodies, as they are measured."""
    warm_up(folder)
    smaller = [Case(given.rows, 5, 0.05, 2, refine, repeats=3) for refine in REFINEMENTS]
    results = [run_case(case, folder) for case in smaller]
    yield f"Time: {given.rows:,} records", render_timings(results, (), how)
    if given.full:
        larger = [Case(FULL_ROWS, 5, 0.05, 2, refine) for refine in REFINEMENTS]
        larger.append(Case(FULL_ROWS, 5, 0.05, 2, "fast", SMALL_MEMORY))
        results += [run_case(case, folder) for case in larger]
        targets = find_targets(results, FULL_ROWS, given.rows)
        yield f"Time: {FULL_ROWS:,} records", render_timings(results, targets, how)


def _run_by_hand(given: argparse.Namespace, folder: Path, command: str) -> None:
    case = Case(given.rows, given.k, given.t, given.workers, given.refine, given.memory)
    source = folder / f"discharges-{case.n_rows}"
    write_source(source, case.n_rows)
    say(f"running: {case}")
    measured = timed(release_command(case, source, folder), folder)
    result = Result(case, measured, read_manifest(folder))
    row = hand_cells(result, command, describe_machine())
    for name, text in zip(HAND_COLUMNS, row, strict=True):
        print(f"{name}: {text}")
    if given.out:
        page = append_row(read_page(given.out), HAND_NOTE, HAND_COLUMNS, row)
        given.out.write_text(page, encoding="utf-8")


def warm_up(folder: Path) -> None:
    """Compile the kernels of each kind of case."""
    source = write_source(folder / f"{WARMING_ROWS}.parquet", WARMING_ROWS)
    for refine in REFINEMENTS:
        case = Case(WARMING_ROWS, 5, 0.05, 1, refine)
        say(f"warming up: {case}")
        timed(release_command(case, source, folder), folder)


def run_case(case: Case, folder: Path) -> Result:
    """Time both commands in turn."""
    source = write_source(folder / f"{case.n_rows}.parquet", case.n_rows)
    reference = [sys.executable, "-m", "benchmarks.performance.reference"]
    reference += [str(source), "charge", str(folder / "sorted.parquet")]
    release = release_command(case, source, folder)
    say(f"measuring: {case}")
    watched = measure(reference), timed(release, folder)
    seconds = []
    for _ in range(case.repeats):
        of_reference = time_command(reference)
        remove_releases(folder)
        seconds.append((of_reference, time_command(release)))
    measured = [
        replace(memory, seconds=statistics.median(times))
        for memory, times in zip(watched, zip(*seconds, strict=True), strict=True)
    ]
    return Result(case, measured[1], read_manifest(folder), measured[0])


def write_source(source: Path, n_rows: int) -> Path:
    """The data of a size; what is there is used again."""
    if not source.exists():
        say(f"generating {n_rows:,} records")
        write_microdata(source, n_rows, 1)
    return source


def timed(release: Sequence[str], folder: Path) -> Measured:
    """One release from nothing: what was published before is removed first."""
    remove_releases(folder)
    return measure(release)


def remove_releases(folder: Path) -> None:
    """Remove what was published before."""
    shutil.rmtree(folder / RELEASES, ignore_errors=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The full manifest of the current release."""
    place = folder / RELEASES / "bench"
    current = place / (place / "CURRENT").read_text().strip()
    found: dict[str, Any] = json.loads((current / "internal" / "manifest.json").read_text())
    return found


def release_command(case: Case, source: Path, folder: Path) -> list[str]:
    """The command of a case, its policy written."""
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(make_document(case, source, folder)), encoding="utf-8")
    return [sys.executable, "-m", "tclose", "run", str(path), "--quiet"]


def make_document(case: Case, source: Path, folder: Path) -> dict[str, Any]:
    """The policy of a case."""
    roles = dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier")
    return {
        "name": "bench",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {"patient_id": "identifier", **roles, "charge": "confidential"},
        "privacy": {"k": case.k, "t": case.t},
        "method": {"refine": int(case.refine) if case.refine.isdigit() else case.refine},
        "output": {"path": str(folder / RELEASES)},
        "engine": {"workers": case.workers, "memory_per_worker": case.memory},
    }


if __name__ == "__main__":
    main()
