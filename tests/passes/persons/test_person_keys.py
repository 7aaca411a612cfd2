"""Keyed hashes of persons: equal for equal values, and counts of records that merge."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.input_pieces import Partition
from tclose.passes.persons.person_keys import (
    hash_partition,
    hash_persons,
    hide_persons,
    list_persons,
    merge_key_counts,
)

pytestmark = pytest.mark.every_case  # each takes milliseconds

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def column_of(values: pa.Array) -> tuple[pa.Table, Column]:
    column = Column(Attribute("who", Role.PERSON), Kind.NOMINAL, values.type)
    return pa.table({"who": values, "age": range(len(values))}), column


def hashed(values: pa.Array, key: bytes = KEY) -> list[tuple[int, int]]:
    """The hash of each record's person."""
    hashes, places = hash_persons(*column_of(values), key)
    return [tuple(row) for row in hashes[places].tolist()]


def test_equal_values_are_one_person() -> None:
    ann, bob, ann_again = hashed(pa.array(["ann", "bob", "ann"]))
    assert ann == ann_again
    assert ann != bob


def test_values_are_persons_as_they_are_spelled() -> None:
    assert len(set(hashed(pa.array(["7", "07", " 7", "7.0"])))) == 4


def test_the_way_in_which_they_are_stored_changes_nothing() -> None:
    plain = pa.array(["ann", "bob", "ann"])
    assert hashed(plain.dictionary_encode()) == hashed(plain)
    assert hashed(plain.cast(pa.large_string())) == hashed(plain)


@pytest.mark.parametrize("dtype", [pa.int8(), pa.int16(), pa.int32()])
def test_integers_are_the_same_persons_in_any_width(dtype: pa.DataType) -> None:
    plain = pa.array([-5, 0, 7, -5, 120], pa.int64())
    assert hashed(plain.cast(dtype)) == hashed(plain)
    hidden = [hide_persons(*column_of(ids), KEY)["who"] for ids in (plain.cast(dtype), plain)]
    assert hidden[0] == hidden[1]


def test_another_key_gives_other_hashes() -> None:
    names = pa.array(["ann", "bob"])
    assert not set(hashed(names)) & set(hashed(names, OTHER_KEY))


def test_no_records_have_no_persons() -> None:
    hashes, places = hash_persons(*column_of(pa.array([], pa.string())), KEY)
    assert hashes.shape == (0, 2)
    assert places.size == 0
    persons, of_records = list_persons(hashes, places)
    assert (persons.shape, of_records.size) == ((3, 0), 0)


def test_hidden_persons_are_hexadecimal_digits_and_nulls_stay() -> None:
    table, column = column_of(pa.array(["ann", None, "bob", "ann"]))
    hidden = hide_persons(table, column, KEY)
    names = hidden["who"].to_pylist()
    assert names[1] is None
    assert names[0] == names[3] != names[2]
    assert all(len(bytes.fromhex(name)) == 16 for name in names if name)
    assert hidden.column_names == ["who", "age"]
    assert hidden["age"].equals(table["age"])


def partition(held: list[list[int]], first: int = 0) -> Partition:
    rows = np.array(held, dtype=np.int64).reshape(-1, 3)
    return Partition("p", "p", "csv", -1, -1, 0, 0, len(rows), first, "", held=rows)


def test_records_of_the_input_are_hashed() -> None:
    table, column = column_of(pa.array(["ann", "bob", "ann"]))
    hashes, places = hash_partition(partition([]), table, np.arange(3), column, KEY)
    assert [tuple(row) for row in hashes[places].tolist()] == hashed(table["who"].combine_chunks())


def test_hashes_of_held_records_come_with_them() -> None:
    table, column = column_of(pa.array(["?", "?"]))
    piece = partition([[1, -2, 3], [4, 5, 6], [7, 8, 9]], first=10)
    hashes, places = hash_partition(piece, table, np.array([10, 12]), column, KEY)
    assert hashes[places].tolist() == [[1, 2**64 - 2], [7, 8]]


def test_records_of_each_person_are_counted_in_the_order_of_hashes() -> None:
    hashes = np.array([[5, 1], [2, 9], [2, 3]], dtype=np.uint64)
    counted, of_records = list_persons(hashes, np.array([0, 1, 0, 2, 0, 1]))
    assert of_records.tolist() == [2, 1, 2, 0, 2, 1]
    assert counted.T.tolist() == [[2, 3, 1], [2, 9, 2], [5, 1, 3]]


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
@given(rows=st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=12))
def test_counts_of_a_key_are_added_up(dtype: Any, rows: list[tuple[int, int, int]]) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for high, low, count in rows:
        expected[high, low] += count
    merged = merge_key_counts(np.array(rows, dtype=dtype).reshape(-1, 3).T)
    assert merged.dtype == dtype
    assert [tuple(row) for row in merged.T.tolist()] == [
        (high, low, expected[high, low]) for high, low in sorted({row[:2] for row in rows})
    ]
