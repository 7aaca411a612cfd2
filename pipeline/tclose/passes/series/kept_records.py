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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import one_zero, to_values, widen_decimals
from tclose.data.value_counts import confidential_keys
from tclose.kernels.cell_parts import count_labels
from tclose.model.array_types import Bools, Float64, Int32, Int64, Integers
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.series.series_cells import (
    KnownRelease,
    measure_cells,
    number_densely,
)
from tclose.passes.series.series_verdict import DROP, HOLD
from tclose.privacy.t_closeness import class_distances, with_metric
from tclose.releases.series.register_file import tabulate_counts

MOST_THINNED = 200  # persons of a unit of which some are left out, and not all


@dataclass(frozen=True, eq=False)
class NumberedValues:
    """A confidential column: each value's position among all, int32 (n,), in their order.

    ``n_kinds``: values that are told apart; ``texts``: of nominal ones.
    """

    codes: Int32
    n_kinds: int
    texts: list[str]

    @classmethod
    def of(cls, values: pa.Array, column: Column) -> "NumberedValues":
        """The values of a column, which are compared once each."""
        listed = widen_decimals(values).dictionary_encode()
        table = pa.table({column.name: pa.chunked_array([listed.dictionary])})
        kinds, places = np.unique(confidential_keys(table, column), return_inverse=True)
        texts: list[str] = []
        if column.kind is Kind.NOMINAL:
            texts = [str(one) for one in sorted(to_values(pc.unique(one_zero(listed.dictionary))))]
        of_records = listed.indices.to_numpy(zero_copy_only=False)
        return cls(places.reshape(-1).astype(np.int32)[of_records], kinds.size, texts)

    def tabulate(self, chosen: Bools, column: Column) -> tuple[Distribution, Int32]:
        """The distribution of chosen records, and the position in it of each one's value."""
        codes = self.codes[chosen]
        counts = count_labels(codes, self.n_kinds)
        is_there = counts > 0
        positions = (np.cumsum(is_there) - 1).astype(np.int32)[codes]
        texts = [text for text, there in zip(self.texts, is_there, strict=False) if there]
        return with_metric(tabulate_counts(counts[is_there]), column, texts), positions


@dataclass(frozen=True, eq=False)
class LinkedTable:
    """The complete records of a table, and what they are held to.

    ``persons`` (n,), int32 or int64: whose each is; ``values``: of the confidential columns.
    """

    persons: Integers
    columns: tuple[Column, ...]
    values: list[pa.Array]
    limits: tuple[Fraction, ...]

    @cached_property
    def _numbered(self) -> list[NumberedValues]:
        pairs = zip(self.values, self.columns, strict=True)
        return [NumberedValues.of(values, column) for values, column in pairs]

    def as_release(self, chosen: Bools) -> KnownRelease:
        """The chosen records as a release of one class."""
        measured = [
            of_column.tabulate(chosen, column)
            for of_column, column in zip(self._numbered, self.columns, strict=True)
        ]
        n_rows = int(chosen.sum())
        return KnownRelease(
            int(self.persons.max(initial=-1)) + 1,
            self.persons[chosen],
            np.zeros(n_rows, dtype=np.int32),
            np.array([codes for _, codes in measured], dtype=np.int32).reshape(-1, n_rows),
            tuple(table for table, _ in measured),
            tuple(column.name for column in self.columns),
            self.limits,
        )


@dataclass(frozen=True)
class ColumnAbove:
    """An attribute in which earlier classes are above its t in the new table.

    ``largest``: the distance of the farthest of those that are large enough; ``was_ordered``,
    ``is_ordered``: whether its distance was, and is, that of values with an order.
    """

    name: str
    largest: float
    limit: Fraction
    was_ordered: bool
    is_ordered: bool

    def __str__(self) -> str:
        """The attribute with its distance, and whether its values are of another kind now."""
        said = f"{self.name!r} (up to {self.largest:.3f}, t {float(self.limit):g})"
        if self.was_ordered == self.is_ordered:
            return said
        before, now = ("an order", "none") if self.was_ordered else ("no order", "one")
        return (
            f"{said}, whose values had {before} and have {now} here: correct the data, or say type "
            "and distance as before"
        )


