"""k and t over persons, beside their definition in fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_persons import Rows, count_persons, person_distance
from support.tables.person_tables import METRICS, arrays_of, weigh_table, work_of
from tclose.privacy.person_closeness import (
    PersonDemand,
    PersonDistribution,
    exact_person_distance,
)


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
    for limit in {*exact, Fraction(0), Fraction(1, 7)}:
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
