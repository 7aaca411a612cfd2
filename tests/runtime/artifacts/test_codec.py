"""Values as JSON and back: the same value, of the declared type, and nothing that could run."""

import json
import pickle
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.model.array_types import Int64
from tclose.runtime.artifacts.codec import decode, encode


class Colour(StrEnum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: Fraction


@dataclass(frozen=True, eq=False)
class Inner:
    counts: Int64
    key: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Outer:
    inner: Inner | None
    by_name: dict[tuple[Any, ...], int]
    others: list["Outer"] = field(default_factory=list)
    forgotten: Any = field(default=None, metadata={"kept": False})


def there_and_back(value: Any, declared: Any) -> Any:
    return decode(encode(value, declared), declared)


SIMPLE = [
    (None, type(None)),
    (True, bool),
    (2**80, int),
    (0.1, float),
    ("a\0b\ud800", str),
    (b"\x00\xff", bytes),
    (Fraction(1, 3), Fraction),
    (Decimal("1.500"), Decimal),
    (date(2020, 2, 29), date),
    (datetime(2020, 1, 1, 2, 3, 4, 5, tzinfo=UTC), datetime),
    (time(1, 2, 3, 4), time),
    (timedelta(days=-3, microseconds=7), timedelta),
    (Path("a/b"), Path),
    (Colour.RED, Colour),
    ((1, "a"), tuple[int, str]),
    ((1, 2, 3), tuple[int, ...]),
    ([(), ("a",)], list[tuple[str, ...]]),
    ({("a", 1): 2}, dict[tuple[Any, ...], int]),
    (Counter({"a": 2, ("b", None): 0}), Counter[Any]),
    (frozenset({1, 2}), frozenset[int]),
    (Pair(1, Fraction(2, 7)), Pair),
    (None, Fraction | None),
    (Fraction(1, 2), Fraction | float),
    (0.5, Fraction | float),
    (pa.decimal128(7, 2), pa.DataType),
    (pa.schema([pa.field("a", pa.dictionary(pa.int8(), pa.string()))]), pa.Schema),
]


@pytest.mark.parametrize(("value", "declared"), SIMPLE, ids=lambda x: str(x)[:30])
def test_value_comes_back(value, declared):
    found = there_and_back(value, declared)
    assert found == value
    assert type(found) is type(value)


OPEN = [
    *(value for value, _ in SIMPLE if not isinstance(value, frozenset | Pair)),
    pd.Timestamp("2020-01-01T00:00:00.000000001Z"),
    pd.Timedelta(1, "ns"),
    [1, (2, [3, {"a": b"b"}])],
]


@pytest.mark.parametrize("value", OPEN, ids=lambda x: str(x)[:30])
def test_value_of_an_open_type_comes_back(value):
    assert there_and_back(value, Any) == value


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), -0.0])
def test_floats_keep_their_bits(value):
    assert np.float64(there_and_back(value, float)).tobytes() == np.float64(value).tobytes()
    assert np.isnan(there_and_back(float("nan"), float))


@repeatable
@given(
    st.sampled_from(["<i8", "<f8", "|b1", "<i4", "|u1"]),
    st.lists(st.integers(0, 4), max_size=3),
    st.integers(0, 2**32),
)
def test_arrays_keep_bits_shape_and_type(dtype, shape, seed):
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(seed).bytes(size)
    array = np.frombuffer(bytes(b & 1 for b in raw) if dtype == "|b1" else raw, dtype)
    array = array.reshape(shape)
    found = there_and_back(array, np.ndarray)
    assert (found.dtype, found.shape, found.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )
    assert not found.flags.writeable


def test_arrays_of_records_and_of_texts():
    records = np.array([(1, 2.5)], dtype=[("value", "<i8"), ("share", "<f8")])
    assert there_and_back(records, np.ndarray).dtype == records.dtype
    texts = np.array(["a", "b\0"], dtype=object)
    assert there_and_back(texts, np.ndarray).tolist() == ["a", "b\0"]
    assert there_and_back(pa.array(["a", None]), pa.Array).equals(pa.array(["a", None]))


def test_classes_hold_others_and_leave_out_what_is_not_kept():
    value = Outer(Inner(np.arange(3), (date(2020, 1, 1),)), {(): 1}, [Outer(None, {})], "x")
    found = there_and_back(value, Outer)
    assert found.inner.counts.tolist() == [0, 1, 2]
    assert found.inner.key == (date(2020, 1, 1),)
    assert found.others[0].inner is None
    assert found.forgotten is None


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (1.5, int),
        ("a", float),
        (object(), Any),
        (Inner(np.arange(1)), Outer),
        ((1,), tuple[int, int]),
    ],
)  # fmt: skip
def test_value_of_another_type_is_not_written(value, declared):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        encode(value, declared)


@pytest.mark.parametrize(
    "text",
    ["[", "1", '"x"', "{}", '{"inner": 5, "by_name": [], "others": []}', "[[[[", "null",
     '{"inner": null, "by_name": [[1, 2, 3]], "others": []}',
     '{"inner": null, "by_name": [], "others": [], "more": 1}'],
)  # fmt: skip
def test_what_is_no_such_value_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        decode(text.encode(), Outer)


def test_nothing_that_is_read_can_run(tmp_path):
    mark = tmp_path / "ran"

    class Planted:
        def __reduce__(self) -> Any:
            return Path.touch, (mark,)

    with pytest.raises(ValueError, match=r"."):
        decode(pickle.dumps(Planted()), Any)
    for name in ("os.system", "object", "eval", "path", "dtype"):
        with pytest.raises(ValueError, match="declared type"):
            decode(json.dumps({name: {"x": "touch"}}).encode(), Any)
    assert not mark.exists()
