"""Columns as plain, exact Python values that compare as the column's values do."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from nightly.independent.asked import Asked
from nightly.independent.notation import MalformedError


def read_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Dates and times as their count of units, -0.0 as 0.0, all else as Arrow gives it."""
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        return read_values(column.cast(dtype.value_type))
    if pa.types.is_date32(dtype) or pa.types.is_time32(dtype):
        return list(column.cast(pa.int32()).to_pylist())
    if pa.types.is_temporal(dtype):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_floating(dtype):
        return [None if v is None else v + 0.0 for v in column.to_pylist()]
    return list(column.to_pylist())


def rank_of(asked: Asked, name: str, value: Any) -> Any:
    """What orders the values of an attribute; of a text its place in the order."""
    return asked.order(name).index(str(value)) if asked.kind(name) == "ordinal" else value


def read_end(text: str, asked: Asked, name: str) -> Any:
    """An end of an interval as a value that compares with those of the input.

    Raises
    ------
    MalformedError
        It is none of the attribute's values.
    """
    dtype = asked.types[name]
    try:
        if asked.kind(name) == "ordinal":
            return asked.order(name).index(text)
        if pa.types.is_boolean(dtype):
            return {"false": False, "true": True}[text]
        if pa.types.is_floating(dtype):
            return float(np.float32(text)) if pa.types.is_float32(dtype) else float(text)
        if pa.types.is_temporal(dtype):
            return _read_moment(text, dtype)
        return Decimal(text) if pa.types.is_decimal(dtype) else int(text)
    except (ValueError, KeyError, ArithmeticError, pa.ArrowException):
        raise MalformedError(f"{text!r} is no value of {name!r}, {dtype}") from None


def _read_moment(text: str, dtype: pa.DataType) -> int:
    if pa.types.is_duration(dtype):
        return int(text)
    if pa.types.is_date32(dtype):
        return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
    if pa.types.is_date64(dtype):
        return 86_400_000 * (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
    if pa.types.is_time(dtype):
        return _read_clock(text) * UNITS[dtype.unit] // 10**9
    found = pa.array([text]).cast(dtype).cast(pa.int64())
    return int(found[0].as_py())


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _read_clock(text: str) -> int:
    """A time of day in nanoseconds."""
    hours, minutes, seconds = text.split(":")
    whole, _, part = seconds.partition(".")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10**9 + int(part.ljust(9, "0"))


def as_fraction(value: Any) -> Fraction:
    """A number without rounding."""
    return Fraction(value) if not isinstance(value, float) else Fraction(*value.as_integer_ratio())
