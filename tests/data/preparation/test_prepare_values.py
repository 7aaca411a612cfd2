"""Preparation of values: what comes out, and that the comparison's own code gives the same bits."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.data.preparation.prepare_values import prepare_table, prepare_values
from tclose.data.preparation.prepared_columns import resolve_prepared
from tclose.errors import DataError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.preparation import MISSING, Preparation
from tclose.passes.compare.prepare_again import prepare_again
from tclose.runtime.artifacts.arrays import as_bits

TYPES = [pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]


def prepared(values, dtype, **keys):
    numbers: dict[str, Any] = {
        key: tuple(Fraction(str(v)) for v in given) if key == "bands" else Fraction(str(given))
        for key, given in keys.items()
    }
    return prepare_values(pa.array(values, dtype), "pay", Preparation(**numbers)).to_pylist()


class TestPrepareValues:
    def test_multiples_are_the_nearest_and_of_two_the_even_one(self):
        values = [-15, -5, 0, 4, 5, 6, 15, 25, None]
        assert prepared(values, pa.int64(), step=10) == [-20, 0, 0, 0, 0, 10, 20, 20, None]

    def test_multiples_of_a_tenth_are_the_floats_nearest_to_them(self):
        found = prepared([0.31, 0.25, -0.04, None], pa.float64(), step="0.1")
        assert found == [0.3, 0.2, 0.0, None]
        assert str(found[2]) == "0.0"

    def test_bounds(self):
        assert prepared([-3, 4, 99], pa.int8(), bottom=0, top=50) == [0, 4, 50]
        assert prepared([49, 51], pa.int8(), top=50, step=25) == [50, 50]
        money = pa.decimal128(9, 2)
        found = prepared([Decimal("1.24"), Decimal("9.99")], money, step="0.5", top="8")
        assert found == [Decimal("1.00"), Decimal("8.00")]

    def test_bands_begin_with_their_lower_ends(self):
        found = prepared([-1, 0, 9, 10, 11, None], pa.int64(), bands=[0, "10.5"])
        inner = "0 to below 10.5"
        assert found == ["below 0", inner, inner, inner, "10.5 or more", None]

    def test_no_record_is_without_a_category(self):
        texts = pa.array(["a", None, "b"])
        filled = prepare_values(texts, "x", Preparation(fills=True))
        assert filled.to_pylist() == ["a", MISSING, "b"]

    @pytest.mark.parametrize(
        ("values", "dtype", "preparation", "reason"),
        [
            ([126], pa.int8(), Preparation(step=Fraction(10)), "does not fit its type int8"),
            ([2**63 - 2], pa.int64(), Preparation(step=Fraction(10)), "are too large"),
            ([1e300], pa.float64(), Preparation(step=Fraction(10)), "are too large"),
            ([float("nan")], pa.float64(), Preparation(bands=(Fraction(0),)), "NaN or infinite"),
            ([2**64 - 1], pa.uint64(), Preparation(top=Fraction(10)), "beyond the signed 64-bit"),
            (["a", MISSING], pa.string(), Preparation(fills=True), "stands for records without"),
        ],
    )
    def test_refused(self, values, dtype, preparation, reason):
        with pytest.raises(DataError, match=reason) as error:
            prepare_values(pa.array(values, dtype), "pay", preparation)
        assert str(error.value).startswith("column 'pay': ")

    @given(st.data())
    def test_both_codes_give_the_same_bits(self, data):
        dtype = data.draw(st.sampled_from(TYPES))
        column, preparation = draw_preparation(data, dtype)
        seed = data.draw(st.integers(0, 2**32 - 1))
        table = pa.table({"pay": draw_values(np.random.default_rng(seed), dtype)})
        once = prepare_table(table, [("pay", preparation)])
        again = prepare_again(table, [column])
        assert once.schema == again.schema
        assert as_bits(once).combine_chunks().equals(as_bits(again).combine_chunks())
        if preparation.bands == ():
            assert prepare_table(once, [("pay", preparation)]).equals(once)


def draw_preparation(data, dtype):
    """A preparation that the type can have, and its column."""
    unit = data.draw(st.sampled_from([1, 2, 10] if not pa.types.is_integer(dtype) else [1]))
    step = Fraction(data.draw(st.integers(1, 9)), unit)
    if data.draw(st.booleans()):
        ends = data.draw(st.lists(st.integers(0, 90), min_size=1, max_size=5, unique=True))
        preparation = Preparation(bands=tuple(Fraction(end, unit) for end in sorted(ends)))
    else:
        low = data.draw(st.none() | st.integers(0, 5))
        high = data.draw(st.none() | st.integers(6, 10))
        bottom, top = (None if end is None else end * step for end in (low, high))
        preparation = Preparation(bottom, top, data.draw(st.sampled_from([None, step])))
    attribute = Attribute("pay", Role.CONFIDENTIAL, Kind.NUMERIC, preparation=preparation)
    return resolve_prepared(attribute, dtype), preparation


def draw_values(rng, dtype):
    """Numbers up to 100, halves and tenths among them, and gaps."""
    tenths = rng.integers(0, 1_000, 200)
    if pa.types.is_integer(dtype):
        values = pa.array(tenths // 10, dtype)
    elif pa.types.is_decimal(dtype):
        values = pa.array([Decimal(int(t)).scaleb(-1) for t in tenths], dtype)
    else:
        values = pa.array(tenths / 10 + rng.choice([0, 1e-9, 0.05], 200)).cast(dtype, safe=False)
    return pa.array(values.to_pylist(), dtype, mask=rng.random(200) < 0.1)


class TestResolvePrepared:
    @pytest.mark.parametrize(
        ("dtype", "preparation", "reason"),
        [
            (pa.string(), Preparation(top=Fraction(1)), "go with numbers, the data hold type str"),
            (pa.int64(), Preparation(fills=True), "missing: category goes with texts"),
            (pa.int64(), Preparation(step=Fraction(1, 2)), "round is no value of its type int64"),
            (pa.decimal128(5, 1), Preparation(top=Fraction(1, 100)), "top is no value of its type"),
            (pa.decimal128(30, 1), Preparation(top=Fraction(1)), "more than 18 digits"),
        ],
    )
    def test_refused(self, dtype, preparation, reason):
        with pytest.raises(DataError, match=reason):
            resolve_prepared(Attribute("pay", Role.CONFIDENTIAL, preparation=preparation), dtype)

    def test_bands_are_an_ordinal_column_of_texts(self):
        bands = Preparation(bands=(Fraction(0), Fraction(10)))
        attribute = Attribute("pay", Role.CONFIDENTIAL, Kind.NUMERIC, preparation=bands)
        column = resolve_prepared(attribute, pa.int32())
        assert isinstance(column, Column)
        assert (column.kind, column.type) == (Kind.ORDINAL, pa.string())
        assert column.attribute.order == ("below 0", "0 to below 10", "10 or more")
