"""The table of k-anonymous microaggregation: without a t, on the data that the literature has.

``python -m benchmarks.loss.microaggregation [--out RESULTS.md]``

All 13 attributes are quasi-identifiers, divided by their standard deviations; losses are the sum of
squares within classes, in per cent of all. ``mdav``: the method of that name, unrefined; the others
are t-closeness-first with that refinement. ``bound``: what no partition can lose less than. ``worst
of fast``: of releases with the seeds 1 to 5; all others have seed 1. Seconds are of the processor.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.loss.loss_bound import bound_by_nearest, bound_by_pairs, measure_distances
from benchmarks.microdata.sources import read_real
from benchmarks.results import Target, describe_call, render_table, render_targets, show_section
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

SECTION = "Loss: microaggregation of reference data"
SIZES = (3, 5, 10)
WANTED = {"tarragona.csv": (14.74, 20.43, 30.35), "casc_census.csv": (4.82, 7.54, 11.70)}
METHODS: dict[str, dict[str, str]] = {
    "mdav": {"name": "mdav"},
    **{r: {"name": "t-closeness-first", "refine": r} for r in ("off", "lean", "fast", "full")},
}
SEEDS = (1, 2, 3, 4, 5)
TIMED = ("off", "lean", "fast", "full")
COLUMNS = (
    *("data", "k", "bound by nearest", "bound", *METHODS, "worst of fast"),
    *(f"seconds of {method}" for method in TIMED),
)


def main() -> None:
    """Measure both tables and print them."""
    parser = argparse.ArgumentParser(description="Compare microaggregations of reference data.")
    parser.add_argument("--out", type=Path, help="write the section into this page, too")
    given = parser.parse_args()
    rows, targets = [], []
    for name, wanted in WANTED.items():
        table = read_real(name, "NA", None)
        for k, at_most in zip(SIZES, wanted, strict=True):
            cells, lost = compare_methods(table, name, k)
            rows.append(cells)
            targets.append(Target(f"{name}, k = {k}: per cent lost by fast, worst", at_most, lost))
    call = describe_call("benchmarks.loss.microaggregation")
    parts = [
        f"{call}. {__doc__.split(chr(10) * 2)[2]}",
        render_table(COLUMNS, rows),
        render_targets(targets),
    ]
    body = "\n\n".join(parts)
    show_section(SECTION, body, given.out)


def compare_methods(table: pa.Table, name: str, k: int) -> tuple[list[str], float]:
    """A row of `COLUMNS`, and what the default loses in per cent with the worst seed."""
    values = np.array([column.to_numpy().astype(float) for column in table.columns])
    values = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    distances = measure_distances(values)
    bounds = [bound(distances, k) / values.size for bound in (bound_by_nearest, bound_by_pairs)]
    measured = {method: measure_loss(table, k, method) for method in METHODS}
    of_seeds = [measure_loss(table, k, "fast", seed)[0] for seed in SEEDS[1:]]
    worst = max(measured["fast"][0], *of_seeds)
    losses = [*bounds, *(loss for loss, _ in measured.values()), worst]
    seconds = [f"{measured[method][1]:.1f}" for method in TIMED]
    return [name, str(k), *(f"{loss:.2%}" for loss in losses), *seconds], worst * 100


def measure_loss(table: pa.Table, k: int, method: str, seed: int = 1) -> tuple[float, float]:
    """The share of the sum of squares that a release loses, and its processor seconds."""
    with tempfile.TemporaryDirectory(prefix="tclose-loss-") as folder:
        pq.write_table(table, f"{folder}/source.parquet")
        document = _write_document(table, folder, k, method) | {"seed": seed}
        start = time.process_time()
        outcome = run_release(parse_policy(document), _SILENT)
        seconds = time.process_time() - start
        manifest = json.loads((outcome.release / "internal" / "manifest.json").read_text())
    shares = []
    for name, lost in manifest["exact_information_loss"]["per_attribute"].items():
        values = table[name].to_numpy().astype(float)
        shares.append(lost * float(np.ptp(values)) ** 2 / float(values.var()))
    return float(np.mean(shares)), seconds


_SILENT = Progress("none")


def _write_document(table: pa.Table, folder: str, k: int, method: str) -> dict[str, Any]:
    attribute = {
        "role": "quasi-identifier",
        "type": "numeric",
        "scale": "std",
        "aggregate": "mean",
        "round": False,
    }
    return {
        "name": "bench",
        "input": {"path": f"{folder}/source.parquet"},
        "attributes": dict.fromkeys(table.column_names, attribute),
        "privacy": {"k": k},
        "method": METHODS[method],
        "output": {"path": f"{folder}/releases"},
    }


if __name__ == "__main__":
    main()
