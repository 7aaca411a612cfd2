"""What no series of releases that are held together can lose less than, over all its months.

``python -m benchmarks.series.series_bound [--persons N] [--months N] [--cells K ...] [--seed N]
[--losses absolute] [--out RESULTS.md]``

Persons of one cell were there in the same months and were in one class in each. So the cells of the
last month's persons, at least k' each, are parts of a class in every month that they were there,
and the classes lose no less than these parts do, over all months together. For one cell of s
persons that is the sum over its pairs of their squared distance over the months, divided by s
(`benchmarks.loss.loss_bound`), of which each person has half of the k' - 1 nearest over k' at
least. A class loses no fewer records off the mode than half of the records' mean distance to one
another, and no less by another value than the mean: so that holds for names, too.

The bound knows nothing of t, and holds for whoever knew a year ahead who will leave and who moves.
Counted for nothing are persons who were there in the same months as fewer than k' - 1 others: they
are taken to be left out of all months, and nobody else of any, nor held when she has left. To leave
out others of one's choice lowers the loss of any release: what those who add most hold is told.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.results import describe_call, render_table, show_section
from benchmarks.series.held_parts import N_QUASI, NAMES, NUMBERS, PERSON
from benchmarks.series.held_series import ABSOLUTE, RELATIVE, K, T, measure_each_alone
from tclose.data.synthetic.panel_files import write_panel

CHUNK = 1_000
COLUMNS = (
    *("k'", "as they were: persons", "at least", "moved or changed: persons", "at least"),
    *("newcomers: persons", "at least", "in no cell of k'", "all: at least"),
    "of it, as many persons as 0.1 % of the records, who add most",
)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """All persons of a series.

    ``values``: float64 (persons, columns), of all months side by side, such that squared distances
    add up to shares of the mean loss in times independent releases'; 0 where a person is not there;
    ``there``: bool (persons, months); ``moved``: bool (persons,), by zip or by a name
    """

    values: NDArray[np.float64]
    there: NDArray[np.bool_]
    moved: NDArray[np.bool_]


def follow_persons(
    tables: Sequence[pa.Table], alone: Sequence[float], *, in_shares: bool
) -> Trajectories:
    """Put months side by side, each weighed by the loss of an independent release of it."""
    number = {
        person: i
        for i, person in enumerate(
            sorted({p for table in tables for p in table[PERSON].to_pylist()})
        )
    }
    there = np.zeros((len(number), len(tables)), dtype=bool)
    moved = np.zeros(len(number), dtype=bool)
    first = np.zeros((len(number), 1 + len(NAMES)), dtype=object)
    columns = []
    for month, (table, loss) in enumerate(zip(tables, alone, strict=True)):
        rows = np.array([number[person] for person in table[PERSON].to_pylist()])
        known = np.stack([np.array(table[n].to_pylist(), object) for n in ("zip", *NAMES)], axis=1)
        is_new = ~there[rows].any(axis=1)
        first[rows[is_new]] = known[is_new]
        moved[rows] |= (first[rows] != known).any(axis=1)
        there[rows, month] = True
        weight = np.sqrt(1 / (table.num_rows * N_QUASI * loss * len(tables)))
        for values in list_coordinates(table, in_shares=in_shares):
            column = np.zeros(len(number))
            column[rows] = values * weight
            columns.append(column)
    return Trajectories(np.stack(columns, axis=1), there, moved)


def list_coordinates(table: pa.Table, *, in_shares: bool) -> list[NDArray[np.float64]]:
    """Numbers by their range, and names by the root of a half for each value.

    ``in_shares``: of what is lost of each by one class.
    """
    found = []
    for name in NUMBERS:
        numbers = table[name].to_numpy().astype(np.float64)
        values = (numbers - numbers.mean()) / (numbers.max() - numbers.min())
        found.append(values / values.std() if in_shares else values)
    for name in NAMES:
        texts = np.array(table[name].to_pylist())
        values, counts = np.unique(texts, return_counts=True)
        of_one_class = 1 - counts.max() / len(texts) if in_shares and len(values) > 1 else 1.0
        found += [(texts == value) * np.sqrt(0.5 / of_one_class) for value in values]
    return found


def find_nearest(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The k - 1 nearest squared distances to others of each row, float64 (n, k - 1)."""
    values = values - values.mean(axis=0)
    squares = np.einsum("ij,ij->i", values, values)
    found = np.empty((len(values), k - 1))
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        distances = squares[part, None] + squares[None, :] - 2 * (values[part] @ values.T)
        own = np.arange(len(distances))
        distances[own, own + start] = np.inf
        found[part] = np.partition(distances, k - 2, axis=1)[:, : k - 1]
    return np.maximum(found, 0)


def bound_terms(persons: Trajectories, k: int) -> NDArray[np.float64]:
    """What each person of the last month adds to the bound, float64 (n,).

    Who was there in the same months as fewer than k - 1 others cannot be in a cell of k; that is
    not a number.
    """
    last = np.flatnonzero(persons.there[:, -1])
    patterns = persons.there[last] @ (1 << np.arange(persons.there.shape[1]))
    terms = np.full(len(last), np.nan)
    for pattern in np.unique(patterns):
        same = np.flatnonzero(patterns == pattern)
        if len(same) >= k:
            terms[same] = find_nearest(persons.values[last[same]], k).sum(axis=1) / (2 * k)
    return terms


def describe_bound(persons: Trajectories, n_records: int, k: int) -> list[str]:
    """The row of the table for cells of k persons."""
    terms = bound_terms(persons, k)
    last = persons.there[:, -1]
    moved = persons.moved[last]
    is_new = ~persons.there[last, 0] & ~moved
    cells = [str(k)]
    for part in (~moved & ~is_new, moved, is_new):
        cells += [f"{part.mean():.1%}", f"{np.nansum(terms[part]):.2f}"]
    most = np.sort(np.nan_to_num(terms))[::-1][: n_records // 1_000].sum()
    in_none = int(np.isnan(terms).sum())
    return [*cells, f"{in_none:,}", f"{np.nansum(terms):.2f}", f"{most:.2f}"]


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=50_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--cells", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--losses", choices=(RELATIVE, ABSOLUTE), default=RELATIVE)
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_panel(folder / "panel", given.persons, given.seed, range(given.months))
        alone = measure_each_alone(files, folder, given.losses)
        tables = [pq.read_table(file) for file in files]
    in_shares = given.losses == RELATIVE
    persons = follow_persons(tables, alone, in_shares=in_shares)
    n_records = sum(table.num_rows for table in tables)
    rows = [describe_bound(persons, n_records, k) for k in given.cells]
    measure = "in shares" if in_shares else "by eq. (5)"
    title = (
        f"Series: what none can lose less than {measure}, {given.persons:,} persons, "
        f"seed {given.seed}"
    )
    call = describe_call("benchmarks.series.series_bound")
    how = (
        f"{call}. Mean loss over {given.months} months, {measure}, in times that of releases of "
        f"the same months by themselves (k {K}, t {T:g}, `losses: {given.losses}`, which lose "
        f"{min(alone):.5f} to {max(alone):.5f}): at least."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    show_section(title, body, given.out)


if __name__ == "__main__":
    main()
