"""A bound from below of the distance of a union of classes, from what is kept of each class.

The values of an ordered attribute are cut into ranges. Within one, the integral of the difference
of two cumulative distributions is no more than that of its size. Of a tree (see `tree`) the nodes
by which most of the table would have to go have a range each, and all others share one: there a sum
of differences is no more than that of their sizes. What ranges hold of a union are sums of its
classes'. So a union takes a few additions, however many records it has, and needs none of them.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import find_crossing

# Ranges that hold equal shares of the records, and of the values: where most records have one
# value, distances are made among the others.
N_SHARES = 8
N_RANGES = 2 * N_SHARES

# Sums over the values of each range of how many records are up to them, in shares of all values.
#   of_classes float64 (p, c, N_RANGES)   of p attributes and c classes, which unions add up
#   of_table float64 (p, N_RANGES)        divided by the table's records
# Over a tree: sums over the nodes of a range of the records below, times the weight of the node.
# Zeros where all values are one.
RangeWorks = namedtuple("RangeWorks", "of_classes of_table")


@kernel
def sum_ranges(labels, n_classes, references):
    """Works of ranges; ``labels`` int64 (n,), ``references`` as in `repair.merge_classes`."""
    codes, tables = references
    of_classes = np.zeros((len(tables), n_classes, N_RANGES))
    of_table = np.zeros((len(tables), N_RANGES))
    for a in range(len(tables)):
        table = tables[a]
        n_steps = table.cumulative.size - 1
        if table.paths.shape[0] > 0:
            _sum_nodes(labels, codes[a], table, of_classes[a], of_table[a])
            continue
        if n_steps < 1:
            continue
        ends = _cut_ranges(table.cumulative, n_steps)
        for r in range(N_RANGES):
            of_range = table.prefix[ends[r + 1]] - table.prefix[ends[r]]
            of_table[a, r] = of_range / table.n_records / n_steps
        for i in range(labels.size):
            of_class, code = of_classes[a, labels[i]], codes[a, i]
            for r in range(N_RANGES - 1, -1, -1):
                if ends[r + 1] <= code:
                    break
                of_class[r] += (ends[r + 1] - max(ends[r], code)) / n_steps
    return RangeWorks(of_classes, of_table)


@kernel
def _sum_nodes(labels, codes, table, of_classes, of_table):
    """Write what the ranges of nodes hold of each class, (c, N_RANGES), and of the table."""
    range_of = np.full(table.weights.size, N_RANGES - 1)
    works = table.weights * table.below / table.n_records
    left = works.copy()
    for r in range(min(N_RANGES - 1, left.size)):
        largest = np.argmax(left)
        range_of[largest], left[largest] = r, -1.0
    for node in range(works.size):
        of_table[range_of[node]] += works[node]
    for i in range(labels.size):
        for step in range(table.paths.shape[1]):
            node = table.paths[codes[i], step]
            if node < 0:
                break
            of_classes[labels[i], range_of[node]] += table.weights[node]


@kernel
def _cut_ranges(cumulative, n_steps):
    """The ends of the ranges of an attribute's values: where each begins, and the last one ends."""
    ends = np.zeros(N_RANGES + 1, dtype=np.int64)
    for s in range(1, N_SHARES + 1):
        level = s * cumulative[-1] / N_SHARES
        ends[2 * s - 1] = find_crossing(cumulative, 0, n_steps, level)
        ends[2 * s] = s * n_steps // N_SHARES
    ends.sort()
    return ends


@kernel(borrows=True)
def bound_union(works, a, pair, size):
    """Return what a union of two classes of ``size`` records in all is at least from the table."""
    ours, theirs = works.of_classes[a, pair[0]], works.of_classes[a, pair[1]]
    of_table, least = works.of_table[a], 0.0
    for r in range(N_RANGES):
        least += abs((ours[r] + theirs[r]) / size - of_table[r])
    return least
