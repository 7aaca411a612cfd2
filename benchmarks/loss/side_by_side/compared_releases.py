"""One release of a table by a method, and what it lost of numbers and of categories."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.microdata.sources import Source
from tclose.errors import TcloseError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

THOROUGH = "40"  # rounds, in wide blocks: ended by nothing that they save
METHODS: dict[str, dict[str, str | int]] = {
    **{r: {"name": "t-closeness-first", "refine": r} for r in ("fast", "lean", "off", "full")},
    THOROUGH: {"name": "t-closeness-first", "refine": 40},
    "absolute": {"name": "t-closeness-first", "losses": "absolute"},
    "mondrian": {"name": "mondrian"},
    "merging": {"name": "microaggregate-and-merge"},
    "mdav, fast": {"name": "mdav", "refine": "fast", "losses": "relative"},
}
WORKERS = 2


@dataclass(frozen=True)
class Outcome:
    """The figures of a release.

    ``numbers_lost``, ``categories_lost``: of what one class loses; ``unchanged``: records released
    as they are; ``range_error``: median of range counts; ``share_change``: the largest total
    variation of a nominal attribute's shares.
    """

    loss: float
    numbers_lost: float
    categories_lost: float
    n_classes: int
    largest_emd: float
    seconds: float
    microaggregation_seconds: float
    unchanged: float
    range_error: float
    share_change: float


def release_by(
    method: str, table: pa.Table, source: Source, asked: tuple[int, float], folder: Path
) -> Outcome | TcloseError:
    """Make one and measure it, or say why there is none; ``asked``: k and t."""
    path, place = folder / "source.parquet", folder / "releases"
    if not path.exists():
        pq.write_table(table.select(source.columns), path)
    document = write_policy(source, path, place, asked) | {"method": METHODS[method]}
    start = time.perf_counter()
    try:
        outcome = run_release(parse_policy(document), Progress("none"))
    except TcloseError as error:
        return error
    else:
        seconds = time.perf_counter() - start
        manifest = json.loads((outcome.release / "internal" / "manifest.json").read_text())
        return read_outcome(manifest, table, source, seconds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write_policy(
    source: Source, path: Path, place: Path, asked: tuple[int, float]
) -> dict[str, Any]:
    """A policy as YAML would give it, of defaults."""
    attributes: dict[str, Any] = dict.fromkeys(source.numeric, "quasi-identifier")
    attributes |= {name: {"role": "quasi-identifier", "type": "nominal"} for name in source.nominal}
    return {
        "name": "bench",
        "input": {"path": str(path)},
        "attributes": attributes | dict.fromkeys(source.confidential, "confidential"),
        "privacy": dict(zip(("k", "t"), asked, strict=True)),
        "output": {"path": str(place)},
        "engine": {"workers": WORKERS},
    }


def read_outcome(
    manifest: dict[str, Any], table: pa.Table, source: Source, seconds: float
) -> Outcome:
    """Read the figures of a release from its internal manifest."""
    loss = manifest["exact_information_loss"]
    by_one_class = measure_one_class(table, source)
    shares = {n: loss["per_attribute"][n] / lost for n, lost in by_one_class.items() if lost}
    distances = manifest["privacy"]["t"].values()
    utility = manifest["utility"]
    analyses = utility["analyses"]
    changes = [of["total_variation"] for of in utility["shares"].values()]
    return Outcome(
        loss["total"],
        _mean([shares[name] for name in source.numeric if name in shares]),
        _mean([shares[name] for name in source.nominal if name in shares]),
        manifest["classes"]["n_classes"],
        max(of["largest_emd"] for of in distances),
        seconds,
        manifest["seconds"]["microaggregate"],
        analyses["unchanged"],
        analyses["range_counts"]["median_error"],
        max(changes, default=0.0),
    )


def _mean(shares: list[float]) -> float:
    return fmean(shares) if shares else 0.0


def measure_one_class(table: pa.Table, source: Source) -> dict[str, float]:
    """What a release with one class loses of each quasi-identifier, on average over records."""
    lost = {}
    for name in source.numeric:
        column = table[name]
        is_date = pa.types.is_date(column.type)
        values = (column.cast(pa.int32()) if is_date else column).to_numpy().astype(np.float64)
        span = float(np.ptp(values))
        lost[name] = float(values.var()) / span**2 if span else 0.0
    for name in source.nominal:
        counts = pc.value_counts(table[name]).field("counts").to_numpy()
        lost[name] = 1 - int(counts.max()) / int(counts.sum())
    return lost
