"""The verdict on a release together with the earlier ones of its window."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Int64, Integers
from tclose.model.counted_words import count_words
from tclose.model.verification import Failure
from tclose.passes.series.departed_groups import CellClasses, find_small_groups
from tclose.passes.series.series_cells import KnownRelease, find_cells, measure_cells

# Ways to treat persons who leave: what is asked of cells of theirs, or of groups.
REFUSE, DROP, UNITE, HOLD = "refuse", "drop", "unite", "hold"
NOBODY_FOUND = (REFUSE, DROP, HOLD)  # cells of those who left have to hold as well


@dataclass(frozen=True)
class SeriesVerdict:
    """The measures of the cells of a window's releases; the last release is the new one.

    ``n_cells``, ``smallest``, ``largest_emd``: of the cells of its persons; ``n_newcomers``:
    persons in none of the others; ``n_leavers``: persons of the release before who are not in it;
    ``n_exposed``: those of them whose cell has fewer than k persons or is above a t;
    ``n_small_groups``: groups of 1 to k - 1 persons that are found by subtracting classes of this
    release from those of an earlier one; ``smallest_group``: of all such groups, 0 if there is
    none; ``n_stale``: rows of persons who left, held from the release before; ``stalest``: for how
    many releases one of them has been, at most.
    """

    n_cells: int
    smallest: int
    largest_emd: dict[str, float]
    n_newcomers: int
    n_leavers: int
    n_exposed: int
    n_small_groups: int = 0
    smallest_group: int = 0
    n_stale: int = 0
    stalest: int = 0
    failures: tuple[Failure, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """True if the release may be published."""
        return not self.failures


def judge_series(
    releases: Sequence[KnownRelease],
    n_persons: int,
    k: int,
    departures: str,
    most_held: Fraction | None = None,
) -> SeriesVerdict:
    """Decide whether the newest of some releases holds together with the others.

    Every cell of its persons has to hold. Cells of persons who left are counted, or have to hold as
    well where departures are refused, or cells dropped or held. Where classes are united, the
    groups have to have k persons that subtraction finds, and no class of an earlier release may
    come apart. Rows are held from the release before alone, in cells where no value has changed.

    Parameters
    ----------
    releases : oldest first, with the persons of all
    most_held : the share of the records that may be held; any if it is not said
    """
    cells = find_cells(releases, n_persons)
    newest = releases[-1].find_present()
    earlier, before = np.zeros_like(newest), np.zeros_like(newest)
    for r in range(len(releases) - 1):
        before = releases[r].find_present()
        earlier |= before
    cells[~(earlier | newest)] = -1  # persons of the table who are not released
    n_cells = int(cells.max(initial=-1)) + 1
    present = np.zeros(n_cells, dtype=np.bool_)
    present[cells[newest]] = True
    measured = measure_cells(cells, releases, present)
    failing = measured.fail(k)
    left = before & ~newest
    n_exposed = int(failing[cells[left]].sum())
    of_cells = CellClasses.of(releases, cells, measured.sizes)
    n_small, smallest_group = find_small_groups(of_cells, k)
    return SeriesVerdict(
        n_cells=int(present.sum()),
        smallest=int(measured.sizes[present].min(initial=n_persons)),
        largest_emd=measured.largest,
        n_newcomers=int((newest & ~earlier).sum()),
        n_leavers=int(left.sum()),
        n_exposed=n_exposed,
        n_small_groups=n_small,
        smallest_group=smallest_group,
        n_stale=int((releases[-1].stale > 0).sum()),
        stalest=int(releases[-1].stale.max(initial=0)),
        failures=(
            *_find_failures(measured.sizes, measured.is_above, present, k),
            *_refuse_departures(int(failing[~present].sum()), departures),
            *_refuse_groups(of_cells, n_small, k, departures),
            *_refuse_stale(releases, cells, departures),
            *_refuse_share(releases[-1], most_held),
        ),
    )


def _find_failures(
    sizes: np.ndarray, is_above: np.ndarray, present: np.ndarray, k: int
) -> list[Failure]:
    """List what the cells of the persons of the release do not hold."""
    failures = []
    small, above = int((sizes[present] < k).sum()), int(is_above[present].sum())
    if small:
        failures.append(
            Failure("k over time", f"at least {k} persons", count_words(small, "smaller cell"))
        )
    if above:
        failures.append(
            Failure("t over time", "every cell within it", f"{count_words(above, 'cell')} above")
        )
    return failures


def _refuse_departures(n_failing: int, departures: str) -> list[Failure]:
    """Say that cells of those who left do not hold, where that is refused."""
    if departures not in NOBODY_FOUND or not n_failing:
        return []
    demand = "none who can be found by subtraction"
    cells = "cell of persons who left does", "cells of persons who left do"
    return [Failure("departures", demand, f"{count_words(n_failing, *cells)} not hold")]


def _refuse_groups(cells: CellClasses, n_small: int, k: int, departures: str) -> list[Failure]:
    """List what the groups of those who left do not hold, where classes are united for them."""
    if departures != UNITE:
        return []
    failures = []
    if n_small:
        demand = f"none, or at least {k} persons of each set of classes"
        failures.append(Failure("departures", demand, count_words(n_small, "smaller group")))
    n_apart = sum(cells.count_torn(earlier) for earlier in range(len(cells.classes) - 1))
    if n_apart:
        demand = "every earlier class in one class"
        failures.append(Failure("departures", demand, f"{n_apart:,} that came apart"))
    return failures


def _refuse_stale(
    releases: Sequence[KnownRelease], cells: Integers, departures: str
) -> list[Failure]:
    """List what is wrong with rows that are held: whose they are, and their cells' values."""
    newest = releases[-1]
    held = np.flatnonzero(newest.stale)
    if not held.size:
        return []
    n_wrong = held.size
    if departures == HOLD and len(releases) > 1:
        n_wrong = int((newest.stale[held] != _count_ages(releases[-2], newest.rows[held])).sum())
    failures = []
    if n_wrong:
        demand = "rows of the release before"
        failures.append(Failure("records held", demand, count_words(n_wrong, "other")))
    elif n_moved := count_moved(releases[-2], newest, cells):
        demand = "cells whose values are as they were"
        failures.append(Failure("records held", demand, f"{count_words(n_moved, 'value')} changed"))
    return failures


