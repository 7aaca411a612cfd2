"""Noise on a column's values as a policy gives it: epsilon, and what can be released."""

from collections.abc import Sequence
from math import ceil, floor
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.keys import from_keys, is_number, plain_type, to_keys, widen_decimals
from tclose.data.listed_values import read_listed
from tclose.errors import DataError, InfeasibleError, PolicyError
from tclose.methods.dp.dp_confidential import NoiseGrid, draw_codes, draw_steps
from tclose.model.attributes import Column, Noise
from tclose.model.column_terms import Kind
from tclose.model.counted_words import count_words
from tclose.privacy.models.stochastic_closeness import epsilon_for, stochastic_closeness


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
        if noise.values:
            raise PolicyError(f"{where}: noise.values does not go with numbers; give low and high")
        _check_grid(column, where)
        return
    if noise.low is not None or noise.high is not None:
        raise PolicyError(f"{where}: is {column.kind}; noise.low and noise.high go with numbers")
    if column.kind is Kind.ORDINAL and noise.values:
        raise PolicyError(f"{where}: noise.values does not go with an order; take it out")
    listed = _listed(column)
    if not listed:
        raise PolicyError(
            f"{where}: is {column.kind}; noise goes with numbers (low, high), ordinal values "
            "(order) and others whose noise.values are listed"
        )
    if pa.types.is_duration(plain_type(column.type)):
        raise PolicyError(f"{where}: noise does not go with durations; store them as numbers")
    refusal = PolicyError(
        f"{where}: values are listed that are not of type {plain_type(column.type)}; list them as "
        "the data have them"
    )
    with refusing_arrow(refusal):
        values = read_listed(listed, column.type)
    if len(widen_decimals(values).unique()) < max(len(values), 2):
        raise PolicyError(f"{where}: noise needs two values or more, each listed once")


def check_closeness(columns: Sequence[Column], n_records: int, k: int) -> None:
    """Refuse noise with which classes of k records could be above the t that the policy asks.

    The t of Domingo-Ferrer and Soria-Comas 2015, Proposition 1, is largest for the smallest class,
    and none is below k.

    Raises
    ------
    InfeasibleError
        Names an epsilon that gives the t.
    """
    for column in columns:
        noise = column.attribute.noise
        if noise is None or noise.max_t is None:
            continue
        closeness = stochastic_closeness(noise.epsilon, n_records, k).t
        if closeness > noise.max_t:
            most = floor(epsilon_for(noise.max_t, n_records, k) * 10**6) / 10**6
            lower = f"lower epsilon to {most:.6f}, raise k" if most else "raise k"
            raise InfeasibleError(
                f"column {column.name!r}: noise of epsilon {float(noise.epsilon):g} gives classes "
                f"of k = {k} stochastic t-closeness of {ceil(closeness * 10**6) / 10**6:.6f}, "
                f"above t = {float(noise.max_t):g}; {lower}, or raise t to that"
            )


def _check_grid(column: Column, where: str) -> None:
    """Refuse a grid with values that the column's type does not have."""
    assert column.attribute.noise is not None
    grid, dtype = _grid_of(column.attribute.noise, where), plain_type(column.type)
    if pa.types.is_decimal(dtype):
        raise PolicyError(f"{where}: noise does not go with decimals; store them as floats")
    if not pa.types.is_integer(dtype):
        return
    if not grid.is_whole:
        raise PolicyError(f"{where}: holds integers; noise needs a whole low, high and step")
    try:
        pa.array([int(grid.low), int(grid.high)]).cast(dtype)
    except pa.ArrowInvalid:
        raise PolicyError(
            f"{where}: low or high of noise is beyond type {dtype}; store it in a wider type, or "
            "narrow them"
        ) from None


def _listed(column: Column) -> tuple[str, ...]:
    """Return all that a value that is no number can be released as."""
    assert column.attribute.noise is not None
    is_ordinal = column.kind is Kind.ORDINAL
    return column.attribute.order if is_ordinal else column.attribute.noise.values


def _grid_of(noise: Noise, where: str) -> NoiseGrid:
    if noise.low is None or noise.high is None:
        raise PolicyError(
            f"{where}: noise needs low and high from the policy; bounds taken from the data would "
            "tell of them"
        )
    try:
        return NoiseGrid(noise.low, noise.high, noise.step)
    except PolicyError as error:
        raise PolicyError(f"{where}: noise: {error}") from None


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
        return from_keys(released, dtype)
    listed = read_listed(_listed(column), column.type)
    codes = _codes_of(values, listed, column.name)
    if column.kind is Kind.ORDINAL:
        codes = draw_steps(codes, len(listed) - 1, noise.epsilon)
    else:
        codes = draw_codes(codes, len(listed), noise.epsilon)
    return listed.take(pa.array(codes))


def _codes_of(values: pa.Array, listed: pa.Array, name: str) -> np.ndarray:
    places = pc.index_in(widen_decimals(values), value_set=widen_decimals(listed))
    if places.null_count:
        raise DataError(
            f"column {name!r}: {count_words(places.null_count, 'value')} that the policy does not "
            "list; name "
            "every value that can occur"
        )
    return cast(np.ndarray, places.to_numpy(zero_copy_only=False).astype(np.int64))
