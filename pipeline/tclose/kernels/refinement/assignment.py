"""Re-assignment of one record of every class at once: the cheapest of all permutations.

Exchanges between two classes stop where only a ring of three or more would help. Here each class of
a block offers one record, and all of them are assigned anew at the least cost: a linear assignment,
in which a record goes to one of the classes that gain most by it, and to none that it would bring
above a limit. It may stay where it is, so there is always a solution, and it costs no more than
before.
"""

import numpy as np

from tclose.kernels.clustering.blocks import select_smallest
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered_delta import distance_after_swap
from tclose.kernels.emd.tree_delta import tree_after_swap
from tclose.kernels.refinement.block import (
    add_record,
    count_seconds_after,
    remove_record,
    update_class,
)
from tclose.kernels.refinement.search import LEAST_GAIN

# Passes in which free rows bid for columns, before shortest paths assign the others.
BIDDING_PASSES = 2
# Classes that a record may go to at first, its own among them; and those that are added each time
# that a solution shows which others would be cheaper.
CANDIDATES, ADDED = 20, 10
MOST_SOLVED = 8
# Share of all that was saved so far that a solution has to save for another one to follow.
LEAST_SAVED = 0.005


@kernel
def solve_assignment(columns, costs):
    """Return the column of each row so that the sum of the costs is least: int64 (n,).

    The method of Jonker and Volgenant (Computing 38, 1987) for few columns of each row: each column
    takes its cheapest row, free rows bid, and the rows still free are assigned by shortest
    augmenting paths. There has to be an assignment at a finite cost.

    Parameters
    ----------
    columns : int64 (n, m): of each row those that it may take
    costs : float64 (n, m): of each of these, the finite ones of a row first; infinite for none,
        whatever column is there
    """
    column_of, row_of, prices = _take_cheapest(columns, costs)
    _assign_free(columns, costs, column_of, row_of, prices)
    return column_of


@kernel
def _assign_free(columns, costs, column_of, row_of, prices):
    """Assign the rows that are free, at the least cost of all; prices are such that others paid it.

    ``prices`` float64 (n,): of the columns. A row's column is the cheapest for it beside its price.
    """
    free = np.flatnonzero(column_of < 0)
    for _ in range(BIDDING_PASSES):
        free = _bid(columns, costs, column_of, row_of, prices, free)
    for row in free:
        _augment(columns, costs, column_of, row_of, prices, row)


@kernel
def _take_cheapest(columns, costs):
    """Each column takes the row that is cheapest, if no column has it; its price is that cost."""
    n, n_candidates = costs.shape
    column_of, row_of = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    prices, cheapest = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    for i in range(n):
        for at in range(n_candidates):
            if costs[i, at] < np.inf and costs[i, at] < prices[columns[i, at]]:
                prices[columns[i, at]], cheapest[columns[i, at]] = costs[i, at], i
    for j in range(n):
        if column_of[cheapest[j]] < 0:
            column_of[cheapest[j]] = j
            row_of[j] = cheapest[j]
    return column_of, row_of, prices


@kernel
def _bid(columns, costs, column_of, row_of, prices, free):
    """Free rows take the column that is best for them, at the price of their second best.

    Who had it is free again, and bids at once if the price has changed; returns who is free then.
    """
    n, n_candidates = costs.shape
    waiting, left = free.copy(), np.empty(free.size, dtype=np.int64)
    at, n_left, n_bids = 0, 0, 0
    while at < waiting.size:
        row = waiting[at]
        at += 1
        first, second, of_first, of_second = np.inf, np.inf, -1, -1
        for c in range(n_candidates):
            if costs[row, c] == np.inf:
                break
            j = columns[row, c]
            reduced = costs[row, c] - prices[j]
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
def _augment(columns, costs, column_of, row_of, prices, start):
    """Give a free row a column by the shortest path over the columns that others have."""
    n, n_candidates = costs.shape
    lengths, before = np.full(n, np.inf), np.empty(n, dtype=np.int64)
    reached, n_reached = np.empty(n, dtype=np.int64), 0  # columns: settled ones, then the others
    is_settled, n_settled = np.zeros(n, dtype=np.bool_), 0
    row, shift = start, 0.0
    while True:
        for c in range(n_candidates):
            if costs[row, c] == np.inf:
                break
            j = columns[row, c]
            if is_settled[j]:  # rounding must not find a way back
                continue
            through = shift + costs[row, c] - prices[j]
            if through < lengths[j]:
                if lengths[j] == np.inf:
                    reached[n_reached] = j
                    n_reached += 1
                lengths[j], before[j] = through, row
        nearest = n_settled
        length = lengths[reached[nearest]]
        for at in range(n_settled + 1, n_reached):
            column = reached[at]
            is_free = lengths[column] == length and row_of[column] < 0  # of equals it ends the way
            if lengths[column] < length or is_free:
                nearest, length = at, lengths[column]
        column = reached[nearest]
        if row_of[column] < 0:
            break
        reached[nearest], reached[n_settled] = reached[n_settled], column
        is_settled[column] = True
        n_settled += 1
        row = row_of[column]
        own = 0
        while columns[row, own] != column:
            own += 1
        shift = length - (costs[row, own] - prices[column])
    for at in range(n_settled):
        prices[reached[at]] += lengths[reached[at]] - length
    while True:
        row = before[column]
        row_of[column] = row
        column_of[row], column = column, column_of[row]
        if row == start:
            return


