"""Rows of several key columns: their order, and which of them are equal."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Keys
from tclose.model.array_types import Int64

_MAX_NUMBER = 2**62


def sort_rows(columns: Sequence[Keys]) -> Int64:
    """Order of the rows (n,), the first column leading; equal rows as they come.

    Where the spans of the columns allow it, a row is sorted as one number, with its place in the
    lowest bits if these are left: numbers alone are sorted several times as fast.
    """
    numbers = _number_rows(columns)
    if numbers is None:
        return np.lexsort(columns[::-1])
    n_bits = numbers.size.bit_length()
    if int(numbers.max(initial=0)) >= _MAX_NUMBER >> n_bits:
        return np.argsort(numbers, kind="stable")
    placed = np.sort((numbers << n_bits) | np.arange(numbers.size))
    return placed & ((1 << n_bits) - 1)


def sort_words(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Int64:
    """Order of keys of two words (n,), equal ones as they come.

    First words of hashes are hardly ever those of two keys, so that they are enough.
    """
    order = np.argsort(high, kind="stable")
    is_equal = high[order[1:]] == high[order[:-1]]
    is_wrong = is_equal & (low[order[1:]] < low[order[:-1]])
    return np.lexsort((low, high)) if is_wrong.any() else order


def _number_rows(columns: Sequence[Keys]) -> Int64 | None:
    """Numbers int64 (n,) that ascend as the rows do; None of floats, texts, and wide spans."""
    if not columns[0].size or any(column.dtype != np.int64 for column in columns):
        return None
    lows = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if prod(spans) > _MAX_NUMBER:
        return None
    numbers = np.zeros(columns[0].size, dtype=np.int64)
    for column, low, span in zip(columns, lows, spans, strict=True):
        numbers = numbers * span + (column.astype(np.int64) - low)
    return numbers


def find_changes(columns: Sequence[Keys]) -> NDArray[np.bool_]:
    """Return where any of the sorted columns differs from the row before; the first row does."""
    changed = np.zeros(columns[0].size, dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def find_distinct(columns: Sequence[Keys]) -> tuple[list[Keys], Int64]:
    """Distinct rows, ascending: their keys (c,), and which of them each row is: int64 (n,)."""
    order = sort_rows(columns)
    in_order = [column[order] for column in columns]
    changed = find_changes(in_order)
    numbers = np.empty(order.size, dtype=np.int64)
    numbers[order] = np.cumsum(changed) - 1
    return [column[changed] for column in in_order], numbers
