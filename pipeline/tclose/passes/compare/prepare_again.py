"""Values of the input prepared a second time, value by value, for the comparison with the release.

But for the labels of bands it shares no code with `tclose.data.preparation`: a fault there gives
other values than these, and nothing is published. A wrong label is not found.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import inf, isfinite
from typing import Any

import pyarrow as pa

from tclose.data.keys import widen_decimals
from tclose.model.attributes import Column
from tclose.model.preparation import Preparation


def prepare_again(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return the table with its prepared columns as a release has them.

    Parameters
    ----------
    columns : of the release; those that are not in the table are passed over
    """
    for column in columns:
        preparation, index = column.attribute.preparation, table.schema.get_field_index(column.name)
        if preparation is None or preparation.has_no_gaps or index < 0:
            continue  # what is filled is released as the value of a class
        listed = widen_decimals(table[column.name].combine_chunks()).dictionary_encode()
        prepare = _choose(preparation, listed.type.value_type)
        values = [prepare(value) for value in listed.dictionary.to_pylist()]
        released = table.schema.field(index).type if not preparation.bands else pa.string()
        table = table.set_column(
            index, column.name, _as_type(values, released).take(listed.indices)
        )
    return table


def _as_type(values: list[Any], dtype: pa.DataType) -> pa.Array:
    if pa.types.is_float32(dtype):
        return pa.array(values, pa.float64()).cast(dtype, safe=False)
    return pa.array(values, dtype)


def _choose(preparation: Preparation, dtype: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_floating(dtype):
        return _banding_floats(preparation) if preparation.bands else _rounding_floats(preparation)
    digits = dtype.scale if pa.types.is_decimal(dtype) else 0
    unit = 10**digits
    whole = _banding(preparation, unit) if preparation.bands else _rounding(preparation, unit)
    if not pa.types.is_decimal(dtype):
        return whole
    if preparation.bands:
        return lambda value: whole(int(value.scaleb(digits)))
    return lambda value: Decimal(whole(int(value.scaleb(digits)))).scaleb(-digits)


def _banding(preparation: Preparation, unit: int) -> Callable[[int], Any]:
    """Return the function that gives the band of a whole number of units.

    A band begins with the first of them that is not below its end.
    """
    ends = [-(-(end * unit).numerator // (end * unit).denominator) for end in preparation.bands]
    labels = preparation.labels
    return lambda value: labels[bisect_right(ends, value)]


def _banding_floats(preparation: Preparation) -> Callable[[float], Any]:
    ends, labels = [float(end) for end in preparation.bands], preparation.labels
    return lambda value: labels[bisect_right(ends, value)]


def _rounding(preparation: Preparation, unit: int) -> Callable[[int], Any]:
    """Return the function that rounds a whole number of units."""
    bottom, top, step = (
        None if number is None else int(number * unit)
        for number in (preparation.bottom, preparation.top, preparation.step)
    )

    def change(value: int) -> int:
        value = value if bottom is None else max(value, bottom)
        value = value if top is None else min(value, top)
        if step is None:
            return value
        below = value // step * step
        above = below + step
        if value - below == above - value:
            return below if below // step % 2 == 0 else above
        return below if value - below < above - value else above

    return change


def _rounding_floats(preparation: Preparation) -> Callable[[float], float]:
    bottom = -inf if preparation.bottom is None else float(preparation.bottom)
    top = inf if preparation.top is None else float(preparation.top)
    step = preparation.step
    divisor = 0.0 if step is None else float(step)
    numerator, denominator = (1, 1) if step is None else step.as_integer_ratio()

    def change(value: float) -> float:
        if value < bottom:
            value = bottom
        if value > top:
            value = top
        if not divisor or not isfinite(value):
            return value + 0.0
        return round(value / divisor) * numerator / denominator

    return change
