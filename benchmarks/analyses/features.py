"""Columns of originals and of releases as a model takes them: numbers, and codes of categories.

Of an interval the middle is taken; of a set its values in turn, one row after the other.
"""

from collections.abc import Sequence
from datetime import date

import numpy as np
import pyarrow as pa

from tclose.methods.generalisation.notation import parse_interval, parse_set
from tclose.model.array_types import Float64, Int64

EPOCH = date(1970, 1, 1)


def make_features(
    table: pa.Table, numeric: Sequence[str], categories: dict[str, list[str]]
) -> Float64:
    """Features of the rows, float64 (n, numbers and then categories).

    Parameters
    ----------
    categories : of each column of categories those of the originals; codes are places among them
    """
    columns = [read_numbers(table[name].combine_chunks()) for name in numeric]
    columns += [
        read_categories(table[name].combine_chunks(), values) for name, values in categories.items()
    ]
    return np.column_stack(columns)


def read_numbers(column: pa.Array) -> Float64:
    """Numbers, days of dates, or middles of intervals: float64 (n,)."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32()).cast(pa.int32())
    if not pa.types.is_string(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    listed = column.dictionary_encode()
    middles = [_find_middle(text) for text in listed.dictionary.to_pylist()]
    return np.asarray(middles, dtype=np.float64)[_places(listed)]


def _places(listed: pa.DictionaryArray) -> Int64:
    return np.asarray(listed.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _find_middle(text: str) -> float:
    low, high = (_read_number(end) for end in parse_interval(text))
    return (low + high) / 2


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float((date.fromisoformat(text) - EPOCH).days)


def read_categories(column: pa.Array, values: list[str]) -> Float64:
    """Places among ``values``, NaN of others; of sets one of theirs: float64 (n,)."""
    place_of = {value: float(place) for place, value in enumerate(values)}
    listed = column.cast(pa.string()).dictionary_encode()
    covered = [
        [text] if text in place_of else list(parse_set(text))
        for text in listed.dictionary.to_pylist()
    ]
    indices = _places(listed).tolist()
    turns = [0] * len(covered)
    places = np.empty(len(indices))
    for row, index in enumerate(indices):
        of_row = covered[index]
        places[row] = place_of.get(of_row[turns[index] % len(of_row)], np.nan)
        turns[index] += 1
    return places
