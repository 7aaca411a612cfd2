"""Rows of several key columns: the order of `numpy.lexsort`, and the distinct ones."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.tables.random_tables import repeatable
from tclose.data.key_rows import find_changes, find_distinct, sort_rows, sort_words
from tclose.data.keys import Keys

SMALL = st.integers(-2, 2)
WIDE = st.integers(-(2**58), 2**58)  # spans that a number holds, but not with a row's place
ANY = st.integers(-(2**63), 2**63 - 1)


def columns_of(rows: Sequence[tuple[int, ...]]) -> list[Keys]:
    """Two columns of the rows' numbers."""
    table: NDArray[np.int64] = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return [table[:, 0], table[:, 1]]


@repeatable
@given(st.lists(st.tuples(SMALL, st.one_of(SMALL, WIDE, ANY)), max_size=20))
def test_rows_are_sorted_as_by_one_column_after_the_other(rows: list[tuple[int, ...]]) -> None:
    columns = columns_of(rows)
    assert sort_rows(columns).tolist() == np.lexsort(columns[::-1]).tolist()


@pytest.mark.parametrize("last", [2**62, 2**63 - 1])
def test_spans_that_no_number_holds_are_sorted_too(last: int) -> None:
    rows = [(1, last), (0, last), (1, -last), (0, 0), (1, 0)]
    assert [rows[i] for i in sort_rows(columns_of(rows))] == sorted(rows)


WORD = st.one_of(st.integers(0, 2), st.integers(0, 2**64 - 1))


@repeatable
@given(st.lists(st.tuples(WORD, WORD), max_size=20))
def test_keys_of_two_words_are_sorted_as_by_one_after_the_other(
    keys: list[tuple[int, int]],
) -> None:
    high, low = np.array(keys, dtype=np.uint64).reshape(-1, 2).T
    assert sort_words(high, low).tolist() == np.lexsort((low, high)).tolist()


def test_fractions_are_sorted_too() -> None:
    columns: list[Keys] = [np.array([0.5, -0.5, 0.5]), np.array([2, 0, 1])]
    assert sort_rows(columns).tolist() == [1, 2, 0]


@repeatable
@given(st.lists(st.tuples(SMALL, SMALL), max_size=20))
def test_distinct_rows_ascend_and_every_row_has_its_number(rows: list[tuple[int, ...]]) -> None:
    keys, numbers = find_distinct(columns_of(rows))
    distinct = list(zip(*(column.tolist() for column in keys), strict=True))
    assert distinct == sorted(set(rows))
    assert [distinct[number] for number in numbers] == rows


@repeatable
@given(st.lists(st.tuples(SMALL, SMALL), max_size=20))
def test_the_first_row_of_each_key_is_marked(rows: list[tuple[int, ...]]) -> None:
    rows = sorted(rows)
    assert find_changes(columns_of(rows)).tolist() == [
        i == rows.index(r) for i, r in enumerate(rows)
    ]
