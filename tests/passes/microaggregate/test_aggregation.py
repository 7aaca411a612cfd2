"""Columns of classes: aggregates of each kind, and what they lose."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.tables.random_tables import starts_of
from support.tables.value_encodings import NOMINAL, ORDINAL, encode, encoding
from tclose.data.keys import Encoding
from tclose.model.attributes import ANCESTOR
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.analyses.record_counts import RecordCounter
from tclose.passes.microaggregate.losses import measure_aggregation
from tclose.passes.microaggregate.release_classes import aggregate_column


class TestAggregateColumn:
    @pytest.mark.parametrize(
        ("of_column", "keys", "released"),
        [
            (encoding(Kind.NUMERIC, pa.int64()), [1, 2], 2),
            (encoding(Kind.NUMERIC, pa.int64()), [2**53 + 1, 2**53 + 1, 2**53 + 4], 2**53 + 2),
            (encoding(Kind.NUMERIC, pa.int64(), rounded=False), [1, 2], 1.5),
            (encoding(Kind.NUMERIC, pa.int8(), rounded=False, aggregate="median"), [1, 2], 1.5),
            (encoding(Kind.NUMERIC, pa.int64(), aggregate="median"), [1, 2, 9, 9], 6),
            (encoding(Kind.NUMERIC, pa.int64(), aggregate="median"), [-2, -1], -1),
            (
                encoding(Kind.NUMERIC, pa.int64(), aggregate="median"),
                [2**62 + 1, 2**62 + 4, 0, 2**63 - 1],
                2**62 + 3,
            ),
            (encoding(Kind.NUMERIC, pa.int64(), aggregate="low-median"), [9, 1, 2, 9], 2),
            (encoding(Kind.NUMERIC, pa.int64(), aggregate="low-median"), [-2, -1], -2),
            (
                encoding(Kind.NUMERIC, pa.int8(), rounded=False, aggregate="low-median"),
                [1, 2],
                1.0,
            ),
            (encoding(Kind.NUMERIC, pa.float32(), aggregate="low-median"), [0.5, 0.25, 8.0], 0.5),
            (
                encoding(Kind.NUMERIC, pa.decimal128(9, 2), rounded=False, aggregate="low-median"),
                [101, 102],
                1.01,
            ),
            (encoding(Kind.DATE, pa.date32(), aggregate="low-median"), [19_000, 19_001], 19_000),
            (encoding(Kind.NUMERIC, pa.decimal128(9, 2)), [101, 102], 102),
            (encoding(Kind.NUMERIC, pa.decimal128(9, 2), rounded=False), [101, 102], 1.015),
            (encoding(Kind.NUMERIC, pa.float64()), [0.1, 0.1, 0.1], 0.1),
            (encoding(Kind.NUMERIC, pa.float64()), [1.0, 2.0], 1.5),
            (encoding(Kind.NUMERIC, pa.float64(), aggregate="median"), [1.0, 2.0, 8.0, 9.0], 5.0),
            (encoding(Kind.NUMERIC, pa.float32()), [1.0, 1.0, 2.0], float(np.float32(4 / 3))),
            (
                encoding(Kind.DATE, pa.date32()),
                [(date(2024, 2, 28) - date(1970, 1, 1)).days] * 2,
                (date(2024, 2, 28) - date(1970, 1, 1)).days,
            ),
            (encoding(Kind.DATE, pa.date32()), [19_000, 19_001], 19_001),
            (NOMINAL, [0, 1], 1),
            (NOMINAL, [0, 0, 1, 2], 0),
            (ORDINAL, [0, 1, 3, 4], 1),
        ],
    )
    def test_examples(self, of_column: Encoding, keys: list, released: Any) -> None:
        column = np.array(keys)
        found = aggregate_column(of_column, column, np.arange(column.size), starts_of([len(keys)]))
        assert found.tolist() == [released]
        assert found.dtype == (np.float64 if isinstance(released, float) else np.int64)

    @pytest.mark.parametrize("aggregate", ["mean", "median"])
    def test_zero_has_no_sign(self, aggregate: str) -> None:
        of_column = encoding(Kind.NUMERIC, pa.float32(), aggregate=aggregate)
        found = aggregate_column(
            of_column, np.array([-1e-60, -1e-60]), np.arange(2), np.array([0, 2])
        )
        assert not np.signbit(found[0])
        assert found[0] == 0


class SeenValues(RecordCounter):
    """Keeps what is to be counted."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []
        self.failure = ""

    def add(self, original: Any, find: Any) -> None:
        self.seen.append(find())

    def count(self, order: Any, numbers: Any) -> tuple[()]:
        return ()


class TestLosses:
    def test_of_each_kind(self) -> None:
        unrounded = encoding(Kind.NUMERIC, pa.decimal128(9, 2), rounded=False, high=200)
        constant = encoding(Kind.NUMERIC, pa.int64(), low=5, high=5)
        losses = measure_aggregation(
            (encoding(Kind.NUMERIC, pa.int64()), unrounded, constant, NOMINAL, ORDINAL),
            [
                np.array([0, 32]),
                np.array([100, 200]),
                np.array([5, 5]),
                np.array([0, 2]),
                np.array([0, 2]),
            ],
            [np.array([16]), np.array([1.5]), np.array([5]), np.array([2]), np.array([0])],
            (np.array([1, 0]), np.array([0, 2])),
        ).squares
        assert losses.tolist() == [2 * 0.25**2, 2 * 0.25**2, 0.0, 1.0, 0.25]

    def test_records_of_a_group_are_counted_as_its_values(self) -> None:
        rows = (("a", "vowel", "any"), ("e", "vowel", "any"), ("b", "other", "any"))
        of_column, keys = encode(
            pa.array(["a", "e", "e", "e", "b", "b"]), taxonomy=rows, aggregate=ANCESTOR
        )
        by_class = np.arange(6), starts_of([4, 2])
        released = aggregate_column(of_column, keys, *by_class)
        counter = SeenValues()
        measure_aggregation((of_column,), [keys], [released], by_class, counter=counter)
        [(values, unchanged)] = counter.seen
        named = of_column.decode(values).to_pylist()
        assert (sorted(named[:4]), named[4:]) == (["a", "a", "e", "e"], ["b", "b"])
        assert unchanged.tolist() == [False] * 4 + [True] * 2
