"""Whole numbers between limits: found exactly where trying everything finds them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable, seeds
from tclose.methods.bucketization.max_flow import fill_between


def exists(rows: list, columns: list, least: list, most: list) -> bool:
    """Whether any table has these margins and limits: row by row, everything is tried."""
    achieved = {(0,) * len(columns)}
    for total, low, high in zip(rows, least, most, strict=True):
        choices = [
            values
            for values in product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
            if sum(values) == total
        ]
        achieved = {
            tuple(u + v for u, v in zip(used, values, strict=True))
            for used in achieved
            for values in choices
        }
    return tuple(columns) in achieved


@repeatable
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_finds_a_table_where_there_is_one(
    seed: int, n_rows: int, n_columns: int, from_a_table: bool
) -> None:
    rng = np.random.default_rng(seed)
    least = rng.integers(0, 2, (n_rows, n_columns))
    most = least + rng.integers(0, 3, least.shape)
    rows, columns = most.sum(axis=1), most.sum(axis=0)
    if from_a_table:
        table = rng.integers(least, most + 1)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
    elif columns[0]:
        rows, columns = rng.permutation(rows), columns.copy()
        rows[0] -= 1
        columns[0] -= 1
    task = rows.tolist(), columns.tolist(), least.tolist(), most.tolist()
    found = fill_between(*task, rng.integers(0, n_columns, n_rows).tolist())
    assert (found is not None) == exists(*task)
    assert found is not None or not from_a_table
    if found is not None:
        assert np.array_equal(np.sum(found, axis=1), rows)
        assert np.array_equal(np.sum(found, axis=0), columns)
        assert np.all((np.array(found) >= least) & (np.array(found) <= most))


def test_takes_back_what_stands_in_the_way() -> None:
    """Row 0 prefers the only column that row 1 may use."""
    assert fill_between([1, 1], [1, 1], [[0, 0], [0, 0]], [[1, 1], [1, 0]], [0, 0]) == [
        [0, 1],
        [1, 0],
    ]


def test_prefers_what_it_is_told() -> None:
    least, most = [[1, 1], [1, 1]], [[3, 3], [3, 3]]
    assert fill_between([4, 4], [4, 4], least, most, [0, 1]) == [[3, 1], [1, 3]]
    assert fill_between([4, 4], [4, 4], least, most, [1, 0]) == [[1, 3], [3, 1]]


@pytest.mark.parametrize(("rows", "columns"), [([3], [2]), ([0], [0])])
def test_margins_that_contradict_are_refused(rows: list, columns: list) -> None:
    assert fill_between(rows, columns, [[1]], [[5]], [0]) is None
