"""Aggregates that a class is released as: its mean, median or mode, per quasi-identifier.

Records of class i are ``order[starts[i]:starts[i+1]]``. Integer keys (integers, dates, decimals)
stay exact: sums are kept as quotient and remainder, so that no span of values overflows.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import copy_into, stable_order

# Records of a class that are sorted by insertion, at most.
SMALL_CLASS = 64


@kernel
def integer_means(keys, order, starts):
    """Means of int64 keys, rounded to the nearest integer, halves upward: int64 (c,)."""
    means = np.empty(starts.size - 1, dtype=np.int64)
    for c in range(means.size):
        members = order[starts[c] : starts[c + 1]]
        base, size = keys[members[0]], members.size
        quotient, remainder = 0, 0
        for i in members:
            offset = keys[i] - base
            quotient += offset // size
            remainder += offset % size
        means[c] = base + quotient + (2 * remainder + size) // (2 * size)
    return means


@kernel
def float_means(keys, order, starts):
    """Means as float64 (c,); equal keys give that very key, without rounding."""
    means = np.empty(starts.size - 1)
    for c in range(means.size):
        members = order[starts[c] : starts[c + 1]]
        base = keys[members[0]]
        total = 0.0
        for i in members:
            total += keys[i] - base
        means[c] = base + total / members.size
    return means


@kernel
def lower_medians(keys, order, starts):
    """The middle key, of an even number the lower one: dtype of ``keys`` (c,)."""
    return middle_keys(keys, order, starts)[0]


@kernel
def middle_keys(keys, order, starts):
    """The middle key, of an even number the lower and the upper one: dtype of ``keys``, (c,) each.

    Of small classes keys are sorted as they are read, which takes a fraction of a sort's time.
    """
    lower = np.empty(starts.size - 1, dtype=keys.dtype)
    upper = np.empty_like(lower)
    room = np.empty(SMALL_CLASS, dtype=keys.dtype)
    for c in range(lower.size):
        first, size = starts[c], starts[c + 1] - starts[c]
        if size > SMALL_CLASS:
            members = np.sort(keys[order[first : first + size]])
            lower[c], upper[c] = members[(size - 1) // 2], members[size // 2]
            continue
        for i in range(size):
            key = keys[order[first + i]]
            j = i
            while j > 0 and room[j - 1] > key:
                room[j] = room[j - 1]
                j -= 1
            room[j] = key
        lower[c], upper[c] = room[(size - 1) // 2], room[size // 2]
    return lower, upper


@kernel
def modes(codes, order, starts, priority):
    """The most frequent code of each class: int64 (c,).

    ``priority`` int64 (L,) breaks ties, lowest first. With categories ranked by how common they are
    in the whole table, a tie never singles out the rarer one.
    """
    counts = np.zeros(priority.size, dtype=np.int64)
    winners = np.empty(starts.size - 1, dtype=np.int64)
    for c in range(winners.size):
        members = order[starts[c] : starts[c + 1]]
        for i in members:
            counts[codes[i]] += 1
        best = codes[members[0]]
        for i in members:
            code = codes[i]
            ahead = counts[code] == counts[best] and priority[code] < priority[best]
            if counts[code] > counts[best] or ahead:
                best = code
        winners[c] = best
        for i in members:
            counts[codes[i]] = 0
    return winners


@kernel
def group_by_label(labels, n_labels):
    """Records in the order of their labels, and where each label begins.

    Parameters
    ----------
    labels : int64 (n,), 0 .. n_labels-1

    Returns
    -------
    order : int64 (n,), stable
    starts : int64 (n_labels + 1,)
    """
    starts = np.zeros(n_labels + 1, dtype=np.int64)
    for label in labels:
        starts[label + 1] += 1
    for label in range(n_labels):
        starts[label + 1] += starts[label]
    filled = starts[:-1].copy()
    order = np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        order[filled[labels[i]]] = i
        filled[labels[i]] += 1
    return order, starts


@kernel
def sort_within(order, starts, keys):
    """Sort the records of each class by several keys, in place; equal ones stay as they are.

    Parameters
    ----------
    order, starts : int64 (n,), int64 (c + 1,): records class by class, as of `group_by_label`
    keys : int64 (p, n), the first one leads
    """
    for c in range(starts.size - 1):
        members = order[starts[c] : starts[c + 1]]
        if members.size > SMALL_CLASS:
            for key in keys[::-1]:
                copy_into(members, members[stable_order(key[members])])
            continue
        for i in range(1, members.size):
            record, j = members[i], i
            while j > 0 and _comes_before(keys, record, members[j - 1]):
                members[j] = members[j - 1]
                j -= 1
            members[j] = record


@kernel
def _comes_before(keys, record, other):
    for a in range(keys.shape[0]):
        if keys[a, record] != keys[a, other]:
            return keys[a, record] < keys[a, other]
    return False


@kernel
def sum_products(deviations):
    """Sums over the records of the products of each two attributes.

    A matrix product would add up in an order that depends on the library's threads.

    Parameters
    ----------
    deviations : float64 (d, n)

    Returns
    -------
    float64 (d, d), symmetric
    """
    rows = np.ascontiguousarray(deviations.T)
    n_records, n_attributes = rows.shape
    sums = np.zeros((n_attributes, n_attributes))
    for r in range(n_records):
        row = rows[r]
        for i in range(n_attributes):
            for j in range(i + 1):
                sums[i, j] += row[i] * row[j]
    for i in range(n_attributes):
        for j in range(i):
            sums[j, i] = sums[i, j]
    return sums


@kernel
def sum_by_group(groups, values, n_groups):
    """Sums of each number over the records of each group, in the records' order.

    Parameters
    ----------
    groups : int64 (n,): of each record
    values : float64 (m, n): of each number, the records'

    Returns
    -------
    float64 (m, n_groups)
    """
    sums = np.zeros((n_groups, values.shape[0]))
    for i in range(groups.size):
        of_group = sums[groups[i]]
        for j in range(values.shape[0]):
            of_group[j] += values[j, i]
    return sums.T.copy()
