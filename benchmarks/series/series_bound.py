"""What no series of releases that are held together can lose less than, over all its months.

``python -m benchmarks.series.series_bound [--persons N] [--months N] [--cells K ...] [--seed N]
[--out RESULTS.md]``

Persons of one cell were there in the same months and were in one class in each. So the cells of the
last month's persons, at least k' each, are parts of a class in every month that they were there,
and the classes lose no less than these parts do, over all months together. For one cell of s
persons that is the sum over its pairs of their squared distance over the months, divided by s
(`benchmarks.loss.loss_bound`), of which each person has half of the k' - 1 nearest over k' at
least. A class loses no fewer records off the mode than half of the records' mean distance to one
another, and no less by another value than the mean: so that holds for names, too.

The bound knows nothing of t, and holds for whoever knew a year ahead who will leave and who moves.
Some records may be left out; what that may save is taken away, at those who have most to save. Of
persons who are left out of the last month it is all that they add. Of others who are left out of
some months, what they add beyond half of the k' - 1 nearest over k' among all persons, over as many
months as are left, the nearest of each. And they may be in cells with persons who were not there in
the months that they are left out of; all of these share a weight of k' - 1 for each of them.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.performance.run import say
from benchmarks.results import describe_command, describe_machine, render_table, update_page
from benchmarks.series.held_parts import N_QUASI, NAMES, NUMBERS, PERSON
from benchmarks.series.held_series import measure_alone
from tclose.data.synthetic.panel_files import write_panel

K, T = 5, 0.1
CHUNK = 1_000
FEW = 20
LOOKED_AT = 3_000
COLUMNS = (
    *("k'", "as they were: persons", "at least", "moved or changed: persons", "at least"),
    *(
        "newcomers: persons",
        "at least",
        "in cells below k'",
        "bound",
        "with 0.1 % of a month left out",
    ),
)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """All persons of a series.

    ``values``: float64 (persons, columns), of all months side by side, such that squared distances
    add up to shares of the mean loss in times independent releases'; ``months``: of each column;
    ``there``: bool (persons, months); ``moved``: bool (persons,), by zip or by a name
    """

    values: NDArray[np.float64]
    months: NDArray[np.int64]
    there: NDArray[np.bool_]
    moved: NDArray[np.bool_]


def follow_persons(tables: Sequence[pa.Table], alone: Sequence[float]) -> Trajectories:
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
    columns, months = [], []
    for month, (table, loss) in enumerate(zip(tables, alone, strict=True)):
        rows = np.array([number[person] for person in table[PERSON].to_pylist()])
        known = np.stack([np.array(table[n].to_pylist(), object) for n in ("zip", *NAMES)], axis=1)
        is_new = ~there[rows].any(axis=1)
        first[rows[is_new]] = known[is_new]
        moved[rows] |= (first[rows] != known).any(axis=1)
        there[rows, month] = True
        weight = np.sqrt(1 / (table.num_rows * N_QUASI * loss * len(tables)))
        for values in list_coordinates(table):
            column = np.zeros(len(number))
            column[rows] = values * weight
            columns.append(column)
            months.append(month)
    return Trajectories(np.stack(columns, axis=1), np.array(months), there, moved)


def list_coordinates(table: pa.Table) -> list[NDArray[np.float64]]:
    """Numbers by their range, and names by the root of a half for each value."""
    found = []
    for name in NUMBERS:
        numbers = table[name].to_numpy().astype(np.float64)
        found.append((numbers - numbers.mean()) / (numbers.max() - numbers.min()))
    for name in NAMES:
        texts = np.array(table[name].to_pylist())
        found += [(texts == text) * np.sqrt(0.5) for text in np.unique(texts)]
    return found


def find_nearest(
    values: NDArray[np.float64], others: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """The n least squared distances of each row (r, d) to others (o, d), float64 (r, n)."""
    found = np.empty((len(values), n))
    for start in range(0, len(values), CHUNK):
        distances = measure_apart(values[start : start + CHUNK], others)
        found[start : start + CHUNK] = np.partition(distances, n - 1, axis=1)[:, :n]
    return found


def measure_apart(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of each row (r, d) to others (o, d), float64 (r, o)."""
    centre = others.mean(axis=0)
    values, others = values - centre, others - centre
    distances = -2 * (values @ others.T)
    distances += np.einsum("ij,ij->i", values, values)[:, None]
    distances += np.einsum("ij,ij->i", others, others)[None, :]
    return np.maximum(distances, 0, out=distances)


@dataclass(frozen=True, eq=False)
class Terms:
    """What each person of the last month adds to the bound, by her k - 1 nearest: (n, k - 1).

    ``savings``: the most of each term that a person may save who is left out of some month, in her
    cell; ``rates``: the most that a record may save of persons who are left out themselves, one for
    each record. Persons who were there in the same months as fewer than k - 1 others cannot be in a
    cell of k; their terms are 0, and ``in_cells`` bool (n,) says so.
    """

    terms: NDArray[np.float64]
    savings: NDArray[np.float64]
    rates: NDArray[np.float64]
    in_cells: NDArray[np.bool_]

    def leave_out(self, n_left_out: int, n_of_last: int) -> float:
        """What remains of the bound whichever records are left out, so many of the last month."""
        taken = (
            add_largest(self.savings, n_left_out * self.terms.shape[1])
            + add_largest(self.rates, n_left_out)
            + add_largest(self.terms.sum(axis=1), n_of_last)
        )
        return max(0.0, float(self.terms.sum() - taken))


