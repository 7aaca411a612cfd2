"""A stable sort for kernels: the library's are compiled at length, and for each type again."""

import numpy as np

from tclose.kernels.compiler import kernel

_RUN = 16  # values that are sorted one after the other


@kernel
def stable_order(values):
    """Positions of values, ascending, equal ones in their order: int64 (n,); no value is NaN.

    Merge sort of runs, from below; ``values`` (n,) has to be contiguous.
    """
    n = values.size
    order, merged = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(0, n, _RUN):
        for i in range(start, min(start + _RUN, n)):
            slot = i
            while slot > start and values[order[slot - 1]] > values[i]:
                order[slot] = order[slot - 1]
                slot -= 1
            order[slot] = i
    width = _RUN
    while width < n:
        for start in range(0, n, 2 * width):
            left, middle, stop = start, min(start + width, n), min(start + 2 * width, n)
            right = middle
            for at in range(start, stop):
                takes_left = right >= stop or (
                    left < middle and values[order[left]] <= values[order[right]]
                )
                if takes_left:
                    merged[at] = order[left]
                    left += 1
                else:
                    merged[at] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
