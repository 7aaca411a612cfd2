"""The strongest intruder on many small series that are held together, and on independent releases.

Each series is drawn: how many persons, who joins, leaves, is away for a while, and whose
quasi-identifier changes; k, t, the window of all its releases, and how departures are treated. The
value of each person lasts, and nobody else has it, so that it links her rows over all releases: no
value tells more. Records that cannot be kept are left out by tclose, and its verdict decides
whether a month is published; classes are cut as in Algorithm 3 (Soria-Comas et al. 2015), without a
search: one of each quantile of the values, by the quasi-identifier.

The intruder has the rows that were published, and no register. He knows of everybody who was in
which release, and in which class; or, where he has to link, the quasi-identifiers alone, of which
he takes the nearest class. A value was in certain classes, a person in certain ones: she can have
the values whose classes are hers. Her row is found with certainty 1 / the number of these.

    python -m benchmarks.attacks.attacked_series --series 10000 [--departures hold]
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Float64, Int64, Integers
from tclose.passes.series.held.held_records import choose_held
from tclose.passes.series.kept_records import LinkedTable, keep_records
from tclose.passes.series.series_cells import ABSENT_CLASS, KnownRelease, find_cells, measure_cells
from tclose.passes.series.series_verdict import DROP, HOLD, judge_series
from tclose.releases.series.register_file import tabulate

Bools = NDArray[np.bool_]

REPORT = "report"
HEADROOM = Fraction(7, 10)
MOST_LEFT_OUT = {REPORT: 0.1, DROP: 0.5, HOLD: 0.5}  # of the records of a month, as runs have it


@dataclass(frozen=True, eq=False)
class Panel:
    """A drawn series, and what its releases are held to.

    ``is_there`` bool (months, persons); ``quasi`` float64 (months, persons); ``values`` int64
    (persons,): all different.
    """

    is_there: Bools
    quasi: Float64
    values: Int64
    k: int
    t: Fraction
    departures: str


def draw_panel(seed: int, number: int) -> Panel:
    """Draw one series: a function of the seed and its number."""
    rng = np.random.default_rng([seed, number])
    n_months, n_start = int(rng.integers(2, 6)), int(rng.integers(60, 301))
    churn, moves = rng.uniform(0.01, 0.08), rng.uniform(0.0, 0.1)
    n_persons = round(n_start * (1 + 2 * churn * n_months)) + 1
    is_there = np.zeros((n_months, n_persons), dtype=np.bool_)
    is_there[0, :n_start] = True
    quasi = np.empty((n_months, n_persons))
    quasi[0] = rng.uniform(size=n_persons)
    for month in range(1, n_months):
        before = is_there[month - 1]
        stays = before & (rng.uniform(size=n_persons) >= churn)
        others = rng.permutation(np.flatnonzero(~before))  # who were never there, or come back
        stays[others[: n_start - int(stays.sum())]] = True
        is_there[month] = stays
        is_moved = rng.uniform(size=n_persons) < moves
        quasi[month] = np.where(is_moved, rng.uniform(size=n_persons), quasi[month - 1])
        quasi[month] += rng.normal(0, 0.002, n_persons)  # all get older, unlike in their class
    departures = DROP if rng.uniform() < 0.25 else REPORT
    k, t = int(rng.integers(2, 6)), Fraction(int(rng.integers(20, 41)), 100)
    return Panel(is_there, quasi, rng.permutation(n_persons), k, t, departures)


def cut_classes(values: Int64, quasi: Float64, size: int) -> Int64:
    """Classes of ``size`` records or more, each with some of every quantile of values: int64 (n,).

    Where there are fewer records than two classes have, they are one.
    """
    n_records = values.size
    n_classes = max(1, n_records // size)
    ranks = np.empty(n_records, dtype=np.int64)
    ranks[np.argsort(values)] = np.arange(n_records)
    subsets = ranks * size // max(n_records, 1)
    order = np.lexsort((quasi, subsets))
    sizes = np.bincount(subsets, minlength=size)
    within = np.arange(n_records) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = np.empty(n_records, dtype=np.int64)
    labels[order] = within * n_classes // np.maximum(np.repeat(sizes, sizes), 1)
    return labels


def make_release(panel: Panel, persons: Integers, labels: Int64) -> KnownRelease:
    """A release of persons in classes, over the persons of all."""
    kinds, codes = np.unique(panel.values[persons], return_inverse=True)
    codes = codes.astype(np.int64).reshape(1, -1)
    table = tabulate(codes[0], kinds.size)
    n_persons = panel.values.size
    return KnownRelease(n_persons, persons, labels, codes, (table,), ("value",), (panel.t,))


@dataclass(frozen=True, eq=False)
class DrawnTable(LinkedTable):
    """A month of a panel, as the records that can be kept are chosen of it."""

    panel: Panel

    def as_release(self, chosen: Bools) -> KnownRelease:
        """The chosen records as a release of one class."""
        rows = self.persons[chosen]
        return make_release(self.panel, rows, np.zeros(rows.size, dtype=np.int64))


def hold_series(panel: Panel) -> list[KnownRelease]:
    """The months that are published together; the series ends with one that is refused."""
    n_persons = panel.values.size
    window: list[KnownRelease] = []
    for month, is_there in enumerate(panel.is_there):
        persons = np.flatnonzero(is_there)
        cells = find_cells(window, n_persons) if window else np.zeros(n_persons, dtype=np.int64)
        if panel.departures == HOLD and window:
            persons = np.concatenate([persons, find_held(panel, window, cells, persons)])
        if window:
            table = DrawnTable(persons, (), [], (), panel)
            kept = keep_records(table, window, cells, panel.k, departures=panel.departures)
            if (~kept).mean() > MOST_LEFT_OUT[panel.departures]:
                break
            persons = persons[kept]
        release = _hold_month(panel, window, month, persons, cells)
        if release is None:
            break
        window.append(release)
    return window


def find_held(panel: Panel, window: list[KnownRelease], cells: Integers, persons: Int64) -> Int64:
    """The persons of the last release who have no record, and whose rows stay: int64 (n,)."""
    left = np.setdiff1d(window[-1].rows, persons)
    nobody = np.empty(0, dtype=np.int64)  # a person's value lasts
    held: Int64 = left[choose_held(window, cells, left, nobody, panel.k)]
    return held


def _hold_month(
    panel: Panel, window: list[KnownRelease], month: int, persons: Int64, cells: Integers
) -> KnownRelease | None:
    """Keep cells together, and cut newcomers into as many classes as hold; None if none do."""
    is_known = np.zeros(panel.values.size, dtype=np.bool_)
    for release in window:
        is_known |= release.classes != ABSENT_CLASS
    labels = np.unique(cells[persons], return_inverse=True)[1].astype(np.int64).reshape(-1)
    new = np.flatnonzero(~is_known[persons])
    size = 2 * panel.k
    while True:
        rows = persons[new]
        labels[new] = persons.size + cut_classes(panel.values[rows], panel.quasi[month][rows], size)
        dense = np.unique(labels, return_inverse=True)[1].astype(np.int64).reshape(-1)
        release = make_release(panel, persons, dense)
        verdict = judge_series([*window, release], panel.values.size, panel.k, panel.departures)
        has_room = window or max(verdict.largest_emd.values()) <= HEADROOM * panel.t
        if verdict.passed and has_room:
            return release
        if size >= new.size:
            return None
        size *= 2


def release_alone(panel: Panel, month: int) -> KnownRelease:
    """A month's release that holds k and t by itself."""
    persons = np.flatnonzero(panel.is_there[month])
    size = panel.k
    while True:
        labels = cut_classes(panel.values[persons], panel.quasi[month][persons], size)
        release = make_release(panel, persons, labels)
        classes = release.classes.astype(np.int64)
        if not measure_cells(classes, [release]).fail(panel.k).any():
            return release
        size += 1


