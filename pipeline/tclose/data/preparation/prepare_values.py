"""Preparation of a column's values, exactly: bounds, multiples, bands, a value for missing ones.

Nothing that is read later sees the values as they were.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import Keys, from_keys, has_float_keys, to_keys
from tclose.errors import DataError
from tclose.model.preparation import MISSING, Preparation

Preparations = Sequence[tuple[str, Preparation]]

_INT64 = (-(2**63), 2**63 - 1)
_EXACT = 2.0**53  # whole numbers that floats tell apart


def prepare_table(table: pa.Table, preparations: Preparations) -> pa.Table:
    """Return the table with those of its columns prepared that are to be.

    Raises
    ------
    DataError
        A value cannot be prepared; names the column, and no value.
    """
    for name, preparation in preparations:
        index = table.schema.get_field_index(name)
        if index >= 0:
            prepared = prepare_values(table[name].combine_chunks(), name, preparation)
            table = table.set_column(index, name, prepared)
    return table


def prepare_values(array: pa.Array, name: str, preparation: Preparation) -> pa.Array:
    """Return the values prepared; of bands they are texts, otherwise they keep their type.

    Raises
    ------
    DataError
        As `prepare_table`.
    """
    assert not preparation.awaits_bounds, f"the percentiles of {name!r} were not looked for"
    if preparation.fills:
        return _fill(array, name)
    if preparation.imputes is not None:
        return _impute(array, preparation.imputed)
    zero = pa.scalar(0, pa.int8()).cast(array.type)
    is_null = array.is_null()
    keys = _read_keys(pc.fill_null(array, zero), name)
    if preparation.bands:
        prepared = _find_bands(keys, array.type, name, preparation)
    else:
        changed = _change(keys, array.type, name, preparation)
        prepared = _write_keys(changed, array.type, name)
    # Arrow makes decimals of few bits wide ones, here and in what is filled.
    return pc.if_else(is_null, pa.scalar(None, prepared.type), prepared).cast(prepared.type)


def _fill(array: pa.Array, name: str) -> pa.Array:
    if pc.any(pc.equal(array, MISSING)).as_py():
        raise DataError(
            f"column {name!r}: has the text {MISSING!r}, which stands for records without a value; "
            "name it in input.missing_values, or write it otherwise"
        )
    return pc.fill_null(array, pa.scalar(MISSING, array.type))


def _impute(array: pa.Array, value: int | float | str | None) -> pa.Array:
    if value is None:
        return array
    if isinstance(value, str):
        scalar = pa.scalar(value).cast(array.type)
    else:
        scalar = from_keys(np.array([value]), array.type)[0]
    return pc.fill_null(array, scalar).cast(array.type)


def _read_keys(array: pa.Array, name: str) -> Keys:
    try:
        return to_keys(array, name)
    except pa.ArrowInvalid:
        raise DataError(
            f"column {name!r}: has decimals of more than 18 digits, which cannot be prepared; "
            "store it as a float"
        ) from None


def _write_keys(keys: Keys, dtype: pa.DataType, name: str) -> pa.Array:
    try:
        return from_keys(keys, dtype)
    except pa.ArrowInvalid:
        raise DataError(
            f"column {name!r}: a prepared value does not fit its type {dtype}; declare a top and a "
            "bottom, or store it in a wider type"
        ) from None


def scale_of(dtype: pa.DataType) -> int:
    """The number of keys in one: 100 for decimals of two digits, otherwise 1."""
    return 10**dtype.scale if pa.types.is_decimal(dtype) else 1


def _change(keys: Keys, dtype: pa.DataType, name: str, preparation: Preparation) -> Keys:
    """Keys within the bounds and at multiples of the step."""
    unit, is_float = scale_of(dtype), has_float_keys(dtype)
    bounds = (preparation.bottom, preparation.top)
    if is_float:
        low, high = (None if end is None else float(end) for end in bounds)
    else:
        low, high = (None if end is None else int(end * unit) for end in bounds)
    if low is not None or high is not None:
        keys = cast(Keys, np.clip(keys, low, high))
    if preparation.step is None:
        return keys
    if is_float:
        return _round_floats(keys, name, preparation.step)
    return _round_integers(keys, name, int(preparation.step * unit))


def _round_integers(keys: Keys, name: str, step: int) -> Keys:
    if keys.size and (keys.max() > _INT64[1] - step or keys.min() < _INT64[0] + step):
        raise DataError(f"column {name!r}: {_TOO_LARGE}")
    parts, rests = np.divmod(keys, step)
    above = (rests > step - rests) | ((rests == step - rests) & (parts % 2 == 1))
    rounded: Keys = (parts + above) * step
    return rounded


def _round_floats(keys: Keys, name: str, step: Fraction) -> Keys:
    """Multiples of a decimal fraction as the floats nearest to them: 0.3, not 3 times 0.1."""
    with np.errstate(invalid="ignore", over="ignore"):
        multiples = np.rint(keys / float(step))
        numerators = multiples * step.numerator
        if (np.isfinite(keys) & ~(np.abs(numerators) < _EXACT)).any():
            raise DataError(f"column {name!r}: {_TOO_LARGE}")
        rounded: Keys = numerators / step.denominator + 0.0
    return rounded


_TOO_LARGE = (
    "has values that are too large to be rounded to multiples of that step exactly; declare a top "
    "and a bottom, or a larger step"
)


def _find_bands(keys: Keys, dtype: pa.DataType, name: str, preparation: Preparation) -> pa.Array:
    unit = scale_of(dtype)
    if has_float_keys(dtype):
        if not np.isfinite(keys).all():
            raise DataError(
                f"column {name!r}: has NaN or infinite values, which are in no band; correct them, "
                "store nulls instead, or name their texts in input.missing_values (CSV)"
            )
        ends = np.array([float(end) for end in preparation.bands])
    else:
        whole = [_at_most(ceil(end * unit)) for end in preparation.bands]
        ends = np.array(whole, dtype=np.int64)
    places = np.searchsorted(ends, keys, side="right")
    return pa.array(preparation.labels, pa.string()).take(pa.array(places))


def _at_most(key: int) -> int:
    return min(max(key, _INT64[0]), _INT64[1])


def find_misfit(preparation: Preparation, dtype: pa.DataType) -> str | None:
    """Name the key of a preparation whose number is none of a type; None if all are."""
    if has_float_keys(dtype):
        return None
    unit, bounds = scale_of(dtype), {"round": preparation.step, "bottom": preparation.bottom}
    for key, number in (bounds | {"top": preparation.top}).items():
        if number is None:
            continue
        exact = number * unit
        if exact.denominator != 1 or not _fits(floor(exact)):
            return key
    return None


def _fits(key: int) -> bool:
    return _INT64[0] <= key <= _INT64[1]
