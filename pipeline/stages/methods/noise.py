"""Noise on a column's values as a policy gives it: epsilon, and what can be released."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DataError, PolicyError
from pipeline.model import Column, Kind, Noise
from pipeline.stages.keys import is_number, plain_type, to_keys
from pipeline.stages.methods.dp_confidential import Grid, draw_codes, draw_steps


def check_noise(column: Column) -> None:
    """Refuse noise that the column's kind cannot have.

    Raises
    ------
    PolicyError
        Names the column and what to give.
    """
    noise, where = column.attribute.noise, f"column {column.name!r}"
    assert noise is not None
    if column.kind is Kind.NUMERIC and is_number(plain_type(column.type)):
        grid = _grid_of(noise, where)
        if pa.types.is_decimal(plain_type(column.type)):
            raise PolicyError(f"{where}: noise does not go with decimals; store them as floats")
        if pa.types.is_integer(plain_type(column.type)) and not grid.is_whole:
            raise PolicyError(f"{where}: holds integers; noise needs a whole low, high and step")
    elif column.kind is Kind.ORDINAL or noise.values:
        return
    else:
        raise PolicyError(
            f"{where}: is {column.kind}; noise goes with numbers (low, high), ordinal values "
            "(order) and others whose noise.values are listed"
        )


def _grid_of(noise: Noise, where: str) -> Grid:
    if noise.low is None or noise.high is None:
        raise PolicyError(
            f"{where}: noise needs low and high from the policy; bounds taken from the data would "
            "tell of them"
        )
    return Grid(noise.low, noise.high, noise.step)


def add_noise(values: pa.Array, column: Column) -> pa.Array:
    """Values with noise, of the same type; drawn anew at every call.

    Raises
    ------
    DataError
        Values that the policy does not list; says how many.
    """
    noise = column.attribute.noise
    assert noise is not None
    dtype = plain_type(column.type)
    if column.kind is Kind.NUMERIC:
        grid = _grid_of(noise, f"column {column.name!r}")
        steps = grid.to_steps(to_keys(values, column.name))
        released = grid.to_values(draw_steps(steps, grid.n_steps, noise.epsilon))
        return pa.array(released).cast(dtype)
    listed = column.attribute.order if column.kind is Kind.ORDINAL else noise.values
    codes = _codes_of(values, listed, column.name)
    if column.kind is Kind.ORDINAL:
        codes = draw_steps(codes, len(listed) - 1, noise.epsilon)
    else:
        codes = draw_codes(codes, len(listed), noise.epsilon)
    return pa.array(listed).take(pa.array(codes)).cast(dtype)


def _codes_of(values: pa.Array, listed: tuple[str, ...], name: str) -> np.ndarray:
    places = pc.index_in(values.cast(pa.string()), value_set=pa.array(listed))
    if places.null_count:
        raise DataError(
            f"column {name!r}: {places.null_count:,} values that the policy does not list; name "
            "every value that can occur"
        )
    return places.to_numpy(zero_copy_only=False).astype(np.int64)