def add_largest(values: NDArray[np.float64], n: int) -> float:
    """The sum of the n largest."""
    return float(np.sort(values, axis=None)[::-1][:n].sum())


def bound_terms(persons: Trajectories, k: int) -> Terms:
    """The terms of persons who are together in cells of k."""
    last = np.flatnonzero(persons.there[:, -1])
    values, there = persons.values[last], persons.there[last]
    patterns = there @ (1 << np.arange(there.shape[1]))
    terms, savings = np.zeros((2, len(last), k - 1))
    in_cells = np.zeros(len(last), dtype=bool)
    for pattern in np.unique(patterns):
        same = patterns == pattern
        if same.sum() < k:
            continue
        in_cells |= same
        columns = there[same][0][persons.months]
        of_months = values[:, columns]
        # The nearest one is the person herself.
        terms[same] = np.sort(find_nearest(of_months[same], of_months[same], k))[:, 1:] / (2 * k)
        longer = (patterns & pattern == pattern) & ~same
        if longer.any():
            nearest = find_nearest(of_months[same], of_months[longer], 1) / (2 * k)
            savings[same] = np.maximum(terms[same] - nearest, 0)
    rates = rate_records(values, there, persons.months, terms.sum(axis=1), k)
    return Terms(terms, savings, rates, in_cells)


def rate_records(
    values: NDArray[np.float64],
    there: NDArray[np.bool_],
    months: NDArray[np.int64],
    sums: NDArray[np.float64],
    k: int,
) -> NDArray[np.float64]:
    """The most that leaving out a record of a person may save of what she adds, for each record.

    ``sums`` (n,): what each adds. It is looked at closely for the `LOOKED_AT` who add most; a
    record of others saves no more than all of it.
    """
    order = np.argsort(-sums, kind="stable")
    rates = [sums[order[LOOKED_AT:]].repeat(there.shape[1])]
    for start in range(0, min(LOOKED_AT, len(order)), FEW):
        some = order[start : start + FEW]
        apart = np.full((there.shape[1], len(some), len(values)), np.inf)
        for month in range(there.shape[1]):
            own, others = there[some, month], there[:, month]
            of_month = values[:, months == month]
            apart[month][np.ix_(own, others)] = measure_apart(of_month[some][own], of_month[others])
        apart[:, np.arange(len(some)), some] = np.inf
        apart.sort(axis=0)
        least = np.partition(np.cumsum(apart, axis=0), k - 2, axis=2)[:, :, : k - 1].sum(axis=2)
        for i, of_person in zip(some, least.T, strict=True):
            n_months = int(there[i].sum())
            kept = np.append(0.0, of_person[: n_months - 1])[::-1] / (2 * k)  # 1, 2, ... left out
            saved = np.maximum(sums[i] - kept, 0) / np.arange(1, n_months + 1)
            rates.append(np.full(n_months, saved.max()))
    return np.concatenate(rates)


def describe_bound(persons: Trajectories, n_records: int, k: int) -> list[str]:
    """The row of the table for cells of k persons."""
    terms = bound_terms(persons, k)
    last = persons.there[:, -1]
    moved = persons.moved[last]
    is_new = ~persons.there[last, 0] & ~moved
    sums = terms.terms.sum(axis=1)
    cells = [str(k)]
    for part in (~moved & ~is_new, moved, is_new):
        cells += [f"{part.mean():.1%}", f"{sums[part].sum():.2f}"]
    return [
        *(*cells, f"{int((~terms.in_cells).sum()):,}", f"{sums.sum():.2f}"),
        f"{terms.leave_out(n_records // 1_000, int(last.sum()) // 1_000):.2f}",
    ]


def main() -> None:
    """Measure, and print the table or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=50_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--cells", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the table into this page, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_panel(folder / "panel", given.persons, given.seed, range(given.months))
        alone = []
        for file in files:
            say(f"measuring: {file.stem} by itself")
            alone.append(measure_alone(file, folder, K, T))
        tables = [pq.read_table(file) for file in files]
    persons = follow_persons(tables, alone)
    n_records = sum(table.num_rows for table in tables)
    rows = [describe_bound(persons, n_records, k) for k in given.cells]
    title = f"Series: what none can lose less than, {given.persons:,} persons, seed {given.seed}"
    command = describe_command("benchmarks.series.series_bound", sys.argv[1:])
    how = (
        f"`{command}` on {describe_machine()}. Mean loss over {given.months} months in times that "
        f"of releases of the same months by themselves (k {K}, t {T:g}, which lose "
        f"{min(alone):.5f} to {max(alone):.5f}): at least."
    )
    body = f"{how}\n\n{render_table(COLUMNS, rows)}"
    print(f"## {title}\n\n{body}\n")
    if given.out is not None:
        update_page(given.out, {title: body})


if __name__ == "__main__":
    main()
