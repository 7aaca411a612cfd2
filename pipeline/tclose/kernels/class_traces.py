"""Values that last, narrowed down over the classes that a person's rows are in."""

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def count_lasting_values(pairs, ends, value_starts, values, counts):
    """Values that a person can have, if all of her rows have the same one: 0, 1, or 2 for more.

    A value can be hers if each of her classes has as many rows with it as she has there.

    Parameters
    ----------
    pairs : int64 (2, e): classes of the persons, one person's adjacent, and her rows in each
    ends : int64 (n + 1,): where the pairs of each person begin
    value_starts : int64 (c + 1,): where the values of each class begin
    values, counts : int64 (v,): values of a class, ascending, and how many of its rows have each

    Returns
    -------
    int8 (n,)
    """
    found = np.zeros(ends.size - 1, dtype=np.int8)
    for p in range(found.size):
        first, last = ends[p], ends[p + 1]
        least = first
        for e in range(first, last):
            c, d = pairs[0, e], pairs[0, least]
            if value_starts[c + 1] - value_starts[c] < value_starts[d + 1] - value_starts[d]:
                least = e
        c = pairs[0, least]
        for v in range(value_starts[c], value_starts[c + 1]):
            if _is_everywhere(values[v], pairs, first, last, value_starts, values, counts):
                found[p] += 1
                if found[p] == 2:
                    break
    return found


@kernel
def _is_everywhere(value, pairs, first, last, value_starts, values, counts):
    for e in range(first, last):
        low, high = value_starts[pairs[0, e]], value_starts[pairs[0, e] + 1]
        stop = high
        while low < high:
            middle = (low + high) // 2
            if values[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low == stop or values[low] != value or counts[low] < pairs[1, e]:
            return False
    return True