@kernel(borrows=True)
def _fill_candidates(block, classes, offered, parts, room, columns, costs):
    """Fill in the classes that each offered record (row) may go to, and what their loss is then.

    The first is its own. The others are those that gain most by it beside the record they offered,
    as far as it leaves them within the limits. Terms of the loss that all permutations share are
    left out of the costs.

    Parameters
    ----------
    parts : as from `_take_apart`
    room : own costs and gains float64 (n,), classes int64 (n,), and float64 (n, n): what each class
        loses if it takes each record, written for records of classes within the limits
    """
    own, gains, nearest, priced = room
    n = classes.size
    n_candidates = min(CANDIDATES, n)
    for m in range(n):
        own[m] = _price_own(block, classes[m], parts)
    for m in range(n):
        columns[m, 0], costs[m, 0] = m, own[m]
        costs[m, 1:] = np.inf
        if block.excess[classes[m]] != 0.0:
            continue
        prices = priced[m]
        _price_record(block, offered[m], parts, prices)
        for i in range(n):
            gains[i], nearest[i] = prices[i] - own[i], i
        gains[m] = -np.inf
        select_smallest(gains, nearest, n_candidates)
        n_found = 1
        for at in range(n_candidates):
            i = nearest[at]
            if i != m and _may_take(block, classes[i], offered[i], offered[m]):
                columns[m, n_found], costs[m, n_found] = i, prices[i]
                n_found += 1


@kernel(borrows=True)
def _add_candidates(block, classes, offered, room, candidates, solution):
    """Add the classes that a solution shows to be cheaper for a record, which is free then.

    Returns how many. Where there are none, no other permutation is cheaper: by the prices of the
    classes each record is where it is cheapest.
    """
    (columns, costs), (class_of, record_of, prices) = candidates, solution
    _, gains, nearest, priced = room
    n, n_added = classes.size, 0
    for m in range(n):
        if block.excess[classes[m]] != 0.0:
            continue
        at, filled = 0, 0
        for c in range(columns.shape[1]):
            if costs[m, c] < np.inf:
                filled = c + 1
                if columns[m, c] == class_of[m]:
                    at = c
        paid = costs[m, at] - prices[class_of[m]] - LEAST_GAIN
        of_record, n_cheaper = priced[m], 0
        for i in range(n):
            if of_record[i] - prices[i] < paid:
                gains[n_cheaper], nearest[n_cheaper] = of_record[i] - prices[i], i
                n_cheaper += 1
        if n_cheaper > ADDED:
            select_smallest(gains[:n_cheaper], nearest[:n_cheaper], ADDED)
        n_before = n_added
        for c in range(min(n_cheaper, ADDED)):
            i = nearest[c]
            if filled < columns.shape[1] and _may_take(block, classes[i], offered[i], offered[m]):
                columns[m, filled], costs[m, filled] = i, of_record[i]
                filled += 1
                n_added += 1
        if n_added > n_before:
            record_of[class_of[m]] = -1
            class_of[m] = -1
    return n_added


