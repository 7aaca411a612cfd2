"""What representatives keep of the shares of categories, and lose more than modes.

``python -m benchmarks.loss.shares [--tables NAME ...] [--refine HOW ...] [--rows N] [--seed N]
[--out RESULTS.md]``

Each table is released by the modes of its classes, by representatives as they are by default, and
by representatives that were asked for. Classes are the same ones, so the difference in loss is what
the shares cost; and no values of these classes whose shares are within a total variation of 0.005
lose less than the bound.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq

from benchmarks.loss.shares_bound import APART, bound_loss
from benchmarks.loss.side_by_side.compared_releases import write_policy
from benchmarks.loss.side_by_side.families import FAMILIES, family
from benchmarks.loss.side_by_side.tables import REAL, discharges
from benchmarks.microdata.sources import Source
from benchmarks.results import describe_call, render_table, say, show_section
from tclose.passes.microaggregate import region_classes
from tclose.passes.microaggregate.shares.representatives import (
    Representatives,
    ValueChoices,
    keep_shares,
    release_cheapest,
)
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.engines import engine
from tclose.runtime.monitoring.progress import Progress

AGGREGATES = {"mode": "mode", "default": None, "representative": "representative"}
GENERATED = "discharges"
TABLES = ("Adult", "FARS", "rare categories", GENERATED)
N_RECORDS, ASKED = 50_000, (5, 0.1)
COLUMNS = (
    *("table", "refine", "classes release", "loss", "of the modes'", "bound"),
    *("largest total variation", "categories", "lost", "shrunk", "grown", "range counts"),
)


def find_source(name: str, n_records: int, seed: int) -> Source:
    """A table by its name; of generated ones so many records."""
    if name == GENERATED:
        return discharges(n_records, seed)
    return family(name, n_records, seed) if name in FAMILIES else REAL[name]


class Bound:
    """The loss of the classes of all regions by modes, and the least that it can be."""

    def __init__(self) -> None:
        self.other_loss, self.regions = 0.0, list[list[Representatives]]()

    def add(self, columns: Sequence[Representatives], other_loss: float) -> None:
        """Add a region, before its values are chosen."""
        self.other_loss += other_loss
        self.regions.append(list(columns))

    def __str__(self) -> str:
        """In times the modes' loss."""
        columns = [_join(of_column) for of_column in zip(*self.regions, strict=True)]
        by_modes = self.other_loss + sum(column.loss for column in columns)
        at_least = self.other_loss + sum(bound_loss(column) for column in columns)
        return f"{at_least / by_modes:.3f}"


def _join(regions: Sequence[Representatives]) -> Representatives:
    """The classes of all regions as those of one, which has to release what all of them have to."""
    parts = [
        ValueChoices(
            starts=region.classes.starts,
            values=region.classes.values,
            costs=region.classes.costs,
            sizes=region.classes.sizes,
            counts=region.wanted,
            unit=region.unit,
        )
        for region in regions
    ]
    return release_cheapest(regions[0].encoding, ValueChoices.join(parts))


@contextlib.contextmanager
def watch_bound() -> Iterator[Bound]:
    """The bound of a release whose regions are made in this process."""
    bound = Bound()

    def watch(columns: Sequence[Representatives], other_loss: float, more_loss: float) -> None:
        bound.add(columns, other_loss)
        keep_shares(columns, other_loss, more_loss)

    with mock.patch.object(region_classes, "keep_shares", watch):
        yield bound


def measure(source: Source, refine: str, folder: Path) -> Iterator[list[str]]:
    """The rows of one table and search."""
    path, by_modes = folder / "source.parquet", 0.0
    pq.write_table(source.read().select(source.columns), path)
    for name, aggregate in AGGREGATES.items():
        document = write_policy(source, path, folder / f"releases-{name}", ASKED)
        document["method"] = {"refine": refine}
        document["engine"] = {"workers": "auto"}  # none, see `main`
        for nominal in source.nominal:
            document["attributes"][nominal]["aggregate"] = aggregate
        with watch_bound() as bound:
            outcome = run_release(parse_policy(document), Progress("none"))
        inside = json.loads((outcome.release / "internal" / "manifest.json").read_text())
        loss = inside["exact_information_loss"]["total"]
        by_modes = by_modes or loss
        shares = inside["utility"]["shares"].values()
        yield [
            *(source.describes, refine, name, f"{loss:.4g}", f"{loss / by_modes:.3f}"),
            str(bound) if name == "representative" else "-",
            f"{max(of['total_variation'] for of in shares):.4f}",
            *(f"{sum(of[key] for of in shares)}" for key in ("categories", "lost")),
            *(f"{sum(of[key] for of in shares)}" for key in ("shrunk", "grown")),
            f"{inside['utility']['analyses']['range_counts']['median_error']:.1%}",
        ]


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=(*REAL, *FAMILIES, GENERATED))
    parser.add_argument("--refine", nargs="+", default=["fast", "off"])
    parser.add_argument("--rows", type=int, default=N_RECORDS, help="of generated tables")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    given = parser.parse_args()
    engine.IN_PROCESS_BYTES = 2**62  # regions are watched in this process
    rows: list[list[str]] = []
    for name in given.tables or TABLES:
        for refine in given.refine:
            say(f"measuring: {name}, refine: {refine}")
            with tempfile.TemporaryDirectory() as folder:
                rows += measure(find_source(name, given.rows, given.seed), refine, Path(folder))
    size = "" if given.rows == N_RECORDS else f" {given.rows:,} records,"
    title = f"Shares of categories,{size} seed {given.seed}"
    call = describe_call("benchmarks.loss.shares")
    k, t = ASKED
    how = (
        f"{call}: k {k}, t {t:g}, {given.rows:,} generated records. "
        "`bound`: in times the modes' loss, what no values of these classes lose less than whose "
        f"shares are within a total variation of {APART:g} (`benchmarks/loss/shares_bound.py`)."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    show_section(title, body, given.out)


if __name__ == "__main__":
    main()
