"""Sorting, searching and copying give what numpy gives, element by element."""

from typing import Any

import numpy as np
import pytest

from tclose.kernels.sequences import (
    RUN,
    copy_into,
    first_above,
    first_not_below,
    largest,
    smallest,
    stable_order,
)


@pytest.mark.parametrize("n_values", [0, 1, RUN, RUN + 1, 3 * RUN + 7, 500])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_order_is_that_of_a_stable_sort(n_values: int, kind: type) -> None:
    values: Any = np.random.default_rng(n_values).integers(0, 40, n_values).astype(kind)
    assert np.array_equal(stable_order(values), np.argsort(values, kind="stable"))


def test_infinities_and_what_is_no_number_are_last() -> None:
    values = np.array([np.nan, 1.0, np.inf, np.nan, -np.inf, -0.0, 0.0] * RUN)
    assert np.array_equal(stable_order(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_positions_are_those_of_a_binary_search(kind: type) -> None:
    ascending = np.array([1, 3, 3, 3, 8, 9], dtype=np.int64)
    for value in np.arange(-1, 22).astype(kind) / kind(2) if kind is np.float64 else range(12):
        assert first_not_below(ascending, kind(value)) == np.searchsorted(ascending, value)
        assert first_above(ascending, kind(value)) == np.searchsorted(ascending, value, "right")


def test_a_column_is_copied_into_a_part_of_an_array() -> None:
    table, target = np.arange(12.0).reshape(4, 3), np.zeros(6)
    copy_into(target[1:5], table[:, 1])
    assert target.tolist() == [0.0, 1.0, 4.0, 7.0, 10.0, 0.0]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_largest_is_no_less_than_the_least_asked_for(kind: type) -> None:
    values: Any = np.array([3, -2, 7, 7], dtype=kind)
    assert [largest(values, 1), largest(values, 9), largest(values[:0], 1)] == [7, 9, 1]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_smallest_is_no_more_than_the_most_asked_for(kind: type) -> None:
    values: Any = np.array([3, -2, 7, -2], dtype=kind)
    assert [smallest(values, 1), smallest(values, -9), smallest(values[:0], 1)] == [-2, -9, 1]
