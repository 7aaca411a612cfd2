"""What it costs that k counts persons: releases with the role `person` and without, in turns.

``python -m benchmarks.performance.person_role [--rows N] [--returning SHARE]
[--refine off lean fast] [--repeats N] [--folder DATA] [--out PAGE]``
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.performance.run import (
    make_document,
    read_manifest,
    remove_releases,
    warm_up,
    working_folder,
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
from tclose.data.synthetic import write_microdata

TITLE = "Persons: what the role costs"
ROLES = ("identifier", "person")
MOST_TIMES = 1.15
COLUMNS = (
    *("records", "persons", "refine", "patient_id", "seconds of each run", "median", "times"),
    *("microaggregate s", "loss", "classes", "mean size", "largest"),
)


def main() -> None:
    """Run what is asked, and print the tables."""
    given = _parse()
    call = describe_call("benchmarks.performance.person_role")
    with working_folder(given.folder) as folder:
        warm_up(folder)
        source = folder / f"returning-{given.rows}-{given.returning:g}.parquet"
        if not source.exists():
            say(f"generating {given.rows:,} records")
            write_microdata(source, given.rows, 1, returning=given.returning)
        rows, targets = [], []
        for refine in given.refine:
            case = Case(given.rows, 5, 0.05, 2, refine, repeats=given.repeats)
            times, of_case = measure_roles(case, source, folder)
            rows += of_case
            what = f"{refine}: with the role, in times of without"
            targets.append(Target(what, MOST_TIMES, times))
    how = (
        f"{call}: k 5, t 0.05, two workers; whole processes, start-up "
        "included, runs that take turns. Data: generated discharges of patients who come back, 7 "
        "quasi-identifiers, `charge` confidential, seed 1."
    )
    title = f"{TITLE}, {given.rows:,} records"
    body = "\n\n".join([how, render_table(COLUMNS, rows), render_targets(targets)])
    show_section(title, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time releases with the role person and without.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--returning", type=float, default=0.85, help="share of the records")
    parser.add_argument("--refine", nargs="+", default=["off", "lean", "fast"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    parser.add_argument("--out", type=Path, help="write the tables into this page, too")
    return parser.parse_args()


def measure_roles(case: Case, source: Path, folder: Path) -> tuple[float, list[Sequence[str]]]:
    """How many times as long it takes with the role, and the rows of the table."""
    seconds: dict[str, list[float]] = {role: [] for role in ROLES}
    manifests: dict[str, dict[str, Any]] = {}
    for _ in range(case.repeats):
        for role in ROLES:
            say(f"measuring: {case}, {role}")
            seconds[role].append(_run(case, source, folder, role))
            manifests[role] = read_manifest(folder)
    medians = {role: statistics.median(each) for role, each in seconds.items()}
    times = medians["person"] / medians["identifier"]
    persons = manifests["person"]["privacy"]["persons"]["persons"]
    rows: list[Sequence[str]] = []
    for role in ROLES:
        each = ", ".join(f"{one:.1f}" for one in seconds[role])
        of_first = f"{medians[role] / medians[ROLES[0]]:.2f}"
        cells = [f"{case.n_rows:,}", f"{persons:,}", case.refine, role, each]
        rows.append([*cells, f"{medians[role]:.1f}", of_first, *_describe(manifests[role])])
    return times, rows


def _run(case: Case, source: Path, folder: Path, role: str) -> float:
    """Seconds of a release."""
    remove_releases(folder)
    document = make_document(case, source, folder)
    document["attributes"]["patient_id"] = role
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    start = time.perf_counter()
    command = [sys.executable, "-m", "tclose", "run", str(path), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _describe(manifest: dict[str, Any]) -> Iterator[str]:
    """What the classes of a release are like."""
    yield f"{manifest['seconds']['microaggregate']:.1f}"
    yield f"{manifest['exact_information_loss']['total']:.5f}"
    classes = manifest["classes"]
    yield f"{classes['n_classes']:,}"
    yield f"{classes['mean']:.2f}"
    yield f"{classes['largest']:,}"


if __name__ == "__main__":
    main()
