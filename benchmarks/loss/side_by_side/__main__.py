"""The searches of the default method beside other methods, by size of the table and by its kinds.

``python -m benchmarks.loss.side_by_side [--rows N ...] [--columns N ...] [--families F ...]
[--family-rows N] [--real R ...] [--enlarged R ...] [--k K] [--t T ...] [--seeds S ...]
[--methods M ...] [--out RESULTS.md]``
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.loss.side_by_side.compared_releases import METHODS, THOROUGH, Outcome, release_by
from benchmarks.loss.side_by_side.families import FAMILIES, family
from benchmarks.loss.side_by_side.tables import REAL, discharges, enlarge, many_columns
from benchmarks.microdata.sources import Source
from benchmarks.results import describe_call, render_table, show_section
from tclose.errors import TcloseError

SEEDS = (1, 2)
K = 5
# Of a table with many columns, and of a family.
WIDE_ROWS = 20_000
ENLARGED_ROWS = 300_000  # of a real table
# Records up to which ``full`` is measured where no methods are named: it takes minutes.
FULL_ROWS = 100_000
COLUMNS = (
    *("records", "seed", "t", "method", "loss", "of fast's", "numbers lost", "categories lost"),
    *("unchanged", "range counts", "shares"),
    *("classes", "largest distance", "seconds", "microaggregate s"),
)
NOTE = """
`fast` is the default, `off`, `lean` and `full` are its method with that search, `40` with forty
rounds in wide blocks, `absolute` the default with `losses: absolute`; `mdav, fast`: the method
`mdav` with search and losses of the default; `merging`: `microaggregate-and-merge`. All other
settings are defaults; two workers. Loss: the mean over records and quasi-identifiers, of eq. (5)
whatever is searched for. Numbers and categories lost: the mean over these quasi-identifiers, in per
cent of what a release with one class loses of each. What `mondrian` loses is measured to the middle
of an interval, which of skewed numbers can be more than all, and by the share of the values that a
set covers. Discharges are those of `tclose generate`; tables of many quasi-identifiers are numbers
and, every third, categories (`benchmarks/loss/side_by_side/tables.py`); families are those of
`families.py` beside it; a real table is enlarged by drawing its records, a fifth of whose values
are those of other records with the same confidential value.
Unchanged: records released as they are; range counts: the median relative error of 1,000 of them;
shares: the largest total variation between the original and the released shares of a nominal
quasi-identifier's categories. The method was tuned on seed 1 of discharges and of many columns, and
of families on a table like those of dependence alone; seed 2 was measured once, at the end. Seconds
are those of a machine that has other work, one run each."""


def main() -> None:
    """Measure the tables that are asked for, and print them."""
    given = _parse()
    call = describe_call("benchmarks.loss.side_by_side")
    for title, sources in _list_tables(given):
        rows = [row for n, source in sources for row in _measure(given, n, source)]
        load = os.getloadavg()[1]
        how = f"{call}, with a load of {load:.0f} at the end."
        body = f"{how}{NOTE}\n\n{render_table(COLUMNS, rows)}"
        show_section(title, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare methods on tables of some sizes.")
    parser.add_argument("--rows", type=int, nargs="*", default=[], help="sizes of discharges")
    parser.add_argument("--columns", type=int, nargs="*", default=[], help="of tables with many")
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=[])
    parser.add_argument("--family-rows", type=int, default=WIDE_ROWS, help="records of a family")
    parser.add_argument("--real", nargs="*", choices=list(REAL), default=[], help="real tables")
    parser.add_argument("--enlarged", nargs="*", choices=list(REAL), default=[], help="the same")
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--t", type=float, nargs="+", default=[0.1])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="of the data")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="those to measure")
    parser.add_argument("--out", type=Path, help="write the sections into this page, too")
    return parser.parse_args()


def _list_tables(given: argparse.Namespace) -> Iterator[tuple[str, list[tuple[int, Source]]]]:
    """Titles of sections, and the tables of each with their seeds."""
    for n_rows in given.rows:
        title = f"Loss side by side: discharges, {n_rows:,} records"
        yield title, [(seed, discharges(n_rows, seed)) for seed in given.seeds]
    for n_columns in given.columns:
        title = f"Loss side by side: {n_columns} quasi-identifiers"
        yield title, [(seed, many_columns(WIDE_ROWS, n_columns, seed)) for seed in given.seeds]
    for name in given.families:
        n_rows = given.family_rows
        size = "" if n_rows == WIDE_ROWS else f", {n_rows:,} records"
        title = f"Loss side by side: {name}{size}"
        yield title, [(seed, family(name, n_rows, seed)) for seed in given.seeds]
    for name in given.real:
        yield f"Loss side by side: {name}", [(0, REAL[name])]
    for name in given.enlarged:
        title = f"Loss side by side: {name}, enlarged"
        yield title, [(seed, enlarge(REAL[name], ENLARGED_ROWS, seed)) for seed in given.seeds]


def _measure(given: argparse.Namespace, seed: int, source: Source) -> list[list[str]]:
    """Rows of `COLUMNS` of one table."""
    table = source.read()
    seldom = {THOROUGH, "merging", *([] if table.num_rows <= FULL_ROWS else ["full"])}
    chosen = given.methods or [m for m in METHODS if m not in seldom]
    rows = []
    for t in given.t:
        found: dict[str, Outcome | TcloseError] = {}
        with tempfile.TemporaryDirectory(prefix="tclose-side-") as folder:
            for method in chosen:
                print(f"{source.describes}, t {t:g}: {method}", file=sys.stderr, flush=True)
                found[method] = release_by(method, table, source, (given.k, t), Path(folder))
        about = [f"{table.num_rows:,}", str(seed or "-"), f"{t:g}"]
        rows += [[*about, *cells] for cells in describe_outcomes(found)]
    return rows


def describe_outcomes(found: dict[str, Outcome | TcloseError]) -> list[list[str]]:
    """Cells of each method, beside the loss of the default; why there is none where there is none.

    A method that does not hold t by itself may be refused.
    """
    fast, rows = found.get("fast"), []
    for method, one in found.items():
        if isinstance(one, TcloseError):
            why = f"none: {' '.join(str(one).split())[:120]}".replace("|", "/")
            rows.append([method, why, *["-"] * 10])
            continue
        ratio = f"{one.loss / fast.loss:.3f}" if isinstance(fast, Outcome) and fast.loss else "-"
        rows.append(
            [
                *(method, f"{one.loss:.6f}", ratio),
                *(f"{one.numbers_lost:.2%}", f"{one.categories_lost:.2%}"),
                *(f"{one.unchanged:.1%}", f"{one.range_error:.1%}", f"{one.share_change:.4f}"),
                *(f"{one.n_classes:,}", f"{one.largest_emd:.6f}"),
                *(f"{one.seconds:.1f}", f"{one.microaggregation_seconds:.1f}"),
            ]
        )
    return rows


if __name__ == "__main__":
    main()
