"""The classes that a class could take in at the least cost, sought in boxes of near classes.

Classes are kept in boxes: ranges of numbers and of codes, per quasi-identifier, that hold the
points of some classes each. A box that is too far away to hold anything cheaper than what is found
is passed over, so what is found is what a scan of all classes finds, to the last bit.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.boxes import bound_below, cut_boxes, find_ranges
from tclose.kernels.compiler import kernel

# Classes in a box, at most.
BOX_CLASSES = 32
# By which a bound is lowered, as a share of it, whatever it is rounded by.
SURELY = 1e-9

# Boxes b, and the classes in them.
#   order int64 (c,)    classes box by box; starts int64 (b + 1,): where each box begins in it
#   box_of int64 (c,)   the box of each class
#   low, high float64 (d, b), lowest, highest int32 (q, b)   ranges of the numbers and the codes
#   sizes int64 (b,)    records of the smallest class of each box, or fewer
#   least float64 (b,)  room for what a class of each box costs at least
Boxes = namedtuple("Boxes", "order starts box_of low high lowest highest sizes least")


def make_boxes(centres, levels, weights, sizes):
    """Boxes of near classes.

    Parameters
    ----------
    centres, levels, weights : float64 (c, d), int32 (c, q), float64 (q,): points of the classes,
        and what a difference of codes counts
    sizes : int64 (c,): records of each class, none of which is empty
    """
    numeric, nominal = np.ascontiguousarray(centres.T), np.ascontiguousarray(levels.T)
    order, starts = cut_boxes(numeric, nominal, weights, BOX_CLASSES)
    box_of = np.empty(sizes.size, dtype=np.int64)
    box_of[order] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    low, high = find_ranges(numeric[:, order], starts)
    lowest, highest = find_ranges(nominal[:, order], starts)
    smallest = np.minimum.reduceat(sizes[order], starts[:-1])
    least = np.empty(smallest.size)
    return Boxes(order, starts, box_of, low, high, lowest, highest, smallest, least)


@kernel(borrows=True)
def widen_box(boxes, c, centres, levels):
    """Have the box of class c hold its point, which may have moved."""
    b = boxes.box_of[c]
    for j in range(centres.shape[1]):
        boxes.low[j, b] = min(boxes.low[j, b], centres[c, j])
        boxes.high[j, b] = max(boxes.high[j, b], centres[c, j])
    for j in range(levels.shape[1]):
        boxes.lowest[j, b] = min(boxes.lowest[j, b], levels[c, j])
        boxes.highest[j, b] = max(boxes.highest[j, b], levels[c, j])


@kernel(borrows=True)
def _bound_costs(boxes, centre, codes, weights, size):
    """Write what taking in a class of each box costs a class of ``size`` records at least."""
    least = boxes.least
    numbers, of_codes = (boxes.low, boxes.high), (boxes.lowest, boxes.highest)
    bound_below(numbers, of_codes, weights, centre, codes, least)
    for b in range(least.size):
        least[b] = (1.0 - SURELY) * _cost(least[b], size, boxes.sizes[b])


@kernel(inline="always")
def _cost(distance, size, other_size):
    return distance * size * other_size / (size + other_size)


@kernel(borrows=True)
def rank_partners(boxes, points, sizes, c, costs, partners):
    """Find the classes that class c could take in at the least cost, the cheapest first.

    The cost is the growth of the squared error (Ward); of equal ones the first class comes first.
    ``points``: centres, levels and weights as in `make_boxes`; classes of no record are left out.
    ``costs`` and ``partners``, float64 and int64 (m,), are written; returns how many there are.
    """
    centres, levels, weights = points
    n_boxes, most, n_ranked = boxes.sizes.size, partners.size, 0
    home = boxes.box_of[c]
    _bound_costs(boxes, centres[c], levels[c], weights, sizes[c])
    for away in range(n_boxes):
        for side in range(2 if away else 1):
            b = home + away if side else home - away
            if b < 0 or b >= n_boxes:
                continue
            if n_ranked == most and boxes.least[b] > costs[most - 1]:
                continue
            n_ranked = _rank_box(boxes, b, points, sizes, c, costs, partners, n_ranked)
    return n_ranked


@kernel(borrows=True)
def _rank_box(  # noqa: PLR0913 (classes of a box, and what is found so far)
    boxes, b, points, sizes, c, costs, partners, n_ranked
):
    """Enter the classes of a box; returns how many there are now."""
    centres, levels, weights = points
    most = partners.size
    for other in boxes.order[boxes.starts[b] : boxes.starts[b + 1]]:
        if other == c or sizes[other] == 0:
            continue
        distance = 0.0
        for j in range(centres.shape[1]):
            distance += (centres[c, j] - centres[other, j]) ** 2
        for j in range(levels.shape[1]):
            distance += weights[j] if levels[c, j] != levels[other, j] else 0.0
        cost = _cost(distance, sizes[c], sizes[other])
        if cost == np.inf:
            continue
        place = n_ranked
        while place > 0 and _precedes(cost, other, costs[place - 1], partners[place - 1]):
            place -= 1
        if place == most:
            continue
        n_ranked = min(n_ranked + 1, most)
        for p in range(n_ranked - 1, place, -1):
            costs[p], partners[p] = costs[p - 1], partners[p - 1]
        costs[place], partners[place] = cost, other
    return n_ranked


@kernel(inline="always")
def _precedes(cost, c, other_cost, other):
    return cost < other_cost or (cost == other_cost and c < other)
