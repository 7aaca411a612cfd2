"""The records of a table that can be released together with the earlier releases of a window.

Persons who are in one cell of the earlier releases stay together: they are a *unit*. So a unit has
to hold by itself: k' persons who are there now, within t' of every release of the window and of the
new table. Of one that is above t', persons are left out one by one, each the one without whom the
rest is nearest, as long as k' are left; where that does not help, all of them are. Uniting it with
others would not: it stays a cell of its own. The table is then another one, so this is repeated
until nothing changes. Persons who are in no earlier release are one unit, which classes may split.

Where cells are dropped, those who left a cell and those who are left out of it have to be a cell
that holds; if not, all of it is left out, which is one, as it was in the release before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import one_zero
from tclose.data.value_counts import confidential_keys
from tclose.errors import PolicyError
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.series.series_cells import Bools, KnownRelease, measure_cells, number_hashes
from tclose.passes.series.series_verdict import DROP, HOLD
from tclose.privacy.t_closeness import class_distances, with_metric
from tclose.releases.series.register_file import tabulate

MOST_THINNED = 200  # persons of a unit of which some are left out, and not all


@dataclass(frozen=True, eq=False)
class LinkedTable:
    """The complete records of a table: their persons, and what they are held to."""

    hashes: np.ndarray
    columns: tuple[Column, ...]
    values: list[pa.Array]
    limits: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, linked: pa.Table, columns: tuple[Column, ...], limits: dict[str, Fraction]
    ) -> "LinkedTable":
        """The table of linked records.

        Raises
        ------
        PolicyError
            A person has several.
        """
        hashes = np.stack([linked[part].to_numpy() for part in ("high", "low")], axis=1)
        n_persons = number_hashes([hashes])[0]
        if n_persons < len(hashes):
            raise PolicyError(
                f"privacy.over_time: {len(hashes) - n_persons:,} of {len(hashes):,} records are of "
                "persons who have another one; these are events, and who is in which release is "
                "unlike for everybody, so that no classes hold over time; make a table with one "
                "record for each person, or take over_time out"
            )
        values = [linked[f"v{a}"].combine_chunks() for a in range(len(columns))]
        return cls(hashes, columns, values, tuple(limits[c.name] for c in columns))

    def as_release(self, persons: Int64, chosen: Bools) -> KnownRelease:
        """The chosen records as a release of one class."""
        measured = [
            tabulate_values(values.filter(pa.array(chosen)), column)
            for values, column in zip(self.values, self.columns, strict=True)
        ]
        n_rows = int(chosen.sum())
        return KnownRelease(
            np.zeros(0, dtype=np.int64),
            persons[chosen],
            np.array([codes for _, codes in measured], dtype=np.int64).reshape(-1, n_rows),
            tuple(table for table, _ in measured),
            tuple(column.name for column in self.columns),
            self.limits,
        )


def tabulate_values(values: pa.Array, column: Column) -> tuple[Distribution, Int64]:
    """The distribution of a confidential column, and each value's position in it: int64 (n,)."""
    table = pa.table({column.name: pa.chunked_array([values])})
    kinds, codes = np.unique(confidential_keys(table, column), return_inverse=True)
    texts: list[str] = []
    if column.kind is Kind.NOMINAL:
        texts = [str(value) for value in sorted(pc.unique(one_zero(values)).to_pylist())]
    distribution = tabulate(codes.reshape(-1).astype(np.int64), kinds.size)
    return with_metric(distribution, column, texts), codes.reshape(-1).astype(np.int64)


