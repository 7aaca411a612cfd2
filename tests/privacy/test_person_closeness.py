"""k and t over persons, beside their definition in fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.length import count
from support.naive.naive_persons import Rows, count_persons, person_distance
from support.tables.person_tables import METRICS, arrays_of, weigh_table, work_of
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.privacy.person_closeness import (
    PersonDemand,
    PersonDistribution,
    exact_person_distance,
    weigh_persons,
    weigh_values,
)

TINY = Fraction(1, 10**18)


@st.composite
def classed_persons(draw: st.DrawFn) -> list[Rows]:
    """Classes of rows, each a person and a value; all values occur."""
    row = st.tuples(st.integers(0, 6), st.integers(0, 4))
    classes = draw(st.lists(st.lists(row, min_size=1, max_size=40), min_size=1, max_size=6))
    present = sorted({value for rows in classes for _, value in rows})
    return [[(person, present.index(value)) for person, value in rows] for rows in classes]


def table_of(classes: list[Rows], metric: str) -> PersonDistribution:
    """The table of all classes."""
    _, persons, codes = arrays_of(classes)
    return weigh_table(persons, codes, metric)


@pytest.mark.parametrize("metric", METRICS)
@given(classes=classed_persons())
def test_measures_are_those_of_the_definition(metric: str, classes: list[Rows]) -> None:
    table = table_of(classes, metric)
    starts, persons, codes = arrays_of(classes)
    everybody = [row for rows in classes for row in rows]
    work = work_of(table.rows.metric, table.rows.values.size)
    exact = [person_distance(rows, everybody, work) for rows in classes]
    for limit in {*exact, *(e - TINY for e in exact if e), Fraction(0), Fraction(1, 7)}:
        demand = PersonDemand(3, (limit,), (table,))
        measures = demand.measure(starts, persons, codes[np.newaxis])
        assert measures.n_persons.tolist() == [count_persons(rows) for rows in classes]
        assert measures.distances[0] == pytest.approx([float(e) for e in exact], abs=1e-12)
        assert measures.above[0].tolist() == [e > limit for e in exact]
        held = [count_persons(r) >= 3 and e <= limit for r, e in zip(classes, exact, strict=True)]
        assert demand.holds(starts, persons, codes[np.newaxis]).tolist() == held
    ends = pairwise(starts)
    found = [exact_person_distance(codes[a:b], persons[a:b], table) for a, b in ends]
    assert found == exact


def test_a_class_has_to_be_near_in_every_attribute() -> None:
    """Classes of two persons: the first attribute is in each as in the table, the second is not."""
    starts, persons = np.array([0, 2, 4]), np.arange(4)
    codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    tables = tuple(weigh_table(persons, of_attribute, "ordered") for of_attribute in codes)
    near, far = Fraction(0), Fraction(1)
    for limits, is_held in [((near, near), False), ((far, near), False), ((near, far), True)]:
        held = PersonDemand(2, limits, tables).holds(starts, persons, codes)
        assert held.tolist() == [is_held, is_held]


@pytest.mark.parametrize("metric", METRICS)
def test_a_class_of_nobody_is_above_every_limit(metric: str) -> None:
    starts, persons, codes = np.array([0, 0, 2]), np.arange(2), np.array([[0, 1]])
    demand = PersonDemand(0, (Fraction(1),), (weigh_table(persons, codes[0], metric),))
    assert demand.measure(starts, persons, codes).above.tolist() == [[True, False]]
    assert demand.holds(starts, persons, codes).tolist() == [False, True]


class TestRounding:
    """Shares of persons are rounded; by how much that errs decides when fractions are counted."""

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("seed", range(count(3, 20)))
    def test_errs_no_more_than_it_says(self, metric: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n_rows, n_values = 20_000, 3000
        persons = rng.zipf(1.4, n_rows) % 2000  # many of a few persons, one or two of most
        codes = np.concatenate([np.arange(n_values), rng.integers(0, n_values, n_rows - n_values)])
        table = weigh_table(persons, codes, metric)
        order = rng.permutation(n_rows)[:600]
        starts = np.array([0, 5, 20, 50, 150, 350, 600])
        demand = PersonDemand(1, (Fraction(1),), (table,))
        measured = demand.measure(starts, persons[order], codes[np.newaxis, order]).distances[0]
        depth = 1 if table.rows.metric is None else table.rows.metric.paths.shape[1]
        for i, (a, b) in enumerate(pairwise(starts)):
            rows = order[a:b]
            exact = exact_person_distance(codes[rows], persons[rows], table)
            most = table.error + ERROR_PER_STEP * ((b - a) * depth + 8)
            assert abs(Fraction(float(measured[i])) - exact) <= most
        assert table.error < (1e-13 if metric == "ordered" else 1e-9)

    def test_decides_where_all_shares_are_rounded_alike(self) -> None:
        """Of many values the rounding errs by more than the sums of a small class do.

        3 persons have each value, so that a share of all up to it is a third of a part too large.
        """
        n_values = 2**18
        counts = np.full(n_values, 3)
        counts[0], counts[-1] = 1, 5
        codes = np.arange(n_values).repeat(counts)
        table = weigh_table(np.arange(codes.size), codes, "ordered")
        starts, persons = np.array([0, 1, 2]), np.array([0, codes.size - 1])
        of_classes = codes[persons]  # the smallest value, and the largest
        exact = [exact_person_distance(of_classes[i : i + 1], persons[:1], table) for i in (0, 1)]
        wrong = float(Fraction(1, 3 * 2**43))
        assert wrong > 2 * ERROR_PER_STEP * (1 + 8)
        for i, (limit, is_above) in enumerate([(exact[0] - TINY, True), (exact[1], False)]):
            demand = PersonDemand(1, (limit,), (table,))
            measures = demand.measure(starts, persons, of_classes[np.newaxis])
            off = Fraction(float(measures.distances[0, i])) - exact[i]
            assert abs(float(off)) == pytest.approx(wrong, rel=0.05)
            assert bool(measures.above[0, i]) is is_above

    def test_ranges_of_values_change_nothing(self) -> None:
        rng = np.random.default_rng(1)
        persons, codes = rng.integers(0, 50, 400), rng.integers(0, 40, 400)
        codes[:40] = np.arange(40)
        whole = weigh_table(persons, codes, "ordered")
        (entries,) = whole.entries
        ends = [0, 7, 7, 31, 40]
        parts = tuple(np.split(entries, np.searchsorted(entries[0], ends[1:-1]), axis=1))
        weights = [
            weigh_values(part, whole.n_persons, *of_part)
            for part, of_part in zip(parts, pairwise(ends), strict=True)
        ]
        again = weigh_persons(whole.rows, whole.n_persons, parts, np.concatenate(weights))
        np.testing.assert_array_equal(again.shares.cumulative, whole.shares.cumulative)
        assert (again.unit, again.weigh(again.unit, 5, 33)) == (
            whole.unit,
            whole.weigh(whole.unit, 5, 33),
        )
