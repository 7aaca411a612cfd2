"""The classes that a class could take in at the least cost, sought in boxes of near classes.

Classes are kept in boxes: ranges of numbers and of codes, per quasi-identifier, that hold the
points of some classes each. A box that is too far away to hold anything cheaper than what is found
is passed over, and so is one where all costs nothing, as what is found does, and comes after it:
of many equal classes few are looked at. What is found is what a scan of all classes finds, to the
last bit.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.algorithm3 import distances_to
from tclose.kernels.clustering.boxes import bound_below, cut_boxes, find_ranges
from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import smallest

# Classes in a box, at most.
BOX_CLASSES = 32
# By which a bound is lowered, as a share of it, whatever it is rounded by.
SURELY = 1e-9

# Boxes b, and the classes in them, box by box; those that were taken in are behind a box's others.
#   numeric float64 (d, c), nominal int32 (q, c), weights float64 (q,)   points of the classes
#   sizes float64 (c,)        records of each, as far as they count
#   most float64              of how many records a class counts as, at most
#   costs float64 (c,)        of those that were looked at last
#   classes, places int64 (c,)   number of each, and where each number is
#   box_of int64 (c,)         the box of each number
#   starts, stops int64 (b,)  where each box's classes begin, and where they end
#   low, high float64 (d, b), lowest, highest int32 (q, b)   ranges of the numbers and the codes
#   firsts int64 (b,)         the first class of each box
#   smallest float64 (b,)     records of the smallest class of each box, or fewer
#   least float64 (b,)        what a class of each box costs at least
Boxes = namedtuple(
    "Boxes",
    "numeric nominal weights sizes most costs classes places box_of starts stops low high lowest "
    "highest firsts smallest least",
)


def make_boxes(centres, levels, weights, sizes, most=np.inf):
    """Boxes of near classes.

    Parameters
    ----------
    centres, levels, weights : float64 (c, d), int32 (c, q), float64 (q,): points of the classes,
        and what a difference of codes counts
    sizes : int64 (c,): records of each class, none of which is empty
    most : float64, as how many records a class counts at most; with 1 all count alike, and what is
        cheapest is nearest
    """
    numeric, nominal = np.ascontiguousarray(centres.T), np.ascontiguousarray(levels.T)
    classes, starts = cut_boxes(numeric, nominal, weights, BOX_CLASSES)
    numeric, nominal = numeric.take(classes, axis=1), nominal.take(classes, axis=1)
    sizes, n_boxes = np.minimum(sizes[classes], float(most)), starts.size - 1
    low, high = find_ranges(numeric, starts)
    lowest, highest = find_ranges(nominal, starts)
    firsts = np.minimum.reduceat(classes, starts[:-1])
    smallest = np.minimum.reduceat(sizes, starts[:-1])
    places, box_of = np.empty_like(classes), np.empty_like(classes)
    places[classes] = np.arange(classes.size)
    box_of[classes] = np.repeat(np.arange(n_boxes), np.diff(starts))
    return Boxes(
        numeric, nominal, weights, sizes, most, np.empty(sizes.size), classes, places, box_of,
        starts[:-1], starts[1:].copy(), low, high, lowest, highest, firsts, smallest,
        np.empty(n_boxes),
    )  # fmt: skip


@kernel(borrows=True)
def take_in(boxes, c, other, sizes):
    """Have class c take in another one: its centre moves, its codes are those of the larger.

    ``sizes`` int64 (c,): records of each class.
    """
    at, of_other, b = boxes.places[c], boxes.places[other], boxes.box_of[c]
    numeric, nominal, size = boxes.numeric, boxes.nominal, sizes[c] + sizes[other]
    share = sizes[other] / size
    for j in range(numeric.shape[0]):
        numeric[j, at] += share * (numeric[j, of_other] - numeric[j, at])
        boxes.low[j, b] = min(boxes.low[j, b], numeric[j, at])
        boxes.high[j, b] = max(boxes.high[j, b], numeric[j, at])
    for j in range(nominal.shape[0]):
        if sizes[other] > sizes[c]:
            nominal[j, at] = nominal[j, of_other]
        boxes.lowest[j, b] = min(boxes.lowest[j, b], nominal[j, at])
        boxes.highest[j, b] = max(boxes.highest[j, b], nominal[j, at])
    boxes.sizes[at] = min(size, boxes.most)
    _take_out(boxes, other)


@kernel(borrows=True)
def _take_out(boxes, c):
    """Have the last class of a box take the place of class c, and end the box before it."""
    at, b = boxes.places[c], boxes.box_of[c]
    boxes.stops[b] -= 1
    last = boxes.stops[b]
    for j in range(boxes.numeric.shape[0]):
        boxes.numeric[j, at] = boxes.numeric[j, last]
    for j in range(boxes.nominal.shape[0]):
        boxes.nominal[j, at] = boxes.nominal[j, last]
    boxes.sizes[at], boxes.classes[at] = boxes.sizes[last], boxes.classes[last]
    boxes.places[boxes.classes[at]] = at
    if boxes.firsts[b] == c:
        left = boxes.classes[boxes.starts[b] : last]
        boxes.firsts[b] = smallest(left, boxes.classes.size)


@kernel
def rank_partners(boxes, c, costs, partners):
    """Find the classes that class c could take in at the least cost, the cheapest first.

    The cost is the growth of the squared error (Ward) of classes of as many records as count; of
    equal ones the first class comes first. Classes that were taken in are left out. ``costs`` and
    ``partners``, float64 and int64 (m,), are written; returns how many there are.
    """
    n_boxes, most, n_found = boxes.smallest.size, partners.size, 0
    at, home = boxes.places[c], boxes.box_of[c]
    point, size = (boxes.numeric[:, at].copy(), boxes.nominal[:, at].copy()), boxes.sizes[at]
    _bound_costs(boxes, point, size)
    for b in range(n_boxes):  # where the same point may be: of many equal ones the first will do
        if boxes.least[b] > 0.0 or boxes.starts[b] == boxes.stops[b]:
            continue
        if n_found == most and costs[0] == 0.0 and boxes.firsts[b] > partners[0]:
            continue
        _measure_box(boxes, b, point, size)
        n_found = _enter_box(boxes, b, at, costs, partners, n_found)
    for away in range(1, n_boxes):
        for side in range(2):
            b = home + away if side else home - away
            if b < 0 or b >= n_boxes or boxes.starts[b] == boxes.stops[b]:
                continue
            if boxes.least[b] == 0.0 or (n_found == most and boxes.least[b] > costs[0]):
                continue
            _measure_box(boxes, b, point, size)
            n_found = _enter_box(boxes, b, at, costs, partners, n_found)
    _sort_heap(costs, partners, n_found)
    return n_found


@kernel(borrows=True)
def _bound_costs(boxes, point, size):
    """Write what taking in a class of each box costs a class of ``size`` records at least."""
    numbers, of_codes = (boxes.low, boxes.high), (boxes.lowest, boxes.highest)
    bound_below(numbers, of_codes, boxes.weights, point[0], point[1], boxes.least)
    for b in range(boxes.least.size):
        boxes.least[b] = (1.0 - SURELY) * _cost(boxes.least[b], size, boxes.smallest[b])


@kernel(borrows=True)
def _measure_box(boxes, b, point, size):
    """Write what taking in each class of a box costs."""
    start, stop = boxes.starts[b], boxes.stops[b]
    distances_to(boxes.numeric, boxes.nominal, boxes.weights, point, start, stop, boxes.costs)
    costs, sizes = boxes.costs[start:stop], boxes.sizes[start:stop]
    for i in range(costs.size):
        costs[i] = _cost(costs[i], size, sizes[i])


@kernel(inline="always")
def _cost(distance, size, other_size):
    return distance * size * other_size / (size + other_size)


@kernel(borrows=True)
def _enter_box(boxes, b, at, costs, partners, n_found):
    """Enter the classes of a box, but the one at a place, in a heap, the dearest on top.

    Returns how many it holds now.
    """
    most = partners.size
    for i in range(boxes.starts[b], boxes.stops[b]):
        cost, other = boxes.costs[i], boxes.classes[i]
        if i == at or cost == np.inf:
            continue
        if n_found < most:
            put_below(costs, partners, n_found, cost, other)
            n_found += 1
        elif _precedes(cost, other, costs[0], partners[0]):
            put_on_top(costs, partners, most, cost, other)
    return n_found


@kernel(borrows=True)
def put_below(costs, partners, place, cost, other):
    """Add one to a heap that ends before a place."""
    while place > 0:
        above = (place - 1) // 2
        if not _precedes(costs[above], partners[above], cost, other):
            break
        costs[place], partners[place] = costs[above], partners[above]
        place = above
    costs[place], partners[place] = cost, other


@kernel(borrows=True)
def put_on_top(costs, partners, size, cost, other):
    """Have one take the place of the first in a heap of so many."""
    place = 0
    while 2 * place + 1 < size:
        below, next_one = 2 * place + 1, 2 * place + 2
        if next_one < size and _precedes(
            costs[below], partners[below], costs[next_one], partners[next_one]
        ):
            below = next_one
        if not _precedes(cost, other, costs[below], partners[below]):
            break
        costs[place], partners[place] = costs[below], partners[below]
        place = below
    costs[place], partners[place] = cost, other


@kernel(borrows=True)
def _sort_heap(costs, partners, size):
    """Make an ascending list of a heap of so many."""
    for last in range(size - 1, 0, -1):
        cost, other = costs[last], partners[last]
        costs[last], partners[last] = costs[0], partners[0]
        put_on_top(costs, partners, last, cost, other)


@kernel(inline="always")
def _precedes(cost, c, other_cost, other):
    return cost < other_cost or (cost == other_cost and c < other)
