"""Who is found by the nearest released records: the kernel against exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_links import Record, scaled, square
from support.tables.random_tables import repeatable
from tclose.kernels import record_linkage
from tclose.kernels.record_linkage import count_candidates


def naive_candidates(
    records: Sequence[Record],
    own: Sequence[int],
    points: Sequence[Record],
    sizes: Sequence[int],
    spans: Sequence[int],
    weights: Sequence[Fraction],
) -> list[int]:
    """The definition: all distances without rounding, then who is at the least of them."""
    counts = []
    for record, its_own in zip(records, own, strict=True):
        squares = [square(record, point, spans, weights) for point in points]
        nearest = [c for c, found in enumerate(squares) if found == min(squares)]
        counts.append(sum(sizes[c] for c in nearest) if its_own in nearest else 0)
    return counts


@st.composite
def attacks(draw: st.DrawFn) -> tuple:
    n_numeric, n_nominal = draw(
        st.tuples(st.integers(0, 3), st.integers(0, 2)).filter(lambda pair: sum(pair) > 0)
    )
    spans = draw(st.lists(st.integers(1, 97), min_size=n_numeric, max_size=n_numeric))
    record = st.tuples(
        st.tuples(*(st.integers(0, min(span, 6)) for span in spans)),
        st.tuples(*([st.integers(0, 2)] * n_nominal)),
    )
    points = draw(st.lists(record, min_size=1, max_size=12, unique=True))
    sizes = draw(st.lists(st.integers(1, 9), min_size=len(points), max_size=len(points)))
    records = draw(st.lists(record, min_size=1, max_size=12))
    weight = st.integers(1, 6).map(lambda height: Fraction(1, height))
    weights = draw(st.lists(weight, min_size=n_nominal, max_size=n_nominal))
    own = []
    for one in records:  # half of them were released as one of the nearest points
        squares = [square(one, point, spans, weights) for point in points]
        nearest = [c for c, found in enumerate(squares) if found == min(squares)]
        own.append(draw(st.sampled_from(nearest) | st.integers(0, len(points) - 1)))
    return records, own, points, sizes, spans, weights


@repeatable
@given(attacks())
def test_equals_the_twin(attack: tuple) -> None:
    """Ties too, though quotients are rounded: 3/97 - 1/97 is not 5/97 - 3/97 in floats."""
    records, own, points, sizes, spans, weights = attack
    counts = count_candidates(
        *scaled(records, spans, len(weights)),
        np.array(weights, dtype=np.float64),
        np.array(own),
        *scaled(points, spans, len(weights)),
        np.array(sizes),
    )
    assert counts.dtype == np.int64
    assert counts.tolist() == naive_candidates(records, own, points, sizes, spans, weights)


def test_rounding_makes_no_difference() -> None:
    """Two points at the same distance on either side of every record, in 97ths of the range."""
    middle = np.arange(1, 96)
    for reach in (1, 2):
        pairs = np.array([middle - reach, middle + reach]).ravel()
        for i, m in enumerate(middle):
            numeric, points = np.array([[m / 97]]), pairs[[i, i + middle.size]] / 97
            none = np.empty((0, 1), np.int32), np.empty((0, 2), np.int32)
            counts = count_candidates(
                numeric,
                none[0],
                np.empty(0),
                np.array([0]),
                points[None, :],
                none[1],
                np.array([2, 3]),
            )
            assert counts.tolist() == [5]


def test_points_beyond_one_chunk_are_seen() -> None:
    """More points than are looked at at once; the nearer one, or the tied one, comes last."""
    n = 3 * record_linkage._POINTS_AT_ONCE + 7
    places = np.linspace(2.0, 3.0, n)
    places[0], places[-1] = 0.5, -0.5
    numeric, none = np.zeros((1, 1)), np.empty((0, 1), np.int32)
    nothing, sizes = np.empty((0, n), np.int32), np.full(n, 4)
    args = none, np.empty(0), np.array([0])
    assert count_candidates(numeric, *args, places[None, :], nothing, sizes).tolist() == [8]
    places[-1] = 0.25
    assert count_candidates(numeric, *args, places[None, :], nothing, sizes).tolist() == [0]


@pytest.mark.parametrize(("own", "counts"), [(0, [3]), (1, [0])])
def test_a_nominal_difference_is_a_whole_range(own: int, counts: list[int]) -> None:
    numeric, nominal = np.array([[0.0]]), np.array([[0]], np.int32)
    points, codes = np.array([[0.99, 0.0]]), np.array([[0, 1]], np.int32)
    found = count_candidates(
        numeric, nominal, np.ones(1), np.array([own]), points, codes, np.array([3, 5])
    )
    assert found.tolist() == counts


@pytest.mark.parametrize(("weight", "counts"), [(0.25, [3]), (0.81, [8]), (1.0, [0])])
def test_a_nominal_difference_counts_its_weight(weight: float, counts: list[int]) -> None:
    """The record's own point differs in the category, the other by 0.9 ranges."""
    numeric, nominal = np.array([[0.0]]), np.array([[0]], np.int32)
    points, codes = np.array([[0.0, 0.9]]), np.array([[1, 0]], np.int32)
    found = count_candidates(
        numeric, nominal, np.array([weight]), np.array([0]), points, codes, np.array([3, 5])
    )
    assert found.tolist() == counts