def _refuse_share(newest: KnownRelease, most: Fraction | None) -> list[Failure]:
    """Say that more of a release is held than may be."""
    n_held = int((newest.stale > 0).sum())
    if most is None or n_held <= most * newest.rows.size:
        return []
    demand = f"{float(most):.2%} of the records, at most"
    return [Failure("records held", demand, f"{n_held:,} of {newest.rows.size:,}")]


def _count_ages(before: KnownRelease, persons: Integers) -> Int64:
    """Count the releases that persons are held in now, by the one before; -1: not in it."""
    ages = np.full(before.n_persons, -1, dtype=np.int64)
    ages[before.rows] = 1
    if before.stale.size:
        ages[before.rows] += before.stale
    counted: Int64 = ages[persons]
    return counted


def find_held_rows(
    before: KnownRelease, newest: KnownRelease, cells: Integers
) -> tuple[Int64, Int64]:
    """The rows of cells in which one is held, and the same persons' in the release before.

    Returns
    -------
    int64 (m,) and int64 (m,), -1 of persons who are not in it
    """
    is_held = np.zeros(int(cells.max(initial=-1)) + 1, dtype=np.bool_)
    is_held[cells[newest.rows[np.flatnonzero(newest.stale)]]] = True
    place = np.full(cells.size, -1, dtype=np.int64)
    place[before.rows] = np.arange(before.rows.size)
    rows = np.flatnonzero(is_held[cells[newest.rows]])
    return rows, place[newest.rows[rows]]


def count_moved(before: KnownRelease, newest: KnownRelease, cells: Integers) -> int:
    """Values of cells with rows that are held which are not the same ones in both releases.

    Registers tell values apart and no more: those of one place are of one place in the other.
    """
    rows, places = find_held_rows(before, newest, cells)
    codes = dict(zip(before.attributes, before.codes, strict=True))
    n_moved = 0
    for name, now in zip(newest.attributes, newest.codes, strict=True):
        pairs = np.unique(np.stack([codes[name][places], now[rows]]), axis=1)
        n_moved += sum(int(pairs.shape[1] - np.unique(of).size) for of in pairs)
    return n_moved