def publish_rows(panel: Panel, release: KnownRelease) -> Int64:
    """What is handed out of a release: the class and the value of each row, int64 (2, n)."""
    return np.vstack([release.classes[release.rows], panel.values[release.rows]])


def count_candidates(known: Sequence[Integers], published: Sequence[Int64]) -> Int64:
    """The values that each person can have, by the classes that they were in: int64 (persons,).

    Nothing of how tclose finds cells is used.

    Parameters
    ----------
    known : (persons,): the class of everybody in each release, -1 of the absent
    published : int64 (2, n): rows of each release, class and value
    """
    n_values = max(int(rows[1].max(initial=-1)) for rows in published) + 1
    seen = np.full((len(published), n_values), ABSENT_CLASS, dtype=np.int64)
    for of_release, (classes, values) in zip(seen, published, strict=True):
        of_release[values] = classes
    seen = seen[:, (seen != ABSENT_CLASS).any(axis=0)]
    both = np.concatenate([seen, np.stack(known)], axis=1)
    kinds = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(kinds[: seen.shape[1]], minlength=int(kinds.max()) + 1)
    found: Int64 = counts[kinds[seen.shape[1] :]]
    return found


def link_nearest_class(panel: Panel, month: int, release: KnownRelease) -> Int64:
    """The class that an intruder takes for each person, by the nearest mean: int64 (persons,)."""
    known, rows = release.classes, release.rows
    sizes = np.bincount(known[rows])
    means = np.bincount(known[rows], panel.quasi[month][rows]) / sizes
    guessed = np.full(known.size, ABSENT_CLASS, dtype=np.int64)
    guessed[rows] = np.abs(panel.quasi[month][rows][:, None] - means).argmin(axis=1)
    return guessed


