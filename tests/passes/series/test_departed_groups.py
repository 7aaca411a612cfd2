"""Groups of persons who left next to their definition, by all sets of classes and by fractions."""

from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import InfeasibleError
from tclose.methods.scaling import Scaled
from tclose.passes.microaggregate.unions.unite_classes import EarlierClasses, unite_classes
from tclose.passes.series.departed_groups import CellClasses, find_small_groups
from tclose.passes.series.refused_releases import check_departures
from tclose.passes.series.series_cells import KnownRelease, find_cells
from tclose.passes.series.series_verdict import judge_series
from tclose.policy.sections.privacy_settings import OverTimeSettings

Classes = list[int]  # of each person, -1 where she is absent


def known(classes: Classes) -> KnownRelease:
    held = np.array(classes)
    rows = np.flatnonzero(held >= 0)
    return KnownRelease(held.size, rows, held[rows], np.empty((0, 0), np.int64), (), (), ())


def cells_of(*drawn: Classes) -> CellClasses:
    made = [known(one) for one in drawn]
    cells = find_cells(made, len(drawn[0]))
    return CellClasses.of(made, cells, np.bincount(cells))


@st.composite
def releases(draw: st.DrawFn) -> list[Classes]:
    """Classes of some releases, numbered from 0; the first person is in all of them."""
    n_persons = draw(st.integers(2, 9))
    made = []
    for _ in range(draw(st.integers(2, 4))):
        classes = [0, *draw(st.lists(st.integers(-1, 3), min_size=n_persons - 1,
                                     max_size=n_persons - 1))]  # fmt: skip
        kinds = sorted({c for c in classes if c >= 0})
        made.append([kinds.index(c) if c >= 0 else -1 for c in classes])
    return made


def sets_of(classes: Classes) -> list[set[int]]:
    there = sorted({c for c in classes if c >= 0})
    return [set(s) for n in range(len(there) + 1) for s in combinations(there, n)]


def subtract_naively(before: Classes, now: Classes) -> list[int]:
    """Sizes of all groups that are left of classes when the same persons' new ones are taken."""
    found = []
    persons = range(len(before))
    for some in sets_of(before):
        for others in sets_of(now):
            taken = {p for p in persons if before[p] in some}
            still = {p for p in persons if now[p] in others and before[p] >= 0}
            if still == {p for p in taken if now[p] >= 0}:
                found.append(len(taken - still))
    return found


@given(releases(), st.integers(1, 5))
def test_groups_are_those_of_all_sets_of_classes(drawn: list[Classes], k: int) -> None:
    small, smallest = find_small_groups(cells_of(*drawn), k)
    sizes = [n for one in drawn[:-1] for n in subtract_naively(one, drawn[-1]) if n]
    assert smallest == min(sizes, default=0)
    assert (small > 0) == (0 < smallest < k)
    verdict = judge_series([known(one) for one in drawn], len(drawn[0]), 1, "unite")
    apart = sum(
        len({b for a, b in zip(one, drawn[-1], strict=True) if a == c and b >= 0}) > 1
        for one in drawn[:-1] for c in set(one) - {-1}
    )  # fmt: skip
    cells = cells_of(*drawn)
    assert apart == sum(cells.count_torn(earlier) for earlier in range(len(drawn) - 1))
    assert [f.found for f in verdict.failures] == ([f"{apart:,} that came apart"] if apart else [])
    failures = judge_series([known(one) for one in drawn], len(drawn[0]), k, "unite").failures
    too_small = f"{small:,} smaller group{'' if small == 1 else 's'}"
    assert (too_small in [f.found for f in failures if f.what == "departures"]) == (small > 0)


