"""Re-assignment of one record of every class at once: the cheapest of all permutations.

Exchanges between two classes stop where only a ring of three or more would help. Here each class of
a block offers one record, and all of them are assigned anew at the least cost: a linear assignment,
in which a class takes no record that would bring it above a limit. A class may take back its own
record, so there is always a solution, and it costs no more than before.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered_delta import distance_after_swap
from tclose.kernels.emd.tree_delta import tree_after_swap
from tclose.kernels.refinement.block import add_record, remove_record, update_class
from tclose.kernels.refinement.search import LEAST_GAIN

# Passes in which free rows bid for columns, before shortest paths assign the others.
BIDDING_PASSES = 2


@kernel
def solve_assignment(costs):
    """Column of each row so that the sum of the costs is least: int64 (n,); costs may be infinite.

    The method of Jonker and Volgenant (Computing 38, 1987): each column takes its cheapest row,
    free rows bid, and the rows still free are assigned by shortest augmenting paths; O(n^3).
    There has to be an assignment at a finite cost.
    """
    column_of, row_of, prices = _take_cheapest(costs)
    free = np.flatnonzero(column_of < 0)
    for _ in range(BIDDING_PASSES):
        free = _bid(costs, column_of, row_of, prices, free)
    for row in free:
        _augment(costs, column_of, row_of, prices, row)
    return column_of


@kernel
def _take_cheapest(costs):
    """Each column takes the row that is cheapest, if no column has it; its price is that cost."""
    n = costs.shape[0]
    column_of, row_of = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    prices, cheapest = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            if costs[i, j] < prices[j]:
                prices[j], cheapest[j] = costs[i, j], i
    for j in range(n):
        if column_of[cheapest[j]] < 0:
            column_of[cheapest[j]] = j
            row_of[j] = cheapest[j]
    return column_of, row_of, prices


@kernel
def _bid(costs, column_of, row_of, prices, free):
    """Free rows take the column that is best for them, at the price of their second best.

    Who had it is free again, and bids at once if the price has changed; returns who is free then.
    """
    n = costs.shape[0]
    waiting, left = free.copy(), np.empty(free.size, dtype=np.int64)
    at, n_left, n_bids = 0, 0, 0
    while at < waiting.size:
        row = waiting[at]
        at += 1
        first, second, of_first, of_second = np.inf, np.inf, -1, -1
        for j in range(n):
            reduced = costs[row, j] - prices[j]
            if reduced < first:
                second, of_second, first, of_first = first, of_first, reduced, j
            elif reduced < second:
                second, of_second = reduced, j
        n_bids += 1
        is_better = first < second < np.inf and n_bids < 8 * n  # rounding must not bid for ever
        if is_better:
            prices[of_first] -= second - first
        elif second < np.inf and row_of[of_first] >= 0:
            of_first = of_second
        before = row_of[of_first]
        column_of[row], row_of[of_first] = of_first, row
        if before < 0:
            continue
        column_of[before] = -1
        if is_better:
            at -= 1
            waiting[at] = before
        else:
            left[n_left] = before
            n_left += 1
    return left[:n_left]


@kernel
def _augment(costs, column_of, row_of, prices, start):
    """Give a free row a column by the shortest path over the columns that others have."""
    n = costs.shape[0]
    lengths, before = costs[start] - prices, np.full(n, start, dtype=np.int64)
    left, n_left = np.arange(n), n
    achieved, n_reached = np.empty(n, dtype=np.int64), 0
    while True:
        nearest = 0
        for k in range(1, n_left):
            if lengths[left[k]] < lengths[left[nearest]]:
                nearest = k
        column = left[nearest]
        length = lengths[column]
        if row_of[column] < 0:
            break
        n_left -= 1
        left[nearest] = left[n_left]
        achieved[n_reached] = column
        n_reached += 1
        row = row_of[column]
        shift = length - (costs[row, column] - prices[column])
        for k in range(n_left):
            j = left[k]
            through = shift + costs[row, j] - prices[j]
            if through < lengths[j]:
                lengths[j], before[j] = through, row
    for k in range(n_reached):
        prices[achieved[k]] += lengths[achieved[k]] - length
    while True:
        row = before[column]
        row_of[column] = row
        column_of[row], column = column, column_of[row]
        if row == start:
            return


@kernel(borrows=True)
def _fill_costs(block, classes, offered, costs):
    """Fill in the loss of each class (row) if it takes each record (column) for the one it offered.

    Terms that all permutations share are left out; infinite where a class would be above a limit.
    """
    values, levels, counts = block.values, block.levels, block.counts
    members, record_terms, ranks = block.members, block.record_terms, block.ranks
    rank_terms, sums, limits, totals = block.rank_terms, block.sums, block.limits, block.totals
    trees, below, tree_sums = block.trees, block.below, block.tree_sums
    for i in range(classes.size):
        c, x = classes[i], offered[i]
        size = block.sizes[c]
        for m in range(classes.size):
            y = offered[m]
            may_take = i == m or block.excess[c] == 0.0
            for a in range(limits.size):
                if i == m or not may_take:
                    break
                at = 0
                while at < size and record_terms[a, members[a, c, at], 0] <= record_terms[a, y, 0]:
                    at += 1
                distance = distance_after_swap(
                    rank_terms, record_terms, sums, a, c, size, ranks[a, x], y, at
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


@kernel
def reassign(block, classes, share):
    """Reassign the record at ``share`` of each class's ranks; return how many changed class.

    ``classes`` int64 (c,): those that take part; a class above a limit does not.
    """
    n = classes.size
    offered = np.empty(n, dtype=np.int64)
    for i in range(n):
        offered[i] = block.members[0, classes[i], int(share * block.sizes[classes[i]])]
    costs = np.empty((n, n))
    _fill_costs(block, classes, offered, costs)
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
            remove_record(block, classes[i], offered[i])
    for i in range(n):
        if taken[i] != i:
            add_record(block, classes[i], offered[taken[i]])
            update_class(block, classes[i])
            n_changed += 1
    return n_changed
