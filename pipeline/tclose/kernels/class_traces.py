"""The classes that persons' rows are in, and which values that last are left over all of them.

Rows of a person are by class, so that those in one class are adjacent: a run.
"""

import numpy as np

from tclose.kernels.compiler import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


@kernel(borrows=True)
def count_rows(persons, first, n_rows):
    """Count the rows of each of some persons.

    Parameters
    ----------
    persons : int32 or int64 (n,): whose each row is
    first : number of the first of these persons
    n_rows : int64 (m,): of each of them, added to
    """
    for person in persons:
        if first <= person < first + n_rows.size:
            n_rows[person - first] += 1


@kernel(borrows=True)
def place_classes(persons, sizes, first_class, first, places, classes):
    """Write the class of each row of some persons to the person's next place.

    Parameters
    ----------
    persons, first : as of `count_rows`; rows of a class are adjacent
    sizes : int32 (c,): rows of each class
    first_class : number of the first of these classes
    places : int64 (m,): where each person's next row belongs in ``classes``, moved on
    classes : int32 (r,)
    """
    row = 0
    for c in range(sizes.size):
        for _ in range(sizes[c]):
            person = persons[row]
            if first <= person < first + places.size:
                classes[places[person - first]] = first_class + c
                places[person - first] += 1
            row += 1


@kernel
def sign_persons(classes, ends, counts_rows):
    """Words that two persons share who have as many rows in the same classes: 128 bits.

    Parameters
    ----------
    classes : int32 (r,): of each person's rows, ascending
    ends : int64 (m + 1,): where the rows of each person begin
    counts_rows : whether it matters how many rows somebody has in a class

    Returns
    -------
    uint64 (2, m)
    """
    signatures = np.zeros((2, ends.size - 1), dtype=np.uint64)
    for p in range(ends.size - 1):
        run = ends[p]
        while run < ends[p + 1]:
            next_run = _end_of_run(classes, run, ends[p + 1])
            n_rows = np.uint64(next_run - run if counts_rows else 1)
            for word in range(2):
                of_class = np.uint64(classes[run]) + (np.uint64(word) << np.uint64(62))
                signatures[word, p] += _mix(_mix(_mix(of_class)) ^ n_rows)
            run = next_run
    return signatures


@kernel(borrows=True)
def _mix(word):
    """A step of splitmix64 and its finaliser (Steele, Lea and Flood 2014)."""
    word += _STEP
    word = (word ^ (word >> _SHIFTS[0])) * _MIXERS[0]
    word = (word ^ (word >> _SHIFTS[1])) * _MIXERS[1]
    return word ^ (word >> _SHIFTS[2])


@kernel(borrows=True)
def _end_of_run(classes, start, stop):
    end = start + 1
    while end < stop and classes[end] == classes[start]:
        end += 1
    return end


@kernel
def measure_runs(order, high, low):
    """Sizes of the sets of equal keys of two words, which are adjacent in an order.

    Parameters
    ----------
    order : int64 (n,)
    high, low : uint64 (n,): both words of each key

    Returns
    -------
    sizes : int64 (s,)
    is_shared : whether keys that are adjacent share the first word, and not the second
    """
    sizes = np.zeros(order.size, dtype=np.int64)
    n_sets, is_shared = 0, False
    for i in range(order.size):
        is_new = i == 0 or high[order[i]] != high[order[i - 1]]
        if not is_new and low[order[i]] != low[order[i - 1]]:
            is_new = is_shared = True
        n_sets += is_new
        sizes[n_sets - 1] += 1
    return sizes[:n_sets].copy(), is_shared


@kernel
def count_lasting_values(classes, ends, class_starts, values, counts_rows):
    """Values that a person can have, if all of her rows have the same one: 0, 1, or 2 for more.

    A value can be hers if each of her classes has as many rows with it as she has there.

    Parameters
    ----------
    classes, ends, counts_rows : as of `sign_persons`
    class_starts : int64 (c + 1,): where the rows of each class begin
    values : int32 (n,): of the rows of a class, ascending

    Returns
    -------
    int8 (m,)
    """
    found = np.zeros(ends.size - 1, dtype=np.int8)
    for p in range(found.size):
        first, last = ends[p], ends[p + 1]
        if first == last:
            continue
        least, fewest = first, values.size + 1
        for e in range(first, last):
            size = class_starts[classes[e] + 1] - class_starts[classes[e]]
            if size < fewest:
                least, fewest = e, size
        start = class_starts[classes[least]]
        for v in range(start, start + fewest):
            if v > start and values[v] == values[v - 1]:
                continue
            runs = (first, last, counts_rows)
            if _is_everywhere(values[v], classes, runs, class_starts, values):
                found[p] += 1
                if found[p] == 2:
                    break
    return found


@kernel(borrows=True)
def _is_everywhere(value, classes, runs, class_starts, values):
    run, last, counts_rows = runs
    while run < last:
        next_run = _end_of_run(classes, run, last)
        n_rows = next_run - run if counts_rows else 1
        low, stop = class_starts[classes[run]], class_starts[classes[run] + 1]
        high = stop
        while low < high:
            middle = (low + high) // 2
            if values[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low + n_rows > stop or values[low + n_rows - 1] != value:
            return False
        run = next_run
    return True
