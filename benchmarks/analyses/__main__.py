"""What analysts do with releases of each method, beside the same with the originals.

``python -m benchmarks.analyses [--rows N] [--t T] [--seeds S ...] [--methods M ...]
[--out RESULTS.md]``
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.analyses.features import make_features, read_categories
from benchmarks.analyses.trained_models import MISSING, has_sklearn, score_categories, score_numbers
from benchmarks.loss.side_by_side.compared_releases import METHODS, write_policy
from benchmarks.loss.side_by_side.tables import discharges
from benchmarks.microdata.sources import Source, adult
from benchmarks.results import describe_call, render_table, show_section
from tclose.errors import TcloseError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

SEEDS = (1, 2)
K, T = 5, 0.1
HELD_OUT = 0.25
CHOSEN = ("off", "lean", "fast", "full", "mondrian")
COLUMNS = (
    *("seed", "method", "loss", "unchanged", "range counts off by", "nine tenths by"),
    *("total variation", "correlation", "Cram\u00e9r's V", "correlation ratio"),
    *("confidential, R\u00b2", "carried, AUC"),
)
NOTE = """
`fast` is the default, `off`, `lean` and `full` are its method with that search; all other settings
are defaults. A quarter of the records is held out at random by the seed; the others
are released. Of 1,000 random range counts over two or three quasi-identifiers and the confidential
attribute (a tenth to a half of the records of each number, or a category) half are off by what is
said at most, and nine tenths by what stands beside it, in shares of the true count or of the floor,
whichever is more. Total variation: the largest of any quasi-identifier. Correlation, Cramér's
V and correlation ratio: mean and largest absolute difference to those of the originals. Models are
histogram gradient boosting with its defaults, trained on the release (`originals`: on the same
records unreleased) and tested on the records held out: of the confidential attribute from the
quasi-identifiers, and of a carried column from the quasi-identifiers and the confidential one. Of
intervals they take the middle, of sets one value after the other. The method was tuned on seed 1;
seed 2 was measured once, at the end."""


@dataclass(frozen=True)
class Table:
    """A source, and a column of categories that is released as it is."""

    title: str
    source: Source
    carried: str


def main() -> None:
    """Measure the tables, and print them."""
    given = _parse()
    call = describe_call("benchmarks.analyses")
    for title, tables in _list_tables(given).items():
        rows = [row for seed, one in tables for row in measure(one, seed, given)]
        described = tables[0][1].source.describes.partition(", seed")[0]
        how = f"{call}. Data: {described}; "
        how += f"carried: {tables[0][1].carried}; k is {K}, t {given.t:g}."
        missing = "" if has_sklearn() else f"\n\n{MISSING}"
        body = f"{how}{NOTE}{missing}\n\n{render_table(COLUMNS, rows)}"
        show_section(title, body, given.out)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare what analysts do with releases.")
    parser.add_argument("--rows", type=int, default=20_000, help="of generated discharges")
    parser.add_argument("--t", type=float, default=T)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(CHOSEN))
    parser.add_argument("--out", type=Path, help="write the sections into this page, too")
    return parser.parse_args()


def _list_tables(given: argparse.Namespace) -> dict[str, list[tuple[int, Table]]]:
    """Titles of sections, and the tables of each with their seeds."""
    found: dict[str, list[tuple[int, Table]]] = {}
    at = "" if given.t == T else f", t {given.t:g}"
    real = Table(f"Analyses: Adult{at}", adult("hours-per-week"), "salary-class")
    for seed in given.seeds:
        made = discharges(given.rows, seed)
        title = f"Analyses: generated discharges, {given.rows:,} records{at}"
        for one in (real, Table(title, made, "discharge_status")):
            found.setdefault(one.title, []).append((seed, one))
    return found


def measure(of: Table, seed: int, given: argparse.Namespace) -> Iterator[list[str]]:
    """Rows of `COLUMNS`, of the originals first; nothing where the data are not at hand."""
    try:
        table = of.source.read().select([*of.source.columns, of.carried])
    except FileNotFoundError as error:
        print(f"skipped: {of.title}: {error}", file=sys.stderr)
        return
    is_held_out = np.random.default_rng(seed).random(table.num_rows) < HELD_OUT
    train, test = table.filter(pa.array(~is_held_out)), table.filter(pa.array(is_held_out))
    score = partial(score_models, of, table, test)
    yield [str(seed), "originals", *["-"] * (len(COLUMNS) - 4), *score(train)]
    for method in given.methods:
        print(f"{of.title}, seed {seed}: {method}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="tclose-analyses-") as folder:
            made = release(of, train, (method, given.t), Path(folder))
            if isinstance(made, TcloseError):
                why = f"none: {' '.join(str(made).split())[:120]}".replace("|", "/")
                yield [str(seed), method, why, *["-"] * (len(COLUMNS) - 3)]
                continue
            manifest, rows = made
        yield [str(seed), method, *describe_changes(manifest), *score(rows)]


def release(
    of: Table, table: pa.Table, asked: tuple[str, float], folder: Path
) -> tuple[dict[str, Any], pa.Table] | TcloseError:
    """The internal manifest of a release and its rows, or why there is none.

    ``asked``: the method and t.
    """
    path = folder / "source.parquet"
    pq.write_table(table, path)
    document = write_policy(of.source, path, folder / "releases", (K, asked[1]))
    document |= {"method": METHODS[asked[0]]}
    document["attributes"][of.carried] = "non-confidential"
    try:
        place = Path(str(run_release(parse_policy(document), Progress("none")).release))
    except TcloseError as error:
        return error
    manifest = json.loads((place / "internal" / "manifest.json").read_text())
    rows = pq.read_table(place / "data")
    shutil.rmtree(folder / "releases", ignore_errors=True)
    return manifest, rows


def describe_changes(manifest: dict[str, Any]) -> list[str]:
    """Cells from the loss to the associations."""
    found = manifest["utility"]["analyses"]
    ranges = found["range_counts"]
    cells = [f"{manifest['exact_information_loss']['total']:.6f}", f"{found['unchanged']:.1%}"]
    cells += [f"{ranges['median_error']:.1%}", f"{ranges['ninth_tenth_error']:.1%}"]
    cells.append(f"{max(found['marginals'].values()):.3f}")
    for changes in found["associations"].values():
        is_known = changes["mean"] is not None
        cells.append(f"{changes['mean']:.3f}, {changes['largest']:.3f}" if is_known else "-")
    return cells


def score_models(of: Table, table: pa.Table, test: pa.Table, train: pa.Table) -> list[str]:
    """Scores on the records held out, of models that are trained on some rows."""
    if not has_sklearn():
        return ["-", "-"]
    categories = {
        name: sorted(set(table[name].to_pylist())) for name in (*of.source.nominal, of.carried)
    }
    classes = categories.pop(of.carried)
    confidential = of.source.confidential[0]
    sides = []
    for rows in (train, test):
        quasi = make_features(rows, of.source.numeric, categories)
        number = rows[confidential].to_numpy().astype(np.float64)
        carried = read_categories(rows[of.carried].combine_chunks(), classes)
        sides.append((quasi, number, carried))
    n_numbers = len(of.source.numeric)
    by_quasi = [(quasi, number) for quasi, number, _ in sides]
    by_all = [(np.column_stack([number, quasi]), carried) for quasi, number, carried in sides]
    return [
        f"{score_numbers(by_quasi[0], by_quasi[1], n_numbers):.3f}",
        f"{score_categories(by_all[0], by_all[1], n_numbers + 1):.3f}",
    ]


if __name__ == "__main__":
    main()
