"""Values of the input prepared a second time, value by value, for the comparison with the release.

It shares no code with `tclose.data.preparation`: a fault there gives other values than these, and
nothing is published.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import pyarrow as pa

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
        if preparation is None or preparation.fills or index < 0:
            continue  # what is filled is released as the value of a class
        listed = table[column.name].combine_chunks().dictionary_encode()
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
    if preparation.bands:
        return _banding(preparation, pa.types.is_floating(dtype))
    if pa.types.is_floating(dtype):
        return _rounding_floats(preparation)
    if not pa.types.is_decimal(dtype):
        return _rounding(preparation, 1)
    digits = dtype.scale
    whole = _rounding(preparation, 10**digits)
    return lambda value: Decimal(whole(int(value.scaleb(digits)))).scaleb(-digits)


def _banding(preparation: Preparation, is_float: bool) -> Callable[[Any], Any]:
    ends = [float(end) if is_float else end for end in preparation.bands]
    labels = preparation.labels
    return lambda value: labels[bisect_right(ends, value if is_float else Fraction(value))]


def _rounding(preparation: Preparation, unit: int) -> Callable[[int], int]:
    """Of whole numbers of units."""
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
    bottom, top, step = preparation.bottom, preparation.top, preparation.step

    def change(value: float) -> float:
        if bottom is not None and value < bottom:
            value = float(bottom)
        if top is not None and value > top:
            value = float(top)
        if step is None or not isfinite(value):
            return value + 0.0
        return round(value / float(step)) * step.numerator / step.denominator

    return change