def reduce_rows(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """The reduced echelon form of a matrix, without rows of zeros."""
    rows, done = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [value / rows[done][column] for value in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                factor = row[column]
                rows[i] = [a - factor * b for a, b in zip(row, rows[done], strict=True)]
        done += 1
    return rows[:done]


@given(releases())
def test_no_linear_combination_tells_more(drawn: list[Classes]) -> None:
    """Of the sums over the classes of two releases, where nobody joins: by exact elimination.

    Columns of those who stay come first, so rows without any of them are all that is known of
    those who left; they span what the groups do.
    """
    before, now = drawn[0], [n if b >= 0 else -1 for b, n in zip(*drawn[:2], strict=True)]
    kinds = sorted({c for c in now if c >= 0})
    now = [kinds.index(c) if c >= 0 else -1 for c in now]
    stay = [p for p, c in enumerate(now) if c >= 0]
    left = [p for p, c in enumerate(before) if c >= 0 and p not in stay]
    sums = [
        [Fraction(of[p] == c) for p in (*stay, *left)]
        for of in (before, now) for c in sorted(set(of) - {-1})
    ]  # fmt: skip
    told = [row[len(stay) :] for row in reduce_rows(sums) if not any(row[: len(stay)])]
    groups = [n for n in cells_of(before, now).measure_groups(0).tolist() if n]
    assert len(reduce_rows(told)) == len(groups)
    assert sorted(sum(map(bool, row)) for row in reduce_rows(told)) == sorted(groups)


@given(releases(), st.integers(1, 4), st.integers(0, 2**16))
def test_unions_lose_none_or_k(drawn: list[Classes], k: int, seed: int) -> None:
    """And nothing is united more than once all who left are too few, or everything is one class."""
    here = [p for p, c in enumerate(drawn[-1]) if c >= 0]
    placed = np.array([[one[p] for p in here] for one in drawn[:-1]])
    gone = np.array([
        [0 if one[p] < 0 else sum(c == one[p] and drawn[-1][q] < 0 for q, c in enumerate(one))
         for p in here]
        for one in drawn[:-1]
    ])  # fmt: skip
    rng = np.random.default_rng(seed)
    scaled = Scaled(
        rng.random((2, len(here))),
        rng.integers(0, 2, (1, len(here)), dtype=np.int32),
        2,
        np.ones(1),
        np.ones(1, np.int64),
    )
    labels = np.unique([drawn[-1][p] for p in here], return_inverse=True)[1].reshape(-1)
    united = unite_classes(labels, scaled, EarlierClasses(placed, gone, k))
    assert all(np.unique(united[labels == c]).size == 1 for c in np.unique(labels))
    final = [-1] * len(drawn[0])
    for p, c in zip(here, united.tolist(), strict=True):
        final[p] = c
    cells = cells_of(*drawn[:-1], final)
    assert sum(cells.count_torn(earlier) for earlier in range(len(drawn) - 1)) == 0
    if len(set(united.tolist())) > 1:
        assert find_failing(drawn[:-1], final, k) == []


@given(releases(), st.integers(2, 5))
def test_what_no_union_holds_is_refused_ahead(drawn: list[Classes], k: int) -> None:
    """And nothing else: where groups are small even if all who are here are in one class."""
    united = [min(c, 0) for c in drawn[-1]]
    n_small, _ = find_small_groups(cells_of(*drawn[:-1], united), k)
    window, n_persons = [known(one) for one in drawn[:-1]], len(united)
    persons = np.flatnonzero(np.array(united) == 0)
    settings = OverTimeSettings(k=k, t=1, departures="unite")
    refused = pytest.raises(InfeasibleError, match=r"departures: (all )?\d persons?")
    with refused if n_small else nullcontext():
        check_departures(window, find_cells(window, n_persons), persons, settings)


def find_failing(earlier: list[Classes], final: Classes, k: int) -> list[int]:
    """Unions that lost 1 to k - 1 persons of an earlier release's classes that go on in them."""
    failing = []
    for one in earlier:
        for union in set(final) - {-1}:
            inside = {one[p] for p, c in enumerate(final) if c == union} - {-1}
            lost = sum(one[p] in inside and c == -1 for p, c in enumerate(final))
            failing += [union] if 0 < lost < k else []
    return failing


def test_unions_are_made_of_near_classes() -> None:
    """Classes of four persons in a row; four of them lost one each, two and two are near."""
    labels = np.repeat(np.arange(8), 4)
    gone = np.repeat([1, 0, 1, 0, 0, 1, 0, 1], 4)[None, :]
    where = np.repeat([0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0], 4)[None, :]
    scaled = Scaled(where, np.empty((0, 32), np.int32), 1, np.empty(0), np.empty(0, np.int64))
    united = unite_classes(labels, scaled, EarlierClasses(labels[None, :], gone, 2))
    assert united[::4].tolist() == [0, 1, 0, 2, 3, 4, 5, 4]
