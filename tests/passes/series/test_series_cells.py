"""Cells of several releases next to their definition, by tuples of classes and fractions."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_holding
from support.naive.naive_holding import distance
from tclose.passes.series import series_cells
from tclose.passes.series.series_cells import ABSENT_CLASS, KnownRelease, find_cells, measure_cells
from tclose.passes.series.series_verdict import judge_series
from tclose.releases.series.register_file import tabulate

N_VALUES = 4
LIMIT = Fraction(3, 10)
Drawn = list[list[tuple[int, int]]]  # of each release, the class and the value of each person


@st.composite
def series(draw: st.DrawFn) -> Drawn:
    """Releases of the same persons, who come, go, and change class; somebody is in each."""
    n_persons = draw(st.integers(2, 9))
    drawn = []
    for _ in range(draw(st.integers(1, 4))):
        classes = draw(st.lists(st.integers(-1, 1), min_size=n_persons, max_size=n_persons))
        classes[draw(st.integers(0, n_persons - 1))] = 0
        values = draw(
            st.lists(st.integers(0, N_VALUES - 1), min_size=n_persons, max_size=n_persons)
        )
        drawn.append(list(zip(classes, values, strict=True)))
    return drawn


def known(drawn: Drawn) -> list[KnownRelease]:
    releases = []
    for one in drawn:
        classes = np.array([c for c, _ in one])
        rows = np.flatnonzero(classes != ABSENT_CLASS)
        kinds, codes = np.unique([one[p][1] for p in rows], return_inverse=True)
        codes = codes.reshape(1, -1).astype(np.int64)
        table = tabulate(codes[0], kinds.size)
        releases.append(
            KnownRelease(len(one), rows, classes[rows], codes, (table,), ("pay",), (LIMIT,))
        )
    return releases


def judge_naively(drawn: Drawn, k: int) -> tuple[int, int, int, int]:
    """Cells of the persons of the last release, the smallest, too small ones, those above t."""
    persons = range(len(drawn[0]))
    cells: dict[tuple[int, ...], list[int]] = {}
    for p in persons:
        cells.setdefault(tuple(one[p][0] for one in drawn), []).append(p)
    present = {signature: cell for signature, cell in cells.items() if signature[-1] != -1}
    above = 0
    for signature, cell in present.items():
        far = False
        for one, of_cell in zip(drawn, signature, strict=True):
            if of_cell != -1:
                table = [value for c, value in one if c != -1]
                far |= distance([one[p][1] for p in cell], table) > LIMIT
        above += far
    sizes = [len(cell) for cell in present.values()]
    return len(present), min(sizes), sum(size < k for size in sizes), above


@given(series(), st.integers(1, 4))
def test_verdict_is_that_of_the_definition(drawn: Drawn, k: int) -> None:
    verdict = judge_series(known(drawn), len(drawn[0]), k, "report")
    n_cells, smallest, small, above = judge_naively(drawn, k)
    assert (verdict.n_cells, verdict.smallest) == (n_cells, smallest)
    found = {failure.what: failure.found for failure in verdict.failures}
    asked = {"k over time": (small, "smaller {}"), "t over time": (above, "{} above")}
    assert found == {
        what: f"{n} {words.format('cell' if n == 1 else 'cells')}"
        for what, (n, words) in asked.items()
        if n
    }


@given(series(), st.integers(1, 4))
def test_who_left_is_found_by_the_definition(drawn: Drawn, k: int) -> None:
    """Whichever release they left: all have to hold where nobody may be found."""
    releases = [{p: row for p, row in enumerate(one) if row[0] != -1} for one in drawn]
    whole = naive_holding.find_cells(releases)
    failing = [cell for cell in whole.values() if not naive_holding.holds(cell, releases, k, LIMIT)]
    left = set(releases[-2] if len(releases) > 1 else ()) - set(releases[-1])
    of_left = [cell for cell in failing if cell.isdisjoint(releases[-1])]
    cells = "cell of persons who left does" if len(of_left) == 1 else "cells of persons who left do"
    said = [f"{len(of_left)} {cells} not hold"] if of_left else []
    for departures, found in [*((way, said) for way in ("refuse", "drop", "hold")), ("report", [])]:
        verdict = judge_series(known(drawn), len(drawn[0]), k, departures)
        assert [f.found for f in verdict.failures if f.what == "departures"] == found
        assert verdict.n_leavers == len(left)
        assert verdict.n_exposed == sum(len(cell & left) for cell in of_left)
        assert verdict.n_newcomers == len(set(releases[-1]).difference(*releases[:-1]))


@given(series(), st.randoms(use_true_random=False))
def test_order_of_releases_changes_no_cell(drawn: Drawn, random) -> None:
    shuffled = random.sample(drawn, len(drawn))
    cells = [find_cells(known(one), len(drawn[0])) for one in (drawn, shuffled)]
    assert partition(cells[0]) == partition(cells[1])
    measured = [
        sorted(zip(m.sizes.tolist(), m.is_above.tolist(), strict=True))
        for m in (
            measure_cells(c, known(one)) for c, one in zip(cells, (drawn, shuffled), strict=True)
        )
    ]
    assert measured[0] == measured[1]


@given(series())
def test_cells_are_in_the_order_of_their_classes(drawn: Drawn) -> None:
    signatures = [tuple(one[p][0] for one in drawn) for p in range(len(drawn[0]))]
    numbers = {of: number for number, of in enumerate(sorted(set(signatures)))}
    assert find_cells(known(drawn), len(signatures)).tolist() == [numbers[of] for of in signatures]


@given(series(), st.integers(1, 4), st.data())
def test_how_many_are_measured_at_once_changes_nothing(
    drawn: Drawn, at_once: int, data: st.DataObject
) -> None:
    releases = known(drawn)
    cells = find_cells(releases, len(drawn[0]))
    cells[data.draw(st.integers(0, cells.size - 1))] = -1
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=9, max_size=9)))
    asked = asked[: int(cells.max()) + 1]
    whole = measure_cells(cells, releases, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_cells, "MEASURED_PERSONS", at_once)
        parts = measure_cells(cells, releases, asked)
    assert parts.sizes.tolist() == whole.sizes.tolist()
    assert parts.is_above.tolist() == whole.is_above.tolist()
    assert parts.largest == whole.largest


@given(series(), st.integers(1, 4))
def test_some_releases_of_those_that_hold_do(drawn: Drawn, k: int) -> None:
    """Cells of fewer releases are unions of cells: whoever looks at fewer learns no more."""
    n_persons = len(drawn[0])
    if judge_series(known(drawn), n_persons, k, "refuse").failures:
        return
    for n in range(1, len(drawn)):
        for chosen in combinations(drawn, n):
            assert judge_series(known(list(chosen)), n_persons, k, "refuse").passed


def partition(cells: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(cells == cell).tolist()) for cell in Counter(cells.tolist())}


def test_leavers_are_counted_or_refused() -> None:
    """Three persons of a class of nine leave: subtraction finds them among three."""
    stay = [(0, p % 3) for p in range(9)]
    gone = [(0, p % 3) if p < 6 else (-1, 0) for p in range(9)]
    reported = judge_series(known([stay, gone]), 9, 4, "report")
    assert reported.passed
    assert (reported.n_leavers, reported.n_exposed, reported.n_newcomers) == (3, 3, 0)
    [failure] = judge_series(known([stay, gone]), 9, 4, "refuse").failures
    assert (failure.what, failure.found) == (
        "departures", "1 cell of persons who left does not hold",
    )  # fmt: skip
    assert judge_series(known([stay, gone]), 9, 3, "refuse").passed
    assert judge_series(known([gone, stay]), 9, 4, "report").failures[0].what == "k over time"
