"""Sort, search and copy sequences: small kernels instead of the compiler's own functions.

Those do the same for any kind of array, with messages for any kind of error, so that compiling
each of them takes half a second or so, in every process that compiles what calls it. These here
are compiled once and kept on disk.
"""

import numpy as np

from tclose.kernels.compiler import kernel

RUN = 20  # so many are sorted by insertion


@kernel
def stable_order(values):
    """Positions in ascending order of their values, int64 (n,); equal ones stay as they are.

    Parameters
    ----------
    values : (n,), integers or floats; NaN is last
    """
    n_values = values.size
    order = np.empty(n_values, dtype=np.int64)
    for start in range(0, n_values, RUN):
        _order_run(values, order, start, min(start + RUN, n_values))
    if n_values <= RUN:
        return order
    merged = np.empty(n_values, dtype=np.int64)
    width = RUN
    while width < n_values:
        for start in range(0, n_values, 2 * width):
            middle, stop = min(start + width, n_values), min(start + 2 * width, n_values)
            _merge_runs(values, order, merged, start, middle, stop)
        order, merged = merged, order
        width *= 2
    return order


@kernel(borrows=True)
def _order_run(values, order, start, stop):
    """Write the positions start..stop-1 to ``order`` by their values."""
    for i in range(start, stop):
        slot = i
        while slot > start and _precedes(values[i], values[order[slot - 1]]):
            order[slot] = order[slot - 1]
            slot -= 1
        order[slot] = i


@kernel(borrows=True)
def _merge_runs(values, order, merged, start, middle, stop):
    """Merge positions in order start..middle-1 with those in order middle..stop-1."""
    left, right = start, middle
    for i in range(start, stop):
        if left < middle and not (
            right < stop and _precedes(values[order[right]], values[order[left]])
        ):
            merged[i] = order[left]
            left += 1
        else:
            merged[i] = order[right]
            right += 1


@kernel(borrows=True)
def _precedes(a, b):
    """Return whether a is less than b; any number is less than NaN."""
    return a < b or (b != b and a == a)


@kernel(borrows=True)
def first_not_below(ascending, value):
    """Position of the first of the ascending values that is at least ``value``, or their number."""
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(borrows=True)
def first_above(ascending, value):
    """Position of the first of the ascending values that is above ``value``, or their number."""
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(borrows=True)
def largest(values, least):
    """Largest of the values, (n,), or ``least`` if none is above it."""
    found = least
    for value in values:
        if value > found:
            found = value
    return found


@kernel(borrows=True)
def smallest(values, most):
    """Smallest of the values, (n,), or ``most`` if none is below it."""
    found = most
    for value in values:
        if value < found:
            found = value
    return found


@kernel(borrows=True)
def copy_into(target, values):
    """Copy values to a target, of one size: both (n,)."""
    for i in range(target.size):
        target[i] = values[i]
