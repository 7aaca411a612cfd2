"""Ordered earth mover's distance of classes to the table, over distinct values.

EMD(class, table) = 1/(m-1) * sum_i |F_class(v_i) - F_table(v_i)|, F cumulative, v_1 < ... < v_m the
distinct values of the attribute in the table (Li et al. 2007, section 5.1; Soria-Comas et al. 2015,
section 2.2).

A class of s records is a step function with at most s steps, F_table is monotone: between two steps
the two cross at most once. With prefix sums of the table's cumulative counts each span costs one
binary search, so a class costs O(s log m), however many values the table has. Where they cross
depends on the step's height alone, so classes of one size share the searches.
"""

from fractions import Fraction

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.model.array_types import Float64, Int64

# Of the float distance, per step of a class: four roundings of terms that are at most one.
ERROR_PER_STEP = 8 * np.finfo(np.float64).eps
# Classes up to this size share searches; what is kept of them stays in the processor's cache.
MAX_SHARED = 128


@kernel
def find_crossing(cumulative, start, stop, level):
    """First of the values start..stop-1 up to which the table has ``level`` records, or stop."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] < level:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline="always")
def span_work(prefix, start, stop, level, crossing):
    """Sum over values start..stop-1 of |level - cumulative|; they cross at ``crossing``."""
    under = level * (crossing - start) - (prefix[crossing] - prefix[start])
    over = (prefix[stop] - prefix[crossing]) - level * (stop - crossing)
    return under + over


@kernel
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
    return _emd(codes, codes.size, cumulative, prefix, np.empty(0, dtype=np.int64))


@kernel
def _emd(codes, size, cumulative, prefix, crossings):
    """Distance of the first ``size`` of some records; ``crossings``: as in `share_searches`."""
    n_values = cumulative.size
    if size == 0:
        return np.nan
    if n_values == 1:
        return 0.0
    n_records = cumulative[-1]
    work = 0.0
    start = 0
    below = 0
    while below <= size:
        stop = codes[below] if below < size else n_values
        level = below * n_records / size
        if crossings.size:
            crossing = min(max(crossings[below], start), stop)
        else:
            crossing = find_crossing(cumulative, start, stop, level)
        work += span_work(prefix, start, stop, level, crossing)
        if below == size:
            break
        start = stop
        while below < size and codes[below] == start:
            below += 1
    return work / n_records / (n_values - 1)


@kernel
def share_searches(shared, size, cumulative):
    """Return where the table reaches each height b/size: int64 (size + 1,); none if it is large.

    ``shared`` int64 (MAX_SHARED + 1, MAX_SHARED + 1), -1 where nothing is known, is added to.
    """
    if size > MAX_SHARED:
        return shared[0, :0]
    if shared[size, 0] < 0:
        for below in range(size + 1):
            level = below * cumulative[-1] / size
            shared[size, below] = find_crossing(cumulative, 0, cumulative.size, level)
    return shared[size, : size + 1]


@kernel
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
    shared = np.full((MAX_SHARED + 1, MAX_SHARED + 1), -1, dtype=np.int64)
    room = np.empty(MAX_SHARED, dtype=np.int64)
    for i in range(n_classes):
        first, size = class_starts[i], class_starts[i + 1] - class_starts[i]
        if 0 < size <= MAX_SHARED:
            _sort_into(room, codes, first, size)
            crossings = share_searches(shared, size, cumulative)
            emds[i] = _emd(room, size, cumulative, prefix, crossings)
        else:
            members = np.sort(codes[first : first + size])
            emds[i] = ordered_emd(members, cumulative, prefix)
    return emds


@kernel
def _sort_into(room, codes, first, size):
    """Write ``size`` codes from ``first`` on in ascending order; quick where they are so."""
    for i in range(size):
        code = codes[first + i]
        j = i
        while j > 0 and room[j - 1] > code:
            room[j] = room[j - 1]
            j -= 1
        room[j] = code


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
    """Distance of one class to the table as a rational number; slow, for decisions at the limit.

    ``codes`` int64 (n,): of its records; ``table`` int64 (m,): records up to each value.
    """
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
