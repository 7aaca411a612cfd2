"""Tables of run times next to the reference's, and of the figures that follow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.performance.measure import SAMPLE_SECONDS, Measured
from benchmarks.results import Target, render_table, render_targets

NOTE = (
    "{how}: medians over the runs, wall time of whole processes, start-up included; kernels are "
    "compiled and the input is in the disk cache. Memory is what all processes together, and the "
    f"largest of them, hold of their own at the peak, sampled every {SAMPLE_SECONDS * 1e3:.0f} ms "
    "in runs of their own, as that takes time. "
    "The reference reads the same Parquet file, sorts it by the confidential attribute and writes "
    "it back (pyarrow, numpy). Data: generated discharges, 7 quasi-identifiers, `charge` "
    "confidential, seed 1."
)
HAND_NOTE = (
    "One run each, without a warm-up, and without a reference: it would need the whole table in "
    "memory. Memory is what all processes together, and the largest of them, hold of their own at "
    f"the peak, sampled every {SAMPLE_SECONDS * 1e3:.0f} ms. Data: generated discharges in files "
    "of a million records, 7 quasi-identifiers, `charge` confidential, seed 1."
)
CASE_COLUMNS = ("records", "k", "t", "refine", "workers", "memory per worker")
RUN_COLUMNS = ("peak MB", "largest process MB", "classes", "largest EMD", "loss")
COLUMNS = (*CASE_COLUMNS, "runs", "reference s", "run s", "multiple", "reference MB", *RUN_COLUMNS)
PASS_COLUMNS = (*CASE_COLUMNS, "seconds per pass")
HAND_COLUMNS = ("command", *CASE_COLUMNS, "run s", *RUN_COLUMNS, "seconds per pass", "machine")

MOST_MULTIPLES = {"off": 2.0, "lean": 5.0, "fast": 10.0}
MOST_GROWTH = 1.2


@dataclass(frozen=True)
class Case:
    """A case to run: records, k, t, workers, refinement, memory per worker, repetitions."""

    n_rows: int
    k: int
    t: float
    workers: int
    refine: str
    memory: str = "auto"
    repeats: int = 1

    @property
    def cells(self) -> list[str]:
        """Its part of a row."""
        given = (self.refine, str(self.workers), self.memory)
        return [f"{self.n_rows:,}", str(self.k), f"{self.t:g}", *given]


@dataclass(frozen=True)
class Result:
    """The times of a case and of the reference if it was run; the release's internal manifest."""

    case: Case
    run: Measured
    manifest: dict[str, Any]
    reference: Measured | None = None

    @property
    def multiple(self) -> float | None:
        """Time of the run in times of the reference."""
        return self.run.seconds / self.reference.seconds if self.reference else None

    @property
    def seconds_per_record(self) -> float:
        """Wall seconds of the run, by record."""
        return self.run.seconds / self.case.n_rows

    @property
    def pass_seconds(self) -> str:
        """Seconds of each pass."""
        return ", ".join(f"{name} {took:.1f}" for name, took in self.manifest["seconds"].items())

    @property
    def run_cells(self) -> list[str]:
        """Memory of the run, and what the release is."""
        return [
            f"{self.run.megabytes:,.0f}",
            f"{self.run.largest_megabytes:,.0f}",
            f"{self.manifest['classes']['n_classes']:,}",
            f"{self.manifest['privacy']['t']['charge']['largest_emd']:.6f}",
            f"{self.manifest['exact_information_loss']['total']:.6f}",
        ]


def render_timings(results: Sequence[Result], targets: Sequence[Target], how: str) -> str:
    """A section of the page of results."""
    note = NOTE.format(how=how)
    rows = [[*result.case.cells, result.pass_seconds] for result in results]
    parts = [note, render_table(COLUMNS, map(_cells, results)), render_table(PASS_COLUMNS, rows)]
    return "\n\n".join([*parts, render_targets(targets)] if targets else parts)


def _cells(result: Result) -> list[str]:
    times = ["-"] * 4
    if result.reference is not None:
        times = [
            f"{result.reference.seconds:.2f}",
            f"{result.run.seconds:.2f}",
            f"{result.multiple:.1f}x",
            f"{result.reference.megabytes:,.0f}",
        ]
    return [*result.case.cells, str(result.case.repeats), *times, *result.run_cells]


def hand_cells(result: Result, command: str, machine: str) -> list[str]:
    """A row of `HAND_COLUMNS`."""
    seconds = f"{result.run.seconds:.1f}"
    cells = [*result.case.cells, seconds, *result.run_cells]
    return [f"`{command}`", *cells, result.pass_seconds, machine]


def find_targets(results: Sequence[Result], n_rows: int, n_fewer: int) -> list[Target]:
    """Return the target for two workers at ``n_rows`` records, and next to ``n_fewer``."""
    targets = []
    for refine, most in MOST_MULTIPLES.items():
        larger, fewer = (_find(results, n, refine) for n in (n_rows, n_fewer))
        multiple = larger.multiple if larger else None
        growth = larger.seconds_per_record / fewer.seconds_per_record if larger and fewer else None
        targets += [
            Target(f"{refine}: time in times of the reference, 2 workers", most, multiple),
            Target(f"{refine}: time per record beside {n_fewer:,} records", MOST_GROWTH, growth),
        ]
    return targets


def _find(results: Sequence[Result], n_rows: int, refine: str) -> Result | None:
    wanted = (n_rows, refine, 2, "auto")
    for result in results:
        case = result.case
        if (case.n_rows, case.refine, case.workers, case.memory) == wanted:
            return result
    return None
