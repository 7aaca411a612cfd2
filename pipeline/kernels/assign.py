"""Re-assignment of one record of every class at once: the cheapest of all permutations.

Exchanges between two classes stop where only a ring of three or more would help. Here each class of
a block gives one record away, and all of them are dealt out anew, as cheaply as can be: a linear
assignment, in which a class takes no record that would bring it above a limit. What a class gave
is among what it may take, so there is always a solution, and it costs no more than before.
"""

import numpy as np
from numba import njit

from pipeline.kernels.block import add_record, remove_record, update_class
from pipeline.kernels.budget import distance_after_swap
from pipeline.kernels.search import LEAST_GAIN


@njit(cache=True, nogil=True)
def solve_assignment(costs):
    """Column of each row so that the sum of the costs is least: int64 (n,); costs may be infinite.

    The Hungarian method with potentials, by shortest augmenting paths; O(n^3).
    """
    n = costs.shape[0]
    row_of = np.full(n + 1, -1, dtype=np.int64)
    row_price, column_price = np.zeros(n), np.zeros(n + 1)
    least, before = np.empty(n), np.empty(n, dtype=np.int64)
    for first in range(n):
        row_of[n] = first
        column = n
        least[:] = np.inf
        done = np.zeros(n + 1, dtype=np.bool_)
        while row_of[column] >= 0:
            done[column] = True
            row = row_of[column]
            step, following = np.inf, -1
            for j in range(n):
                if done[j]:
                    continue
                reduced = costs[row, j] - row_price[row] - column_price[j]
                if reduced < least[j]:
                    least[j], before[j] = reduced, column
                if least[j] < step:
                    step, following = least[j], j
            for j in range(n + 1):
                if done[j]:
                    row_price[row_of[j]] += step
                    column_price[j] -= step
                elif j < n:
                    least[j] -= step
            column = following
        while column != n:
            row_of[column] = row_of[before[column]]
            column = before[column]
    taken = np.empty(n, dtype=np.int64)
    for j in range(n):
        taken[row_of[j]] = j
    return taken


@njit(cache=True, nogil=True)
def _taking_cost(block, c, leaves, joins):
    """Loss of class c once a record is replaced, but for what all permutations have in common."""
    cost = 0.0
    for j in range(block.values.shape[1]):
        total = block.totals[c, j] - block.values[leaves, j] + block.values[joins, j]
        cost -= total * total / block.sizes[c]
    for j in range(block.levels.shape[1]):
        left, joined = block.levels[leaves, j], block.levels[joins, j]
        squares = block.squares[c, j]
        if left != joined:
            squares += 2 * (1 + block.counts[c, j, joined] - block.counts[c, j, left])
        cost -= 0.5 * squares / block.sizes[c]
    return cost


@njit(cache=True, nogil=True)
def _may_take(block, c, leaves, joins):
    for a in range(block.limits.size):
        z = block.places[a, joins, 0]
        at = 0
        while at < block.sizes[c] and block.places[a, block.members[a, c, at], 0] <= z:
            at += 1
        distance = distance_after_swap(block, a, c, block.ranks[a, leaves], joins, at)
        if not distance <= block.limits[a]:
            return False
    return True


@njit(cache=True, nogil=True)
def reassign(block, classes, share):
    """Deal out anew the record at ``share`` of each class's ranks; returns how many changed class.

    ``classes`` int64 (c,): who takes part; a class above a limit does not.
    """
    n = classes.size
    given = np.empty(n, dtype=np.int64)
    for i in range(n):
        given[i] = block.members[0, classes[i], int(share * block.sizes[classes[i]])]
    costs = np.full((n, n), np.inf)
    for i in range(n):
        c = classes[i]
        for m in range(n):
            if i == m or (block.excess[c] == 0.0 and _may_take(block, c, given[i], given[m])):
                costs[i, m] = _taking_cost(block, c, given[i], given[m])
    taken = solve_assignment(costs)
    before, after = 0.0, 0.0
    for i in range(n):
        before += costs[i, i]
        after += costs[i, taken[i]]
    if not after < before - LEAST_GAIN:
        return 0
    n_changed = 0
    for i in range(n):
        if taken[i] != i:
            remove_record(block, classes[i], given[i])
    for i in range(n):
        if taken[i] != i:
            add_record(block, classes[i], given[taken[i]])
            update_class(block, classes[i])
            n_changed += 1
    return n_changed