@kernel
def _take_apart(block, classes, offered):
    """Return the parts of the loss of each class with another record than the one it offered.

    Returns
    -------
    rests : float64 (d, n): totals of the classes without the records that they offered
    losses : float64 (r, n): what a class loses by each level of a nominal column
    places : int64 (q, levels): the row of each level of the offered records
    sizes : float64 (n,): of the classes
    """
    n, (n_columns, n_levels) = classes.size, block.counts.shape[1:]
    rests, sizes = np.empty((block.values.shape[1], n)), np.empty(n)
    places, n_rows = np.full((n_columns, n_levels), -1, dtype=np.int64), 0
    for i in range(n):
        sizes[i] = block.sizes[classes[i]]
        for j in range(rests.shape[0]):
            rests[j, i] = block.totals[classes[i], j] - block.values[offered[i], j]
        for j in range(n_columns):
            if places[j, block.levels[offered[i], j]] < 0:
                places[j, block.levels[offered[i], j]] = n_rows
                n_rows += 1
    losses = np.zeros((n_rows, n))
    for j in range(n_columns):
        for level in range(n_levels):
            if places[j, level] < 0:
                continue
            row = losses[places[j, level]]
            for i in range(n):
                given, counts = block.levels[offered[i], j], block.counts[classes[i], j]
                if given != level:
                    row[i] = block.weights[j] * (1.0 + counts[level] - counts[given])
    return rests, losses, places, sizes


@kernel(borrows=True)
def _price_own(block, c, parts):
    """Return the loss of a class as it is."""
    price = 0.0
    for j in range(parts[0].shape[0]):
        price -= block.totals[c, j] ** 2
    return price / block.sizes[c]


@kernel(borrows=True)
def _price_record(block, y, parts, prices):
    """Fill in the loss of each class if it takes a record in place of the one that it offered."""
    rests, losses, places, sizes = parts
    prices[:] = 0.0
    for j in range(rests.shape[0]):
        value, row = block.values[y, j], rests[j]
        for i in range(prices.size):
            prices[i] -= (row[i] + value) ** 2
    for j in range(places.shape[0]):
        row = losses[places[j, block.levels[y, j]]]
        for i in range(prices.size):
            prices[i] -= row[i]
    for i in range(prices.size):
        prices[i] /= sizes[i]


@kernel(borrows=True)
def _may_take(block, c, x, y):
    """Return whether a class is within all limits if it takes y for x, and is so now."""
    members, record_terms, size = block.members, block.record_terms, block.sizes[c]
    if block.excess[c] != 0.0:
        return False
    for o in range(members.shape[0]):
        at, rank = 0, block.ranks[o, x]
        while at < size and record_terms[o, members[o, c, at], 0] <= record_terms[o, y, 0]:
            at += 1
        for a in range(o, block.limits.size, members.shape[0]):
            distance = distance_after_swap(
                block.rank_terms, record_terms, block.sums, a, c, size, rank, y, at
            )
            if not distance <= block.limits[a]:
                return False
    for u in range(block.trees.limits.size):
        distance = tree_after_swap(block.trees, block.below, block.tree_sums, u, c, size, x, y)
        if not distance <= block.trees.limits[u]:
            return False
    if block.counts_persons:
        return count_seconds_after(block, c, np.int64(x), np.int64(y)) == 0.0
    return True


@kernel
def _sum_costs(columns, costs, column_of):
    """Return the costs of the columns that rows have."""
    total = 0.0
    for row in range(column_of.size):
        at = 0
        while columns[row, at] != column_of[row]:
            at += 1
        total += costs[row, at]
    return total


@kernel
def reassign(block, classes, share):
    """Reassign the record at ``share`` of each class's ranks; return how many changed class.

    ``classes`` int64 (c,): those that take part; a class above a limit does not.
    """
    n = classes.size
    offered = np.empty(n, dtype=np.int64)
    for i in range(n):
        offered[i] = block.members[0, classes[i], int(share * block.sizes[classes[i]])]
    n_columns = min(CANDIDATES, n) + ADDED * (MOST_SOLVED - 1)
    columns, costs = np.zeros((n, n_columns), dtype=np.int64), np.empty((n, n_columns))
    room = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, n))
    parts = _take_apart(block, classes, offered)
    _fill_candidates(block, classes, offered, parts, room, columns, costs)
    solution = _take_cheapest(columns, costs)
    _assign_free(columns, costs, *solution)
    class_of = solution[0]
    before, after = costs[:, 0].sum(), _sum_costs(columns, costs, class_of)
    for _ in range(MOST_SOLVED - 1):
        if not _add_candidates(block, classes, offered, room, (columns, costs), solution):
            break
        _assign_free(columns, costs, *solution)
        last, after = after, _sum_costs(columns, costs, class_of)
        if not last - after > LEAST_SAVED * (before - after):
            break
    if not after < before - LEAST_GAIN:
        return 0
    n_changed = 0
    for m in range(n):
        if class_of[m] != m:
            remove_record(block, classes[m], offered[m])
    for m in range(n):
        if class_of[m] != m:
            add_record(block, classes[class_of[m]], offered[m])
            n_changed += 1
    for m in range(n):
        if class_of[m] != m:
            update_class(block, classes[m])
    return n_changed