def keep_records(
    table: LinkedTable,
    window: Sequence[KnownRelease],
    cells: Integers,
    k: int,
    *,
    departures: str = "",
    first: Bools | None = None,
) -> Bools:
    """Choose the records that can be released: bool (n,).

    Parameters
    ----------
    cells : (persons,): of the earlier releases
    departures : the way that they are treated. Where cells are dropped, and where records are held,
        all of a cell is left out if those who left it would be found; where records are held, all
        of an earlier cell or nobody, so that no value decides who it is
    first : bool (n,): records to choose from; all by default
    """
    persons = table.persons
    units = number_densely(cells[persons])
    is_kept = np.ones(units.size, dtype=np.bool_) if first is None else first.copy()
    may_thin = np.ones(int(units.max(initial=-1)) + 1, dtype=np.bool_)
    if departures == HOLD:
        may_thin[units[find_earlier(window, cells.size)[persons]]] = False
    changed = is_kept.copy()  # records of units that are other ones than when they were measured
    while is_kept.any():
        now = table.as_release(is_kept)
        measured = measure_cells(_place(units, persons, is_kept, cells.size), [now])
        earlier = measure_cells(_place(units, persons, is_kept & changed, cells.size), window)
        is_above = measured.is_above
        is_above[: earlier.is_above.size] |= earlier.is_above
        sizes = measured.sizes
        is_thinned = is_above & (sizes > k) & (sizes <= MOST_THINNED) & may_thin[: sizes.size]
        failing = np.flatnonzero((sizes < k) & (sizes > 0) | is_above & ~is_thinned)
        left_out = is_kept & _are_among(units, failing, may_thin.size)
        thinned = is_kept & _are_among(units, np.flatnonzero(is_thinned), may_thin.size)
        left_out[_choose_one_each(thinned, units, persons, chain(window, [now]), cells.size)] = True
        if departures in {DROP, HOLD}:
            left_out |= is_kept & find_left_behind(window, cells, persons, is_kept & ~left_out, k)
        if not left_out.any():
            break
        is_kept &= ~left_out
        changed = thinned
    return is_kept


def find_columns_above(
    table: LinkedTable,
    window: Sequence[KnownRelease],
    cells: Integers,
    chosen: Bools,
    k: int,
) -> list[ColumnAbove]:
    """The attributes in which units of k persons or more are above t in the new table.

    Parameters are those of `keep_records`; ``chosen`` bool (n,): records that could be released.
    """
    now = table.as_release(chosen)
    is_known = find_earlier(window, cells.size)[table.persons]
    units = number_densely(cells[table.persons])
    placed = _place(units, table.persons, chosen & is_known, cells.size)
    sizes = count_labels(placed, int(placed.max(initial=-1)) + 1)
    largest = measure_cells(placed, [now], sizes >= k).largest
    before = {
        name: of_table.metric is None
        for release in window
        for name, of_table in zip(release.attributes, release.tables, strict=True)
    }
    return [
        ColumnAbove(name, largest[name], limit, before.get(name, is_ordered), is_ordered)
        for name, limit, is_ordered in zip(
            now.attributes, now.limits, (one.metric is None for one in now.tables), strict=True
        )
        if largest[name] > limit
    ]


def _are_among(units: Integers, chosen: Int64, n_units: int) -> Bools:
    """Return which units are among chosen ones: bool (n,)."""
    is_chosen = np.zeros(n_units, dtype=np.bool_)
    is_chosen[chosen] = True
    return is_chosen[units]


def find_left_behind(
    window: Sequence[KnownRelease], cells: Integers, persons: Integers, is_kept: Bools, k: int
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


def _place(units: Integers, persons: Integers, chosen: Bools, n_persons: int) -> Integers:
    """The unit of each person with a chosen record, -1 of others: (persons,)."""
    placed = np.full(n_persons, -1, dtype=units.dtype)
    placed[persons[chosen]] = units[chosen]
    return placed


def _choose_one_each(
    thinned: Bools,
    units: Integers,
    persons: Integers,
    releases: Iterable[KnownRelease],
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
    persons: Integers, sizes: Int64, releases: Iterable[KnownRelease], n_persons: int
) -> Float64:
    """The largest distance of groups of persons in any release, in parts of its t: float64 (g,).

    Parameters
    ----------
    persons : (n,): of one group after the other, all of a group in the same releases
    sizes : int64 (g,)
    """
    firsts = np.cumsum(sizes) - sizes
    farthest = np.zeros(sizes.size)
    for release in releases:
        place = np.full(n_persons, -1, dtype=np.int32)
        place[release.rows] = np.arange(release.rows.size, dtype=np.int32)
        places = place[persons]
        there = np.flatnonzero(places[firsts] >= 0)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[there])])
        for codes, table, limit in zip(release.codes, release.tables, release.limits, strict=True):
            members = codes[places[places >= 0]].astype(np.int64)
            distances = class_distances(members, starts, table) / float(limit)
            farthest[there] = np.maximum(farthest[there], distances)
    return farthest
