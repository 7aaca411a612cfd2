"""Who is held of those who left, next to its definition; and what a verdict says of held rows."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_holding
from tclose.kernels.emd.tree import star_metric
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.passes.series.held.divisible_cells import bound_parts, find_divisible
from tclose.passes.series.held.held_records import _is_same, choose_held
from tclose.passes.series.kept_records import LinkedTable, keep_records
from tclose.passes.series.series_cells import KnownRelease, find_cells
from tclose.passes.series.series_verdict import judge_series
from tclose.privacy.t_closeness import class_distances
from tclose.releases.series.register_file import tabulate

LIMIT = Fraction(3, 10)
Rows = dict[int, tuple[int, int]]


def known(rows: Rows, n_persons: int, stale: dict[int, int] | None = None) -> KnownRelease:
    persons = np.array(sorted(rows))
    classes = np.array([rows[p][0] for p in persons])
    kinds, codes = np.unique([rows[p][1] for p in persons], return_inverse=True)
    codes = codes.reshape(1, -1).astype(np.int64)
    ages = np.array([(stale or {}).get(p, 0) for p in persons])
    table = tabulate(codes[0], kinds.size)
    return KnownRelease(n_persons, persons, classes, codes, (table,), ("pay",), (LIMIT,), ages)


@st.composite
def left(draw: st.DrawFn) -> tuple[list[Rows], dict[int, int]]:
    """Releases of some persons, and the values of those who have a record now."""
    n_persons = draw(st.integers(3, 9))
    persons = range(n_persons)
    releases: list[Rows] = []
    for _ in range(draw(st.integers(1, 3))):
        classes = draw(st.lists(st.integers(-1, 1), min_size=n_persons, max_size=n_persons))
        values = draw(st.lists(st.integers(0, 3), min_size=n_persons, max_size=n_persons))
        rows = {p: (classes[p], values[p]) for p in persons if classes[p] >= 0}
        releases.append(rows | {0: (0, values[0])})
    changes = draw(st.lists(st.sampled_from([0, 0, 0, 0, 1]), min_size=n_persons))
    now = {
        p: releases[-1].get(p, (0, 1))[1] + changes[p % len(changes)]
        for p in persons
        if draw(st.integers(0, 2))
    }
    return releases, now


@given(left(), st.integers(1, 4))
def test_who_is_held(drawn: tuple[list[Rows], dict[int, int]], k: int) -> None:
    releases, now = drawn
    n_persons = max(*(max(one) for one in releases), *now, 0) + 1
    window = [known(one, n_persons) for one in releases]
    last = releases[-1]
    gone = np.array([p for p in last if p not in now], dtype=np.int64)
    moved = np.array([p for p in now if p in last and now[p] != last[p][1]], dtype=np.int64)
    held = choose_held(window, find_cells(window, n_persons), gone, moved, k)
    assert set(gone[held].tolist()) == naive_holding.choose_held(releases, now, k, LIMIT)
    goes = set(gone[~held].tolist())
    for cell in naive_holding.find_cells(releases).values():
        if cell & goes and not cell & set(moved.tolist()):  # whoever of it had left
            for part in combinations(sorted(cell), len(cell & goes)):
                for of in filter(None, (set(part), cell - set(part))):
                    assert naive_holding.holds(of, releases, k, LIMIT)


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=6),
    st.lists(st.integers(0, 4), max_size=12),
    st.data(),
    st.booleans(),
)
def test_bound_of_parts(
    group: list[int], others: list[int], data: st.DataObject, tree: bool
) -> None:
    """No part of a group is farther; in order it is what the definition says."""
    values = group + others
    kinds, codes = np.unique(values, return_inverse=True)
    table = tabulate(codes.reshape(-1).astype(np.int64), kinds.size)
    if tree:
        table = replace(table, metric=star_metric(table.counts))
    n_part = data.draw(st.integers(1, len(group)))
    bound = bound_parts(codes.reshape(-1)[: len(group)].astype(np.int64), n_part, table)
    parts = np.array(list(combinations(codes.reshape(-1)[: len(group)].tolist(), n_part)))
    starts = np.arange(len(parts) + 1) * n_part
    distances = class_distances(parts.reshape(-1).astype(np.int64), starts, table)
    assert distances.max() <= float(bound) + 1e-12
    if not tree:
        assert bound == naive_holding.bound_parts(group, n_part, values)


def test_any_persons_may_leave() -> None:
    """Of six like the table any three may; of six others none, though these three hold."""
    rows = {p: (p // 6, 0) for p in range(6)} | {6 + i: (1, i % 2) for i in range(6)}
    window = [known(rows, 12)]
    cells = find_cells(window, 12)
    asked = np.ones(2, dtype=np.bool_)
    of_first = int(cells[0])
    release = replace(window[0], limits=(Fraction(1, 2),))
    n_left = np.full(2, 3)
    found = find_divisible([release], cells, n_left, asked, 3)
    assert found[of_first]
    assert not found[1 - of_first]  # three of one value may be those who left
    assert not find_divisible([release], cells, n_left, asked, 4).any()
    for of_six in (2, 4):  # both those who left and those who stay have to be k
        assert not find_divisible([release], cells, np.full(2, of_six), asked, 3).any()


@pytest.mark.parametrize(("departures", "n_out"), [("report", 1), ("hold", 5)])
def test_nobody_of_a_cell_is_left_out_alone(departures: str, n_out: int) -> None:
    """Newcomers without the value take its first cell from the table; one person less would do."""
    before = {p: (0, int(p < 2)) for p in range(5)} | {p: (1, int(p < 7)) for p in range(5, 15)}
    window = [known(before, 60)]
    persons = np.arange(60)
    pay = pa.array([before.get(p, (2, 0))[1] for p in range(60)])
    column = Column(Attribute("pay", Role.CONFIDENTIAL), Kind.NUMERIC, pa.int64())
    table = LinkedTable(persons, (column,), [pay], (LIMIT,))
    kept = keep_records(table, window, find_cells(window, 60), 3, departures=departures)
    left_out = np.flatnonzero(~kept)
    assert left_out.size == n_out
    assert left_out.max() < 5


BEFORE = {p: (p // 6, p % 3) for p in range(12)}


@pytest.mark.every_case  # each takes milliseconds
@pytest.mark.parametrize(
    ("departures", "after", "stale", "found"),
    [
        ("hold", BEFORE, {0: 1}, None),
        ("hold", BEFORE, {0: 2}, "1 other"),  # she was not held before
        ("hold", BEFORE | {12: (0, 0)}, {12: 1}, "1 other"),  # nor there
        ("drop", BEFORE, {0: 1, 1: 1}, "2 others"),
        ("share", BEFORE, {0: 1, 1: 1}, "2 of 12"),
        ("hold", BEFORE | {2: (0, 9), 3: (0, 2)}, {0: 1}, "3 values changed"),
        ("hold", BEFORE | {8: (1, 0), 9: (1, 2)}, {0: 1}, None),  # of another cell
    ],
)
def test_what_is_wrong_with_held_rows(
    departures: str, after: Rows, stale: dict[int, int], found: str | None
) -> None:
    """Whatever the links have chosen, held rows are of the release before, and nothing moves."""
    releases = [known(BEFORE, 13), known(after, 13, stale)]
    most = Fraction(1, 10) if departures == "share" else None
    verdict = judge_series(releases, 13, 1, "hold" if most else departures, most)
    assert (verdict.n_stale, verdict.stalest) == (len(stale), max(stale.values()))
    said = [failure.found for failure in verdict.failures if failure.what == "records held"]
    assert said == ([] if found is None else [found])


def test_rows_are_held_longer() -> None:
    once = known(BEFORE, 12, {0: 1})
    again = replace(known(BEFORE, 12, {0: 2, 1: 1}), limits=once.limits)
    assert judge_series([known(BEFORE, 12), once, again], 12, 1, "hold").passed
    assert once.fresh.tolist() == list(range(1, 12))


def test_zeros_of_two_signs_are_two_values() -> None:
    """They are released as they came, so a held row would be the only one with its sign."""
    before, now = pa.array([0.0, -0.0, 1.5, 2.5]), pa.array([0.0, 0.0, 1.5, 2.0])
    assert _is_same(before, now).tolist() == [True, False, True, False]
    assert _is_same(pa.array([1, 2]), pa.array([1, 3])).tolist() == [True, False]