def keep_records(
    table: LinkedTable,
    window: Sequence[KnownRelease],
    cells: Int64,
    persons: Int64,
    k: int,
    *,
    departures: str = "",
    first: Bools | None = None,
) -> Bools:
    """Choose the records that can be released: bool (n,).

    Parameters
    ----------
    cells : int64 (persons,): of the earlier releases
    persons : int64 (n,): of each record
    departures : the way that they are treated. Where cells are dropped, and where records are held,
        all of a cell is left out if those who left it would be found; where records are held, all
        of an earlier cell or nobody, so that no value decides who it is
    first : bool (n,): records to choose from; all by default
    """
    units = np.unique(cells[persons], return_inverse=True)[1].reshape(-1)
    is_kept = np.ones(units.size, dtype=np.bool_) if first is None else first.copy()
    may_thin = np.ones(int(units.max(initial=-1)) + 1, dtype=np.bool_)
    if departures == HOLD:
        may_thin[units[find_earlier(window, cells.size)[persons]]] = False
    changed = is_kept.copy()  # records of units that are other ones than when they were measured
    while is_kept.any():
        now = table.as_release(persons, is_kept)
        measured = measure_cells(_place(units, persons, is_kept, cells.size), [now])
        earlier = measure_cells(_place(units, persons, is_kept & changed, cells.size), window)
        is_above = measured.is_above
        is_above[: earlier.is_above.size] |= earlier.is_above
        sizes = measured.sizes
        is_thinned = is_above & (sizes > k) & (sizes <= MOST_THINNED) & may_thin[: sizes.size]
        failing = np.flatnonzero((sizes < k) & (sizes > 0) | is_above & ~is_thinned)
        left_out = is_kept & np.isin(units, failing)
        thinned = is_kept & np.isin(units, np.flatnonzero(is_thinned))
        left_out[_choose_one_each(thinned, units, persons, [*window, now], cells.size)] = True
        if departures in {DROP, HOLD}:
            left_out |= is_kept & find_left_behind(window, cells, persons, is_kept & ~left_out, k)
        if not left_out.any():
            break
        is_kept &= ~left_out
        changed = thinned
    return is_kept


def find_left_behind(
    window: Sequence[KnownRelease], cells: Int64, persons: Int64, is_kept: Bools, k: int
) -> Bools:
    """Return which records are of cells whose missing persons do not hold by themselves: bool (n,).

    Parameters are those of `keep_records`.
    """
    gone = cells.copy()
    gone[persons[is_kept]] = -1
    was = find_earlier(window, cells.size)
    gone[~was] = -1
    failing = np.flatnonzero(measure_cells(gone, window).fail(k))
    behind: Bools = was[persons] & np.isin(cells[persons], failing)
    return behind


def find_earlier(window: Sequence[KnownRelease], n_persons: int) -> Bools:
    """Find the persons who are in some release: bool (persons,)."""
    was = np.zeros(n_persons, dtype=np.bool_)
    for release in window:
        was[release.rows] = True
    return was


def _place(units: Int64, persons: Int64, chosen: Bools, n_persons: int) -> Int64:
    """The unit of each person with a chosen record, -1 of others: int64 (persons,)."""
    placed = np.full(n_persons, -1, dtype=np.int64)
    placed[persons[chosen]] = units[chosen]
    return placed


def _choose_one_each(
    thinned: Bools,
    units: Int64,
    persons: Int64,
    releases: Sequence[KnownRelease],
    n_persons: int,
) -> Int64:
    """Choose a record of each unit without which the rest is nearest to all releases: int64 (u,).

    Ties go to the first in the order of the input, so that no key of persons decides.
    """
    rows = np.flatnonzero(thinned)
    if not rows.size:
        return rows
    rows = rows[np.argsort(units[rows], kind="stable")]
    members = np.split(rows, np.flatnonzero(np.diff(units[rows])) + 1)
    rests = [np.tile(m, m.size).reshape(m.size, -1)[~np.eye(m.size, dtype=bool)] for m in members]
    sizes = np.concatenate([np.full(m.size, m.size - 1) for m in members])
    farthest = _measure_rests(persons[np.concatenate(rests)], sizes, releases, n_persons)
    starts = np.cumsum([m.size for m in members])[:-1]
    chosen = [int(np.argmin(of_unit)) for of_unit in np.split(farthest, starts)]
    return np.array([m[i] for m, i in zip(members, chosen, strict=True)], dtype=np.int64)


def _measure_rests(
    persons: Int64, sizes: Int64, releases: Sequence[KnownRelease], n_persons: int
) -> Float64:
    """The largest distance of groups of persons in any release, in parts of its t: float64 (g,).

    Parameters
    ----------
    persons : int64 (n,): of one group after the other, all of a group in the same releases
    sizes : int64 (g,)
    """
    firsts = np.cumsum(sizes) - sizes
    farthest = np.zeros(sizes.size)
    for release in releases:
        place = np.full(n_persons, -1, dtype=np.int64)
        place[release.rows] = np.arange(release.rows.size)
        places = place[persons]
        there = np.flatnonzero(places[firsts] >= 0)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[there])])
        for codes, table, limit in zip(release.codes, release.tables, release.limits, strict=True):
            distances = class_distances(codes[places[places >= 0]], starts, table) / float(limit)
            farthest[there] = np.maximum(farthest[there], distances)
    return farthest
