"""Keys are exact both ways for every type, and know what is too wide to compute with."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.tables.arrow_types import (
    DECIMALS,
    DICTIONARIES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    TEXTS,
    TIMES,
    numbers_of,
)
from tclose.data.keys import (
    Encoding,
    check_span,
    from_keys,
    has_float_keys,
    is_temporal,
    is_text,
    natural_kind,
    plain_type,
    to_keys,
    to_values,
)
from tclose.errors import DataError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role


class TestKinds:
    @pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *DECIMALS], ids=str)
    def test_numbers(self, dtype):
        assert natural_kind(dtype) is Kind.NUMERIC

    @pytest.mark.parametrize("dtype", TIMES, ids=str)
    def test_times(self, dtype):
        assert natural_kind(dtype) is Kind.DATE
        assert is_temporal(dtype)

    @pytest.mark.parametrize(
        "dtype", [*TEXTS, DICTIONARIES[0], DICTIONARIES[1], pa.null()], ids=str
    )
    def test_texts(self, dtype):
        assert natural_kind(dtype) is Kind.NOMINAL
        assert is_text(dtype) != pa.types.is_null(dtype)

    @pytest.mark.parametrize(
        "dtype",
        [
            *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.binary(), pa.large_binary()),
            *(pa.map_(pa.string(), pa.int64()), pa.month_day_nano_interval(), pa.uuid()),
            *(pa.dictionary(pa.int8(), pa.binary()), pa.float16()),
        ],
        ids=str,
    )
    def test_others(self, dtype):
        assert natural_kind(dtype) is None

    def test_plain_types(self):
        assert plain_type(DICTIONARIES[2]) == pa.int64()
        assert plain_type(pa.string_view()) == pa.string()
        assert plain_type(pa.dictionary(pa.int8(), pa.string_view())) == pa.string()
        assert natural_kind(pa.bool_()) is Kind.BOOLEAN


class TestKeys:
    @pytest.mark.parametrize("dtype", NUMBERS, ids=str)
    def test_there_and_back(self, dtype):
        array = numbers_of(dtype, np.arange(100))
        for part in (array, array.slice(7, 50), array.slice(0, 0)):
            keys = to_keys(part, "x")
            assert keys.dtype == (np.float64 if has_float_keys(dtype) else np.int64)
            assert from_keys(keys, dtype).equals(part)
        assert (np.diff(to_keys(array, "x")) > 0).all()

    @pytest.mark.parametrize(
        ("dtype", "values"),
        [
            (pa.int64(), [-(2**63), -1, 2**53 + 1, 2**63 - 1]),
            (pa.uint64(), [0, 2**53 + 1, 2**63 - 1]),
            (pa.float64(), [-1e308, -5e-324, 0.0, 0.1, 1e308]),
            (
                pa.decimal128(18, 2),
                [Decimal("-9999999999999999.99"), Decimal("9999999999999999.99")],
            ),
            (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
            (pa.bool_(), [False, True]),
        ],
        ids=str,
    )
    def test_extremes(self, dtype, values):
        array = pa.array(values, dtype)
        keys = to_keys(array, "x")
        assert (np.diff(keys) > 0).all() or dtype == pa.int64()
        assert from_keys(keys, dtype).equals(array)

    def test_negative_zero_is_zero(self):
        keys = to_keys(pa.array([-0.0, 0.0]), "x")
        assert not np.signbit(keys).any()

    def test_both_hours_of_a_clock_that_is_put_back_are_values_of_their_own(self):
        zone = pa.timestamp("s", tz="Europe/Berlin")
        moments = pa.array([1603589400, 1603585800, None]).cast(zone)  # half past two, twice
        later, earlier, missing = to_values(moments)
        assert missing is None
        assert sorted([later, earlier]) == [earlier, later] != [later, earlier]
        assert [str(one) for one in (later, earlier)] == [str(m) for m in moments.to_pylist()[:2]]
        assert pa.array([later, earlier, None], zone).equals(moments)
        assert to_values(moments.dictionary_encode()) == [later, earlier, None]
        assert {earlier: 1}.get(to_values(moments[1:2])[0]) == 1

    def test_unsigned_beyond_int64(self):
        with pytest.raises(DataError, match="'x': holds integers beyond the signed 64-bit range"):
            to_keys(pa.array([2**63], pa.uint64()), "x")


def encoding_of(dtype: pa.DataType, low: Any, high: Any) -> Encoding:
    return Encoding(Column(Attribute("x", Role.QUASI_IDENTIFIER), Kind.NUMERIC, dtype), low, high)


class TestSpan:
    @pytest.mark.parametrize(
        ("dtype", "low", "high"),
        [
            (pa.int64(), -(2**62), 2**62),
            (pa.int64(), 0, 2**62),
            (pa.float64(), -1e308, 1e308),
            (pa.float64(), 0.0, 1.1e300),
        ],
    )
    def test_too_wide(self, dtype, low, high):
        with pytest.raises(DataError, match="'x': the range of its values is too wide to"):
            check_span(encoding_of(dtype, low, high))

    @pytest.mark.parametrize(
        ("dtype", "low", "high"),
        [(pa.int64(), 2**62, 2**63 - 1), (pa.float64(), 1.7e308, 1.7e308), (pa.int64(), 3, 3)],
    )
    def test_wide_enough(self, dtype, low, high):
        check_span(encoding_of(dtype, low, high))

    def test_scale(self):
        keys = np.array([10, 15, 20])
        assert encoding_of(pa.int64(), 10, 20).scale(keys).tolist() == [0, 0.5, 1]
        assert encoding_of(pa.int64(), 10, 10).scale(keys).tolist() == [0, 0, 0]
