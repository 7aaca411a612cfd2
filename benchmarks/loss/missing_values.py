"""Ways with missing quasi-identifiers, on Adult with values taken out: what is released of them.

``python -m benchmarks.loss.missing_values [--share S ...] [--out RESULTS.md]``

Age and marital status lose a share of their values: at random, or more often of some records, by
the other one of the two. The release is compared with the values that were there.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.loss.suppression import NUMBER, measure_losses, release_records
from benchmarks.microdata.sources import SEED, Source, adult
from benchmarks.results import describe_call, render_table, show_section
from tclose.policy.policy import Policy, parse_policy

TITLE = "Loss: missing values"
SHARES = (0.05, 0.2)
GAPS = {"age": "median", "marital-status": "mode"}
WAYS = ("drop", "centre", "class")
STATUS = "Never-married"
MORE = ("workclass", "occupation", "relationship", "race")  # of which no value is missing
OFTEN = 1.8  # times the share, of the records whose values are missing more often
NOTE = """
*By the other*: of records that are never married, age is missing 1.8 times as often as the share
says, and of records below the median age, marital status; of the others so much less often that the
share is right. *Centre*: `missing: median` and `mode`; *drop*: `missing: drop`, so that there are
fewer records. Losses are mean squared differences to the values that were there, in ranges of the
input, over the released records: of all quasi-identifiers, of the two columns, and of their values
that were missing. Ages are released as means that are not rounded.

With five quasi-identifiers `class` gives what the centre does: whoever lacks a value is at the
centre, and so are the others of that class. With nine, classes are made by the others more, so that
a little more of the spread and of the shares stays, at a little less loss in all, but not of the
ages that are missing. Neither way makes up for who it is that lacks a value."""


@dataclass(frozen=True)
class Compared:
    """A release beside the values that were there; ``losses`` by name, of the two columns."""

    n_records: int
    mean: float
    deviation: float
    share: float
    loss: float
    losses: dict[str, float]
    missing_losses: dict[str, float]


def draw_gaps(table: pa.Table, share: float, *, by_other: bool) -> dict[str, NDArray[np.bool_]]:
    """Which records lose the value of each column."""
    rng, ages = np.random.default_rng([SEED, int(1_000 * share)]), table["age"].to_numpy()
    often = {
        "age": np.asarray(table["marital-status"]) == STATUS,
        "marital-status": ages < np.median(ages),
    }
    found = {}
    for name, is_often in often.items():
        n_often = int(is_often.sum())
        seldom = (len(table) - OFTEN * n_often) / (len(table) - n_often)
        factors = np.where(is_often, OFTEN, seldom) if by_other else np.ones(len(table))
        found[name] = rng.random(len(table)) < share * factors
    return found


def make_policy(source: Source, path: Path, place: Path, way: str) -> Policy:
    """A policy that treats missing values in one of the ways."""
    attributes: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in source.numeric}
    attributes |= {name: {"role": "quasi-identifier"} for name in source.nominal}
    attributes["age"]["round"] = False
    for name, centre in GAPS.items():
        if way != "drop":
            attributes[name]["missing"] = centre if way == "centre" else way
    attributes |= dict.fromkeys(source.confidential, "confidential")
    return parse_policy(
        {
            "name": "gaps",
            "input": {"path": str(path)},
            "attributes": attributes | {NUMBER: "non-confidential"},
            "privacy": {"k": 5, "t": 0.1},
            "missing": "drop",
            "output": {"path": str(place)},
        }
    )


def compare(
    source: Source, table: pa.Table, rows: pa.Table, gaps: dict[str, NDArray[np.bool_]]
) -> Compared:
    """Measure released rows, which are told by numbers, beside the table as it was."""
    numbers = rows[NUMBER].to_numpy()
    losses, missing = {}, {}
    for name in GAPS:
        nominal = (name,) if name in source.nominal else ()
        one = Source("", source.read, (name,), (), nominal)
        lost = measure_losses(one, table, rows)
        losses[name] = float(lost.mean())
        lacking = gaps[name][numbers]
        missing[name] = float(lost[lacking].mean()) if lacking.any() else float("nan")
    ages = rows["age"].to_numpy()
    return Compared(
        n_records=len(rows),
        mean=float(ages.mean()),
        deviation=float(ages.std()),
        share=float((np.asarray(rows["marital-status"]) == STATUS).mean()),
        loss=float(measure_losses(source, table, rows).mean()),
        losses=losses,
        missing_losses=missing,
    )


def release_gaps(
    source: Source, table: pa.Table, gaps: dict[str, NDArray[np.bool_]], way: str
) -> Compared:
    """Release the table without some values, in one of the ways."""
    lacking = table
    for name, is_lacking in gaps.items():
        values = pa.array(table[name].to_pylist(), mask=is_lacking)
        lacking = lacking.set_column(table.column_names.index(name), name, values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.parquet"
        pq.write_table(lacking, path)
        rows = release_records(make_policy(source, path, Path(folder) / "out", way))
    return compare(source, table, rows, gaps)


def render(name: str, way: str, one: Compared) -> list[str]:
    """A row of the table."""
    losses = [*one.losses.values(), *one.missing_losses.values()]
    return [
        name,
        way,
        f"{one.n_records:,}",
        f"{one.mean:.2f}",
        f"{one.deviation:.2f}",
        f"{one.share:.3f}",
        *(f"{loss:.3g}" if np.isfinite(loss) else "" for loss in (one.loss, *losses)),
    ]


def measure_source(source: Source, shares: Sequence[float]) -> list[list[str]]:
    """Rows of the table for a choice of quasi-identifiers."""
    table = source.read().select(source.columns)
    table = table.append_column(NUMBER, pa.array(np.arange(len(table))))
    none = dict.fromkeys(GAPS, np.zeros(len(table), dtype=bool))
    rows = [
        render("none", "the input", compare(source, table, table, none)),
        render("none", "released", release_gaps(source, table, none, "drop")),
    ]
    for share, by_other in product(shares, (False, True)):
        gaps = draw_gaps(table, share, by_other=by_other)
        name = f"{share:.0%} {'by the other' if by_other else 'at random'}"
        rows += [render(name, way, release_gaps(source, table, gaps, way)) for way in WAYS]
    return [[str(len(source.quasi_identifiers)), *row] for row in rows]


def main(arguments: Sequence[str]) -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loss.missing_values")
    parser.add_argument("--share", type=float, nargs="+", default=list(SHARES))
    parser.add_argument("--out", type=Path, help="page whose section is written")
    given = parser.parse_args(arguments)
    few = adult("hours-per-week")
    many = replace(
        few,
        quasi_identifiers=(*few.quasi_identifiers, *MORE),
        nominal=(*few.nominal, *MORE),
    )
    rows = [row for source in (few, many) for row in measure_source(source, given.share)]
    head = ["columns", "missing", "way", "records", "mean age", "deviation", "never married"]
    head += ["loss", *(f"{of} {name}" for of in ("loss of", "where missing:") for name in GAPS)]
    call = describe_call("benchmarks.loss.missing_values", arguments)
    text = f"{call}: k = 5, t = 0.1. {few.describes}; "
    text += f"five quasi-identifiers, and with {', '.join(MORE)} nine.\n\n"
    text += f"{render_table(head, rows)}\n{NOTE}"
    show_section(TITLE, text, given.out)


if __name__ == "__main__":
    main(sys.argv[1:])
