"""k and t over persons, beside their definition in fractions."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_persons import Rows, count_persons, ordered_work, person_distance
from tclose.kernels.emd.tree import star_metric
from tclose.model.array_types import Int64
from tclose.model.distribution import TreeMetric
from tclose.passes.persons.person_values import count_person_values
from tclose.privacy.person_closeness import (
    PersonDemand,
    PersonDistribution,
    exact_person_distance,
    weigh_persons,
)
from tclose.runtime.arrays import make_distribution


def _tree_of_pairs(counts: Int64) -> TreeMetric:
    """Values two by two below a node each, these below the root."""
    m = counts.size
    n_pairs = -(-m // 2)
    paths = np.array([[v, m + v // 2, m + n_pairs] for v in range(m)])
    numerators = np.array([1] * m + [1] * n_pairs + [0])
    below = np.zeros(m + n_pairs + 1, dtype=np.int64)
    for column in paths.T:
        np.add.at(below, column, counts)
    return TreeMetric(paths, numerators, 4, below)


METRICS: dict[str, Callable[[Int64], TreeMetric | None]] = {
    "ordered": lambda _: None,
    "equal": star_metric,
    "tree": _tree_of_pairs,
}


def _work(metric: TreeMetric | None, n_values: int) -> list[list[Fraction]]:
    if metric is None:
        return ordered_work(n_values)
    nodes = [[Fraction(0)] * n_values for _ in metric.numerators]
    for value, path in enumerate(metric.paths.tolist()):
        for node in path:
            nodes[node][value] = Fraction(int(metric.numerators[node]), metric.denominator)
    return nodes


@st.composite
def classed_persons(draw: st.DrawFn) -> list[Rows]:
    """Classes of rows, each a person and a value; all values occur."""
    row = st.tuples(st.integers(0, 6), st.integers(0, 4))
    classes = draw(st.lists(st.lists(row, min_size=1, max_size=40), min_size=1, max_size=6))
    present = sorted({value for rows in classes for _, value in rows})
    return [[(person, present.index(value)) for person, value in rows] for rows in classes]


def arrays_of(classes: list[Rows]) -> tuple[Int64, Int64, Int64]:
    """Starts, persons and codes of rows class by class."""
    starts = np.cumsum([0, *map(len, classes)])
    rows = np.array([row for rows in classes for row in rows], dtype=np.int64)
    return starts, rows[:, 0], rows[:, 1]


def table_of(classes: list[Rows], metric: str) -> PersonDistribution:
    """The table of all classes."""
    _, persons, codes = arrays_of(classes)
    counts = np.bincount(codes)
    rows = replace(
        make_distribution(np.arange(counts.size), counts), metric=METRICS[metric](counts)
    )
    _, index, n_rows = np.unique(persons, return_inverse=True, return_counts=True)
    [entries] = count_person_values(codes[np.newaxis], n_rows[index])
    return weigh_persons(rows, n_rows.size, entries)


@pytest.mark.parametrize("metric", METRICS)
@given(classes=classed_persons())
def test_measures_are_those_of_the_definition(metric: str, classes: list[Rows]) -> None:
    table = table_of(classes, metric)
    starts, persons, codes = arrays_of(classes)
    everybody = [row for rows in classes for row in rows]
    work = _work(table.rows.metric, table.rows.values.size)
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
