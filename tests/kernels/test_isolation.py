"""The distance to a near record: the search in a tree against all distances, sorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.kernels.isolation import bound_nodes, measure_isolation, order_points


def naive_squares(
    numeric: np.ndarray, nominal: np.ndarray, weights: np.ndarray, n_near: int
) -> list[float]:
    """The definition: all squared distances to others, sorted."""
    found, n_points = [], numeric.shape[1]
    for i in range(n_points):
        squares = []
        for p in range(n_points):
            if p != i:
                total = 0.0
                for j in range(numeric.shape[0]):
                    total += (numeric[j, i] - numeric[j, p]) ** 2
                for j in range(nominal.shape[0]):
                    total += weights[j] if nominal[j, i] != nominal[j, p] else 0.0
                squares.append(total)
        found.append(sorted(squares)[n_near - 1] if n_near <= len(squares) else np.inf)
    return found


def measure(
    numeric: np.ndarray, nominal: np.ndarray, weights: np.ndarray, n_near: int, enough: float = -1.0
) -> np.ndarray:
    n_levels = int(nominal.max(initial=0)) + 1
    order, starts, stops = order_points(
        numeric, nominal, weights, np.ones(len(weights), np.int64), n_levels
    )
    values = np.ascontiguousarray(numeric.T[order])
    levels = np.ascontiguousarray(nominal.T[order])
    boxes = bound_nodes(values, levels, starts, stops)
    return measure_isolation(
        values, levels, order, starts, stops, *boxes, weights,
        np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T),
        np.arange(order.size), n_near, enough,
    )  # fmt: skip


def draw(
    seed: int, n_points: int, n_numeric: int, n_nominal: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points with many ties, and some far from all others."""
    rng = np.random.default_rng(seed)
    numeric = rng.integers(0, 7, (n_numeric, n_points)) / 3 + (rng.random(n_points) < 0.02) * 9
    nominal = rng.integers(0, 3, (n_nominal, n_points)).astype(np.int32)
    return numeric, nominal, rng.integers(1, 4, n_nominal) / 2


@pytest.mark.nightly
@given(
    seed=st.integers(0, 2**32 - 1),
    n_points=st.integers(1, 150),
    columns=st.sampled_from([(1, 0), (0, 1), (3, 0), (2, 2), (0, 3)]),
    n_near=st.integers(1, 20),
)
def test_it_is_the_distance_to_that_neighbour(
    seed: int, n_points: int, columns: tuple[int, int], n_near: int
) -> None:
    points = draw(seed, n_points, *columns)
    assert measure(*points, n_near).tolist() == naive_squares(*points, n_near)


@pytest.mark.parametrize("enough", [0.0, 0.5, 4.0])
def test_a_search_that_ends_early_is_exact_above_what_is_enough(enough: float) -> None:
    points = draw(5, 400, 2, 1)
    whole, early = measure(*points, 4), measure(*points, 4, enough)
    assert (early[whole > enough] == whole[whole > enough]).all()
    assert (early[whole <= enough] <= enough).all()
