"""Records that are in no cluster yet, in boxes of near ones: the farthest and the nearest of them.

A box none of whose records can be what is sought is passed over, also where its records are as far
away as what is found and all come after it: of many equal records few are looked at. What is found
is what a look at each of the records finds, to the last bit: a bound is summed as distances are,
term by term, and no term of it is on the wrong side of a record's, before it is rounded or after.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.algorithm3 import distances_to, find_farthest, swap_out
from tclose.kernels.clustering.boxes import bound_below, cut_boxes, find_ranges
from tclose.kernels.clustering.live_records import enter_nearest
from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import smallest

# Records of a box, at most.
BOX_RECORDS = 64

# Boxes b, and the live records in them, box by box; those of a box that were taken are behind them.
#   numeric float64 (d, n), nominal int32 (q, n), weights float64 (q,)   as in `live_records`
#   rows int64 (n,)         position of each record in the input
#   distances float64 (n,)  squared, of those that were looked at last
#   box_of int64 (m,)       the box of each record of the input
#   starts, alive int64 (b,)   where each box begins, and its live records
#   low, high float64 (d, b), lowest, highest int32 (q, b)   their ranges
#   firsts int64 (b,)       the first row of each box
#   bounds float64 (b,)     squared distances that none of a box's records is on the other side of
BoxedRecords = namedtuple(
    "BoxedRecords",
    "numeric nominal weights rows distances box_of starts alive low high lowest highest firsts "
    "bounds",
)


def box_records(records, n_left):
    """Boxes of the live records of a `Remaining`."""
    numeric = np.ascontiguousarray(records.numeric[:, :n_left])
    nominal = np.ascontiguousarray(records.nominal[:, :n_left])
    order, starts = cut_boxes(numeric, nominal, records.weights, BOX_RECORDS)
    numeric, nominal = numeric.take(order, axis=1), nominal.take(order, axis=1)
    rows = records.rows[order]
    box_of = np.empty(records.rows.size, dtype=np.int64)
    box_of[rows] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    low, high = find_ranges(numeric, starts)
    lowest, highest = find_ranges(nominal, starts)
    bounds = np.empty(starts.size - 1)
    return BoxedRecords(
        numeric, nominal, records.weights, rows, np.empty(n_left), box_of,
        starts[:-1].copy(), np.diff(starts), low, high, lowest, highest,
        np.minimum.reduceat(rows, starts[:-1]), bounds,
    )  # fmt: skip


@kernel(borrows=True)
def farthest_boxed(boxes, point, levels):
    """Row of the live record that is farthest from a point; of equal ones the first.

    ``point``: its values float64 (d,); ``levels``: its codes int32 (q,).
    """
    bounds, distances, rows = boxes.bounds, boxes.distances, boxes.rows
    _bound_above(boxes, point, levels)
    best = _farthest_of(boxes, np.argmax(bounds), point, levels)
    for b in range(bounds.size):
        is_tied = bounds[b] == distances[best] and boxes.firsts[b] < rows[best]
        if bounds[b] > distances[best] or is_tied:
            found = _farthest_of(boxes, b, point, levels)
            is_first = distances[found] == distances[best] and rows[found] < rows[best]
            if distances[found] > distances[best] or is_first:
                best = found
    return rows[best]


@kernel(borrows=True)
def nearest_boxed(boxes, point, levels, home, nearest):
    """Find the places of the live records nearest to a point, ascending: int64 (n,), written.

    Equal ones come by their rows. ``home``: the box where the search begins. There are n live ones.
    """
    bounds, n_boxes, n_found = boxes.bounds, boxes.bounds.size, 0
    numbers, codes = (boxes.low, boxes.high), (boxes.lowest, boxes.highest)
    bound_below(numbers, codes, boxes.weights, point, levels, bounds)
    for away in range(n_boxes):
        for side in range(2 if away else 1):
            b = home + away if side else home - away
            if b < 0 or b >= n_boxes:
                continue
            if n_found == nearest.size:
                last = nearest[-1]
                is_later = bounds[b] == boxes.distances[last] and boxes.firsts[b] > boxes.rows[last]
                if bounds[b] > boxes.distances[last] or is_later:
                    continue
            start, stop = _measure_box(boxes, b, point, levels)
            n_found = enter_nearest(boxes.distances, boxes.rows, start, stop, nearest, n_found)


@kernel
def take_boxed(boxes, taken):
    """Take live records at some places, int64 (n,), out of their boxes."""
    for at in np.sort(taken)[::-1]:
        b = boxes.box_of[boxes.rows[at]]
        boxes.alive[b] -= 1
        last = boxes.starts[b] + boxes.alive[b]
        swap_out(boxes.numeric, boxes.nominal, boxes.rows, boxes.distances, at, last)
        if last > boxes.starts[b]:
            _narrow(boxes.numeric, boxes.low, boxes.high, b, boxes.starts[b], last)
            _narrow(boxes.nominal, boxes.lowest, boxes.highest, b, boxes.starts[b], last)
        if boxes.rows[last] == boxes.firsts[b]:
            left = boxes.rows[boxes.starts[b] : last]
            boxes.firsts[b] = smallest(left, boxes.box_of.size)


@kernel(borrows=True)
def _narrow(values, low, high, b, start, stop):
    """Have the ranges of a box hold what it has without the record at ``stop``, and no more."""
    for j in range(low.shape[0]):
        left, gone = values[j, start:stop], values[j, stop]
        if gone == low[j, b]:
            low[j, b] = left[0]
            for value in left:
                low[j, b] = min(low[j, b], value)
        if gone == high[j, b]:
            high[j, b] = left[0]
            for value in left:
                high[j, b] = max(high[j, b], value)


@kernel(borrows=True)
def _bound_above(boxes, point, levels):
    """Write what the distance of none of a box's live records is above; below 0 if it has none."""
    bounds = boxes.bounds
    bounds[:] = 0.0
    for j in range(point.size):
        low, high, value = boxes.low[j], boxes.high[j], point[j]
        for b in range(bounds.size):
            below, above = value - low[b], high[b] - value
            far = np.maximum(below, above)
            bounds[b] += far * far
    for j in range(levels.size):
        lowest, highest = boxes.lowest[j], boxes.highest[j]
        level, weight = levels[j], boxes.weights[j]
        for b in range(bounds.size):
            bounds[b] += 0.0 if (lowest[b] == level) & (highest[b] == level) else weight
    for b in range(bounds.size):
        bounds[b] = bounds[b] if boxes.alive[b] else -1.0


@kernel(borrows=True)
def _measure_box(boxes, b, point, levels):
    """Measure the live records of a box; return where they begin and end."""
    start, stop = boxes.starts[b], boxes.starts[b] + boxes.alive[b]
    distances_to(
        boxes.numeric, boxes.nominal, boxes.weights, (point, levels), start, stop, boxes.distances
    )
    return start, stop


@kernel(borrows=True)
def _farthest_of(boxes, b, point, levels):
    _measure_box(boxes, b, point, levels)
    own = slice(b, b + 1)
    return find_farthest(boxes.distances, boxes.rows, boxes.starts[own], boxes.alive[own])
