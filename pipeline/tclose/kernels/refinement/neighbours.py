"""Neighbours among classes, by one representative point of each."""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import copy_into

# Kinds of representative point of a class, for grouping classes and finding neighbours.
CENTRE, FARTHEST, DRAWN = 0, 1, 2


@kernel
def represent_classes(  # noqa: PLR0913 (records, classes, and their representatives)
    values, levels, weights, n_levels, order, starts, kind, draws
):
    """Return a point for each class: its centre, its record farthest from that, or a random one.

    Classes that hold a stray each are far apart by their centres, however near the strays are;
    by the strays they meet.

    Parameters
    ----------
    values, levels, weights : float64 (n, d), int32 (n, q), float64 (q,)
    order, starts : records class by class
    draws : float64 (c,) in [0, 1): which record, if one is drawn

    Returns
    -------
    centres float64 (c, d), modes int32 (c, q)
    """
    n_classes = starts.size - 1
    centres = np.zeros((n_classes, values.shape[1]))
    modes = np.zeros((n_classes, levels.shape[1]), dtype=np.int32)
    counts = np.zeros(n_levels, dtype=np.int64)
    for c in range(n_classes):
        members = order[starts[c] : starts[c + 1]]
        if kind == DRAWN:
            record = members[int(draws[c] * members.size)]
            copy_into(centres[c], values[record])
            copy_into(modes[c], levels[record])
            continue
        for i in members:
            for j in range(values.shape[1]):
                centres[c, j] += values[i, j] / members.size
        for j in range(levels.shape[1]):
            modes[c, j] = _commonest(levels[:, j], members, counts)
        if kind == FARTHEST:
            record = _find_farthest(values, levels, weights, members, centres[c], modes[c])
            copy_into(centres[c], values[record])
            copy_into(modes[c], levels[record])
    return centres, modes


@kernel
def _commonest(codes, members, counts):
    """The commonest level, of equals the one that is met first; ``counts`` is zero again after."""
    best = codes[members[0]]
    for i in members:
        counts[codes[i]] += 1
    for i in members:
        if counts[codes[i]] > counts[best]:
            best = codes[i]
    for i in members:
        counts[codes[i]] = 0
    return best


@kernel
def _distance(values, levels, weights, i, centre, mode):
    distance = 0.0
    for j in range(values.shape[1]):
        distance += (values[i, j] - centre[j]) ** 2
    for j in range(levels.shape[1]):
        distance += weights[j] if levels[i, j] != mode[j] else 0.0
    return distance


@kernel
def _find_farthest(values, levels, weights, members, centre, mode):
    farthest, most = members[0], -1.0
    for i in members:
        distance = _distance(values, levels, weights, i, centre, mode)
        if distance > most:
            farthest, most = i, distance
    return farthest


@kernel
def turn_points(centres, modes, level_values, directions):
    """Coordinates of points along other directions: float64 (f, c), f = d + q.

    Parameters
    ----------
    level_values : float64 (q, L): a number for each level
    directions : float64 (f, f), one a row
    """
    n_classes, n_numeric = centres.shape
    turned = np.zeros((directions.shape[0], n_classes))
    for i in range(directions.shape[0]):
        for c in range(n_classes):
            for j in range(n_numeric):
                turned[i, c] += directions[i, j] * centres[c, j]
            for j in range(modes.shape[1]):
                turned[i, c] += directions[i, n_numeric + j] * level_values[j, modes[c, j]]
    return turned


@kernel
def find_neighbours(centres, modes, weights, n_wanted):
    """The nearest other points of each, nearest first: int32 (c, n_wanted at most)."""
    n_classes = centres.shape[0]
    n_wanted = min(n_wanted, n_classes - 1)
    nearest = np.empty((n_classes, n_wanted), dtype=np.int32)
    distances = np.empty(n_wanted)
    for c in range(n_classes):
        filled = 0
        for other in range(n_classes):
            if other == c:
                continue
            distance = _distance(centres, modes, weights, other, centres[c], modes[c])
            if filled == n_wanted and distance >= distances[filled - 1]:
                continue
            m = filled if filled < n_wanted else filled - 1
            while m > 0 and distances[m - 1] > distance:
                distances[m], nearest[c, m] = distances[m - 1], nearest[c, m - 1]
                m -= 1
            distances[m], nearest[c, m] = distance, other
            filled = min(filled + 1, n_wanted)
    return nearest


@kernel
def find_cheapest(centres, modes, weights, sizes, sought, order, coordinates):
    """For some classes, the other class whose union with them adds least squared error (Ward).

    Classes are scanned along an axis, outward from each, until the axis alone costs more than the
    best. Of equally cheap ones it is the next in number, after the last the first, so that many
    classes in one place do not all find the same.

    Parameters
    ----------
    centres, modes, weights : float64 (c, d), int32 (c, q), float64 (q,)
    sizes : int64 (c,): records of each class
    sought : int64 (s,): the classes to find a partner for
    order : int64 (c,): all classes, ascending along the axis
    coordinates : float64 (c,): theirs on it, in that order; a coordinate of the centres, or all 0

    Returns
    -------
    partners int64 (s,), -1 where there is no other class; costs float64 (s,)
    """
    n_classes = sizes.size
    rank = np.empty(n_classes, dtype=np.int64)
    for i in range(n_classes):
        rank[order[i]] = i
    smallest = sizes.min()
    partners = np.full(sought.size, -1, dtype=np.int64)
    costs = np.full(sought.size, np.inf)
    for i in range(sought.size):
        c = sought[i]
        at = rank[c]
        low, high = at - 1, at + 1
        while low >= 0 or high < n_classes:
            before = coordinates[at] - coordinates[low] if low >= 0 else np.inf
            after = coordinates[high] - coordinates[at] if high < n_classes else np.inf
            if min(before, after) ** 2 * (sizes[c] * smallest / (sizes[c] + smallest)) > costs[i]:
                break
            if before <= after:
                other = order[low]
                low -= 1
            else:
                other = order[high]
                high += 1
            cost = _distance(centres, modes, weights, other, centres[c], modes[c])
            cost *= sizes[c] * sizes[other] / (sizes[c] + sizes[other])
            nearer = (other - c) % n_classes < (partners[i] - c) % n_classes
            if cost < costs[i] or (cost == costs[i] and nearer):
                partners[i], costs[i] = other, cost
    return partners, costs
