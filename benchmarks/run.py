"""The benchmark: ``tclose run``, end to end, as a multiple of reading, sorting and writing.

``python -m benchmarks.run [--full] [--rows N] [--out RESULTS.md]``

Both commands run in turn on the same file, in processes of their own, after one run that is not
counted (it compiles the kernels and warms the disk cache); medians are given.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.measure import Measured, measure
from pipeline.generator import write_microdata

QUASI_IDENTIFIERS = (
    "age",
    "sex",
    "zip",
    "admission_date",
    "length_of_stay",
    "diagnosis_group",
    "insurance_type",
)


NOTES = (
    "# Measured\n\n"
    "`{command}` on {machine}: medians, wall time of whole processes, start-up included. Memory "
    "is what all processes together, and the largest of them, hold of their own at the peak. The "
    "reference reads the same Parquet file, sorts it by the confidential attribute and writes it "
    "back (pyarrow, numpy). Data: generated discharges, 7 quasi-identifiers, `charge` "
    "confidential, seed 1.\n"
)
COLUMNS = (
    "| records | k | t | workers | reference s | tclose run s | multiple | peak MB "
    "| largest process MB | reference MB | classes | largest EMD | loss |"
)


@dataclass(frozen=True)
class Case:
    """What is run: records, k, t, workers, and how often."""

    n_rows: int
    k: int
    t: float
    workers: int
    repeats: int


@dataclass(frozen=True)
class Result:
    """What a case took, beside the reference."""

    case: Case
    reference: Measured
    run: Measured
    manifest: dict
    seconds: dict[str, float]

    @property
    def multiple(self) -> float:
        """Time of the run in times of the reference."""
        return self.run.seconds / self.reference.seconds


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description="Time tclose against a plain sort.")
    parser.add_argument("--full", action="store_true", help="ten million records, 1 and 2 workers")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    given = parser.parse_args()
    cases = [Case(given.rows, 5, 0.1, 2, 3)]
    if given.full:
        cases += [Case(given.rows, 5, 0.1, 1, 3), Case(given.rows, 5, 0.05, 2, 3)]
        cases += [Case(10_000_000, 5, 0.05, 2, 1), Case(10_000_000, 5, 0.05, 1, 1)]
    with tempfile.TemporaryDirectory(prefix="tclose-bench-") as folder:
        results = [run_case(case, Path(folder)) for case in cases]
    text = render(results, "python -m benchmarks.run" + (" --full" if given.full else ""))
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


def run_case(case: Case, folder: Path) -> Result:
    """Time both commands in turn."""
    source = folder / f"{case.n_rows}.parquet"
    if not source.exists():
        say(f"generating {case.n_rows:,} records")
        write_microdata(source, case.n_rows, 1)
    policy = write_policy(case, source, folder)
    reference = [sys.executable, "-m", "benchmarks.reference"]
    reference += [str(source), "charge", str(folder / "sorted.parquet")]
    release = [sys.executable, "-m", "pipeline.cli", "run", str(policy), "--quiet"]
    say(f"warming up: {case}")
    measure(reference)
    timed(release, folder)
    say(f"measuring: {case}")
    pairs = [(measure(reference), timed(release, folder)) for _ in range(case.repeats)]
    place = folder / "releases" / "bench"
    current = place / (place / "CURRENT").read_text().strip()
    internal = json.loads((current / "internal" / "manifest.json").read_text())
    return Result(
        case,
        median([a for a, _ in pairs]),
        median([b for _, b in pairs]),
        internal,
        internal["seconds"],
    )


def timed(release: list[str], folder: Path) -> Measured:
    """One release from nothing: what was published before is removed first."""
    shutil.rmtree(folder / "releases", ignore_errors=True)
    return measure(release)


def median(values: list[Measured]) -> Measured:
    """Median of each figure."""
    of: Callable[[str], float] = lambda name: statistics.median(getattr(v, name) for v in values)  # noqa: E731
    return Measured(of("seconds"), of("megabytes"), of("largest_megabytes"))


def write_policy(case: Case, source: Path, folder: Path) -> Path:
    """The policy of a case."""
    path = folder / "policy.yaml"
    roles = dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier")
    document = {
        "name": "bench",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": {"patient_id": "identifier", **roles, "charge": "confidential"},
        "privacy": {"k": case.k, "t": case.t},
        "output": {"path": str(folder / "releases")},
        "engine": {"workers": case.workers},
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def render(results: list[Result], command: str) -> str:
    """The results as Markdown."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    stages = [
        f"| {r.case.n_rows:,} | {r.case.t:g} | {r.case.workers} | "
        + ", ".join(f"{name} {value:.1f}" for name, value in r.seconds.items())
        + " |"
        for r in results
    ]
    columns = COLUMNS.count("|") - 1
    table = [COLUMNS, "|" + "---|" * columns, *map(_row, results)]
    times = ["| records | t | workers | seconds per stage |", "|---|---|---|---|", *stages]
    text = NOTES.format(command=command, machine=machine)
    return "\n".join([text, *table, "", *times]) + "\n"


def _row(result: Result) -> str:
    case, run, reference = result.case, result.run, result.reference
    cells = [
        f"{case.n_rows:,}",
        str(case.k),
        f"{case.t:g}",
        str(case.workers),
        f"{reference.seconds:.2f}",
        f"{run.seconds:.2f}",
        f"{result.multiple:.1f}x",
        f"{run.megabytes:,.0f}",
        f"{run.largest_megabytes:,.0f}",
        f"{reference.megabytes:,.0f}",
        f"{result.manifest['classes']['n_classes']:,}",
        f"{result.manifest['privacy']['t']['charge']['largest_emd']:.6f}",
        f"{result.manifest['information_loss']['total']:.6f}",
    ]
    return "| " + " | ".join(cells) + " |"


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
