"""Distances of classes to the table where each person weighs one and shares it among her rows.

The distances are those of `ordered` and `tree`, between distributions of weights instead of counts:
a row of a person with r rows in a class of p persons has the share 1 / (p r) of the class. Persons
are told apart by numbers, of which nothing but their being equal is used.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import MAX_SHARED, find_crossing, share_searches, span_work
from tclose.kernels.sequences import stable_order

# Rows of a class up to which each is compared with each other; above, they are sorted.
MAX_COMPARED = 32


@kernel
def share_rows(persons, class_starts):
    """Distinct persons of each class, and the share of its class that each row has.

    Parameters
    ----------
    persons : int64 (n,): whose each row is; rows of a class adjacent
    class_starts : int64 (c + 1,): class i holds rows class_starts[i] .. class_starts[i+1]-1

    Returns
    -------
    n_persons : int64 (c,)
    shares : float64 (n,): those of a class add up to 1
    """
    n_classes = class_starts.size - 1
    n_persons = np.zeros(n_classes, dtype=np.int64)
    rows = np.empty(persons.size, dtype=np.int64)
    for i in range(n_classes):
        start, stop = class_starts[i], class_starts[i + 1]
        if stop - start <= MAX_COMPARED:
            n_persons[i] = _count_compared(persons, start, stop, rows)
        else:
            n_persons[i] = _count_sorted(persons, start, stop, rows)
    shares = np.empty(persons.size)
    for i in range(n_classes):
        for j in range(class_starts[i], class_starts[i + 1]):
            shares[j] = 1.0 / (n_persons[i] * rows[j])
    return n_persons, shares


@kernel
def _count_compared(persons, start, stop, rows):
    """Distinct persons of some rows; of each row how many are of the same one, into ``rows``."""
    n_persons = 0
    for j in range(start, stop):
        same, first = 0, True
        for other in range(start, stop):
            if persons[other] == persons[j]:
                same += 1
                first = first and other >= j
        rows[j] = same
        n_persons += first
    return n_persons


@kernel
def _count_sorted(persons, start, stop, rows):
    order = stable_order(persons[start:stop])
    n_persons, first = 0, 0
    while first < order.size:
        last = first
        while last < order.size and persons[start + order[last]] == persons[start + order[first]]:
            last += 1
        for j in range(first, last):
            rows[start + order[j]] = last - first
        n_persons += 1
        first = last
    return n_persons


@kernel
def _sort_class(codes, shares):
    """Rows of a class in ascending order of code and share, so that sums round alike."""
    by_share = stable_order(shares)
    order = by_share[stable_order(codes[by_share])]
    return codes[order], shares[order]


@kernel
def person_emds(codes, shares, class_starts, cumulative, prefix):
    """Ordered distances of all classes to the table, both over persons.

    Parameters
    ----------
    codes : int64 (n,): position of each row's value among the distinct values of the table
    shares : float64 (n,), from `share_rows`
    class_starts : as there
    cumulative : (m,): share of the table's persons up to each value, in parts of the last
    prefix : (m + 1,): sums of ``cumulative``

    Returns
    -------
    float64 (c,), NaN of an empty class
    """
    n_values = cumulative.size
    emds = np.empty(class_starts.size - 1)
    shared = np.full((MAX_SHARED + 1, MAX_SHARED + 1), -1, dtype=np.int64)
    room, room_of_shares = np.empty(MAX_SHARED, dtype=np.int64), np.empty(MAX_SHARED)
    for i in range(emds.size):
        start, stop = class_starts[i], class_starts[i + 1]
        size = stop - start
        if size == 0:
            emds[i] = np.nan
        elif n_values == 1:
            emds[i] = 0.0
        else:
            members, weights, crossings = room[:size], room_of_shares[:size], shared[0, :0]
            if size > MAX_SHARED:
                members, weights = _sort_class(codes[start:stop], shares[start:stop])
            elif _sort_into(room, room_of_shares, codes, shares, start, size):
                crossings = share_searches(shared, size, cumulative)
            work = _sum_spans(members, weights, cumulative, prefix, crossings)
            emds[i] = work / (n_values - 1)
    return emds


@kernel(borrows=True)
def _sort_into(room, room_of_shares, codes, shares, start, size):
    """Write rows in the order of `_sort_class`; return whether all have the same share."""
    is_even = True
    for i in range(size):
        code, share = codes[start + i], shares[start + i]
        is_even = is_even and share == shares[start]
        j = i
        while j > 0 and (
            room[j - 1] > code or (room[j - 1] == code and room_of_shares[j - 1] > share)
        ):
            room[j], room_of_shares[j] = room[j - 1], room_of_shares[j - 1]
            j -= 1
        room[j], room_of_shares[j] = code, share
    return is_even


@kernel
def sum_spans(codes, shares, cumulative, prefix):
    """Sum over the values of |share of the class up to it - that of the table|.

    ``codes`` int64 (s,), ascending, ``shares`` float64 (s,): of the class's rows, adding up to 1.
    """
    return _sum_spans(codes, shares, cumulative, prefix, codes[:0])


@kernel
def _sum_spans(codes, shares, cumulative, prefix, crossings):
    """The same; ``crossings``: near where the table has the share of the first rows, or none."""
    work, share, total = 0.0, 0.0, float(cumulative[-1])
    begin, below = 0, 0
    while below <= codes.size:
        end, level = codes[below] if below < codes.size else cumulative.size, share * total
        if crossings.size:
            crossing = _find_near(cumulative, begin, end, level, crossings[below])
        else:
            crossing = find_crossing(cumulative, begin, end, level)
        work += span_work(prefix, begin, end, level, crossing)
        if below == codes.size:
            break
        begin = end
        while below < codes.size and codes[below] == begin:
            share += shares[below]
            below += 1
        if below == codes.size:
            share = 1.0
    return max(work / total, 0.0)


@kernel(inline="always")
def _find_near(cumulative, start, stop, level, crossing):
    """The same as `find_crossing`, from where it nearly is: shares are rounded."""
    crossing = min(max(crossing, start), stop)
    while crossing < stop and cumulative[crossing] < level:
        crossing += 1
    while crossing > start and not cumulative[crossing - 1] < level:
        crossing -= 1
    return crossing


@kernel
def person_tree_emds(codes, shares, class_starts, paths, weights, of_table):
    """The same over values that are leaves of a tree; see `tree.class_tree_emds`.

    Parameters
    ----------
    codes, shares, class_starts : as in `person_emds`
    paths, weights : as `TreeMetric` has them
    of_table : float64 (nodes,): share of the table's persons below each node
    """
    untouched = 0.0
    for node in range(weights.size):
        untouched += weights[node] * of_table[node]
    held = np.zeros(weights.size)
    emds = np.empty(class_starts.size - 1)
    for i in range(emds.size):
        start, stop = class_starts[i], class_starts[i + 1]
        if start == stop:
            emds[i] = np.nan
            continue
        members, parts = _sort_class(codes[start:stop], shares[start:stop])
        for j in range(members.size):
            for node in paths[members[j]]:
                if node < 0:
                    break
                held[node] += parts[j]
        work = untouched
        for code in members:
            for node in paths[code]:
                if node < 0 or held[node] == 0.0:  # done with this node, so with those above it
                    break
                work += weights[node] * (abs(held[node] - of_table[node]) - of_table[node])
                held[node] = 0.0
        emds[i] = max(work, 0.0)
    return emds