@dataclass(frozen=True)
class Attacked:
    """Counts over series; of independent releases of the first two months, persons in both.

    ``better``: persons who are found with more certainty than 1 / k; ``leavers``: of those who left
    while they are reported. ``cases``: persons in cells below k, or alone; ``found``: of these, by
    one who knows classes; ``linked``: whose own value is the one that is left by linking.
    """

    series: int = 0
    releases: int = 0
    refused: int = 0
    left_out: int = 0
    persons: int = 0
    better: int = 0
    leavers: int = 0
    leavers_better: int = 0
    both: int = 0
    cases: int = 0
    found: int = 0
    alone: int = 0
    alone_found: int = 0
    linked: int = 0

    def __add__(self, other: "Attacked") -> "Attacked":
        """The counts of both."""
        return Attacked(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def attack_series(panel: Panel) -> Attacked:
    """Attack one series twice: as it is held, and as independent releases."""
    return _attack_held(panel) + _attack_alone(panel)


def _attack_held(panel: Panel) -> Attacked:
    releases = hold_series(panel)
    counts = Attacked(series=1, releases=len(releases))
    n_months = len(panel.is_there)
    counts += Attacked(refused=int(len(releases) < n_months))
    for n in range(1, len(releases) + 1):
        window = releases[:n]
        known = [release.classes for release in window]
        candidates = count_candidates(known, [publish_rows(panel, one) for one in window])
        is_here = known[-1] != ABSENT_CLASS
        was = np.logical_or.reduce([of != ABSENT_CLASS for of in known])
        is_hidden = panel.departures != REPORT  # whoever left has to be hidden as well
        is_better = (candidates < panel.k) & (is_here | (was & is_hidden))
        left = was & ~is_here
        counts += Attacked(
            persons=int(was.sum()) if is_hidden else int(is_here.sum()),
            better=int(is_better.sum()),
            left_out=int((panel.is_there[n - 1] & ~is_here).sum()),
            leavers=int(left.sum()) if panel.departures == REPORT else 0,
            leavers_better=int((left & (candidates < panel.k)).sum()),
        )
    return counts


def _attack_alone(panel: Panel) -> Attacked:
    releases = [release_alone(panel, month) for month in (0, 1)]
    published = [publish_rows(panel, one) for one in releases]
    known = [one.classes for one in releases]
    both = np.logical_and.reduce([of != ABSENT_CLASS for of in known])
    sizes = np.bincount(cells := find_cells(releases, panel.values.size))[cells]
    candidates = count_candidates(known, published)
    guessed = [link_nearest_class(panel, month, one) for month, one in enumerate(releases)]
    linked = count_candidates(guessed, published)
    right = np.logical_and.reduce([g == of for g, of in zip(guessed, known, strict=True)])
    return Attacked(
        both=int(both.sum()),
        cases=int((both & (sizes < panel.k)).sum()),
        found=int((both & (sizes < panel.k) & (candidates < panel.k)).sum()),
        alone=int((both & (sizes == 1)).sum()),
        alone_found=int((both & (sizes == 1) & (candidates == 1)).sum()),
        linked=int((both & (linked == 1) & right).sum()),
    )


def attack_many(seed: int, n_series: int, departures: str | None = None) -> Attacked:
    """Attack so many series; departures are treated as is drawn if it is not said."""
    panels = (draw_panel(seed, i) for i in range(n_series))
    treated = (p if departures is None else replace(p, departures=departures) for p in panels)
    return sum(map(attack_series, treated), Attacked())


def render(counts: Attacked) -> str:
    """The table, as lines of Markdown."""
    rows = [
        ("series, releases published of them", f"{counts.series:,}, {counts.releases:,}"),
        ("series that ended as a month was refused", f"{counts.refused:,}"),
        ("records left out", f"{counts.left_out:,}"),
        ("held together: persons attacked", f"{counts.persons:,}"),
        ("found with more certainty than 1 / k", f"{counts.better:,}"),
        (
            "persons who left, reported: found with more",
            f"{counts.leavers_better:,} of {counts.leavers:,}",
        ),
        ("independent: persons in both of two months", f"{counts.both:,}"),
        ("in cells below k, of these found among fewer than k", _share(counts.cases, counts.found)),
        ("alone in their cell, of these found", _share(counts.alone, counts.alone_found)),
        ("read off by linking to the nearest class", _share(counts.both, counts.linked)),
    ]
    return "\n".join(["| | |", "|---|---:|", *(f"| {name} | {text} |" for name, text in rows)])


def _share(n_all: int, n_found: int) -> str:
    return f"{n_all:,}, {n_found / n_all:.1%}" if n_all else "0"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--departures", choices=list(MOST_LEFT_OUT), help="drawn by default")
    given = parser.parse_args()
    print(render(attack_many(given.seed, given.series, given.departures)))


if __name__ == "__main__":
    main()
