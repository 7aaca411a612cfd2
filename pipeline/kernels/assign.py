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
from pipeline.kernels.tree_budget import tree_after_swap


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
def _fill_costs(block, classes, given, costs):
    """Loss of each class (row) if it takes each record (column) for the one it gave.

    But for what all permutations have in common; infinite where the class would be above a limit.
    """
    values, levels, counts = block.values, block.levels, block.counts
    members, places, ranks = block.members, block.places, block.ranks
    ladders, sums, limits, totals = block.ladders, block.sums, block.limits, block.totals
    trees, below, tree_sums = block.trees, block.below, block.tree_sums
    for i in range(classes.size):
        c, x = classes[i], given[i]
        size = block.sizes[c]
        for m in range(classes.size):
            y = given[m]
            may_take = i == m or block.excess[c] == 0.0
            for a in range(limits.size):
                if i == m or not may_take:
                    break
                at = 0
                while at < size and places[a, members[a, c, at], 0] <= places[a, y, 0]:
                    at += 1
                distance = distance_after_swap(
                    ladders, places, sums, a, c, size, ranks[a, x], y, at
                )
                may_take = distance <= limits[a]
            for u in range(trees.limits.size):
                if i == m or not may_take:
                    break
                distance = tree_after_swap(trees, below, tree_sums, u, c, size, x, y)
                may_take = distance <= trees.limits[u]
            if not may_take:
                costs[i, m] = np.inf
                continue
            cost = 0.0
            for j in range(values.shape[1]):
                cost -= (totals[c, j] - values[x, j] + values[y, j]) ** 2
            for j in range(levels.shape[1]):
                if levels[x, j] != levels[y, j]:
                    more = 1.0 + counts[c, j, levels[y, j]] - counts[c, j, levels[x, j]]
                    cost -= block.weights[j] * more
            costs[i, m] = cost / size


@njit(cache=True, nogil=True)
def reassign(block, classes, share):
    """Deal out anew the record at ``share`` of each class's ranks; returns how many changed class.

    ``classes`` int64 (c,): who takes part; a class above a limit does not.
    """
    n = classes.size
    given = np.empty(n, dtype=np.int64)
    for i in range(n):
        given[i] = block.members[0, classes[i], int(share * block.sizes[classes[i]])]
    costs = np.empty((n, n))
    _fill_costs(block, classes, given, costs)
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
