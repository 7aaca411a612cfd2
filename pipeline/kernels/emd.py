"""Ordered earth mover's distance of classes to the table, over distinct values.

EMD(class, table) = 1/(m-1) * sum_i |F_class(v_i) - F_table(v_i)|, F cumulative, v_1 < ... < v_m the
distinct values of the attribute in the table (papers/004, section 5.1; 003, section 2.2).

A class of s records is a step function with at most s steps, F_table is monotone: between two steps
the two cross at most once. With prefix sums of the table's cumulative counts each span costs one
binary search, so a class costs O(s log m), however many values the table has.
"""

from fractions import Fraction

import numpy as np
from numba import njit

from pipeline.model import Float64, Int64

# Of the float distance, per step of a class: four roundings of terms that are at most one.
ERROR_PER_STEP = 8 * np.finfo(np.float64).eps


@njit(cache=True, nogil=True)
def _span_work(cumulative, prefix, start, stop, n_below, size):
    """Sum over values start..stop-1 of |n_below/size - F_table|, times the table's records."""
    n_records = cumulative[-1]
    level = n_below * n_records / size
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] < level:
            low = middle + 1
        else:
            high = middle
    under = level * (low - start) - (prefix[low] - prefix[start])
    over = (prefix[stop] - prefix[low]) - level * (stop - low)
    return under + over


@njit(cache=True, nogil=True)
def ordered_emd(codes, cumulative, prefix):
    """Distance of one class to the table.

    Parameters
    ----------
    codes : int64 (s,), ascending: position of each record's value among the distinct values
    cumulative : int64 (m,): records of the table with a value up to each
    prefix : int64 (m + 1,): sums of ``cumulative``

    Returns
    -------
    float64 in [0, 1]; NaN for an empty class, which is at no distance and must not pass.
    """
    n_values = cumulative.size
    size = codes.size
    if size == 0:
        return np.nan
    if n_values == 1:
        return 0.0
    work = 0.0
    start = 0
    below = 0
    while below < size:
        code = codes[below]
        work += _span_work(cumulative, prefix, start, code, below, size)
        start = code
        while below < size and codes[below] == code:
            below += 1
    work += _span_work(cumulative, prefix, start, n_values, size, size)
    return work / cumulative[-1] / (n_values - 1)


@njit(cache=True, nogil=True)
def class_emds(codes, class_starts, cumulative, prefix):
    """Distances of all classes of a table.

    Parameters
    ----------
    codes : int64 (n,), records of a class adjacent, in any order within it
    class_starts : int64 (c + 1,): class i holds records class_starts[i] .. class_starts[i+1]-1
    cumulative, prefix : as in `ordered_emd`

    Returns
    -------
    float64 (c,)
    """
    n_classes = class_starts.size - 1
    emds = np.empty(n_classes)
    for i in range(n_classes):
        members = np.sort(codes[class_starts[i] : class_starts[i + 1]])
        emds[i] = ordered_emd(members, cumulative, prefix)
    return emds


def exceeds(emds: Float64, limit: Fraction, codes: Int64, starts: Int64, table: Int64) -> Int64:
    """Positions of the classes whose distance is above ``limit``, decided without rounding.

    The float distance decides where it is farther from the limit than it can err; the rest is
    counted again in integers. NaN is above every limit.

    Parameters
    ----------
    emds : float64 (c,), from `class_emds`
    codes, starts : as in `class_emds`
    table : int64 (m,): the table's cumulative counts
    """
    sizes = np.diff(starts)
    margin = ERROR_PER_STEP * (sizes + 8)
    clear = ~(emds <= float(limit) + margin)
    near = np.flatnonzero(~clear & (emds > float(limit) - margin))
    exact = [exact_emd(codes[starts[i] : starts[i + 1]], table) > limit for i in near]
    above = clear
    above[near] = exact
    return np.flatnonzero(above)


def exact_emd(codes: Int64, table: Int64) -> Fraction:
    """Distance of one class to the table as a rational number; slow, for decisions at the limit."""
    n_values = table.size
    if n_values == 1:
        return Fraction(0)
    steps = np.cumsum(np.bincount(codes, minlength=n_values))
    size, n_records = int(steps[-1]), int(table[-1])
    if size * n_records < 2**61 // n_values:
        work = int(np.abs(steps * n_records - table * size).sum())
    else:
        work = sum(
            abs(int(step) * n_records - int(total) * size)
            for step, total in zip(steps, table, strict=True)
        )
    return Fraction(work, n_records * size * (n_values - 1))
