"""Search for less loss among the classes of one block, within k and t.

Two classes exchange records, one for one, or a record moves from one to the other, when that lowers
the loss and both stay within every limit by their exact distance; the best exchange of a pair is
made, until there is none. A class that is above a limit is brought nearer to it first, at any loss.

The loss of a step is what microaggregation minimises: squared differences to the class's mean, and,
of a nominal quasi-identifier, half the records' mean distance to one another (0/1, or hierarchical:
level by level), which is the squared error of its 0/1 indicators. (The number of
records that differ from the mode, which is a release's loss, does not fall when two strays of one
level meet in a class.)
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered_delta import (
    distance_after_joining,
    distance_after_leaving,
    distance_after_swap,
)
from tclose.kernels.emd.tree_delta import tree_after_move, tree_after_swap
from tclose.kernels.refinement.block import count_seconds_after, exchange, is_held_to_order
from tclose.kernels.refinement.partners import is_tried
from tclose.kernels.refinement.screen import (
    MOST_TOGETHER,
    bound_gains,
    bound_positions,
    bound_shifts,
    count_promising,
    count_seconds_together,
    fill_person_counts,
    find_insertion_ranks,
    is_shifted_beyond,
    make_screen,
    screen_exchanges,
    screen_records,
)
from tclose.kernels.refinement.tree_screen import bar_exchanges, fill_changes
from tclose.kernels.sequences import stable_order

# Gains below this are rounding.
LEAST_GAIN = 1e-13
# What removing excess costs grows with the square of a class: larger ones keep theirs.
LARGEST_MENDED = 400
# Loss that a unit of distance above a limit counts as: more than any exchange can gain.
EXCESS_PRICE = 100.0


@kernel(inline="always", borrows=True)
def find_swap(block, a, b, screen, error, least_gain):
    """Find the best exchange of one record of class a for one of class b.

    Parameters
    ----------
    screen, error : of these two classes, and what it errs at most, as from `screen_records`

    Returns
    -------
    score, x, y : loss saved and excess removed, if more than ``least_gain``; the records, or -1
    """
    lanes, gains, shifts = block.lanes, screen.gains, screen.bounds
    positions, members, sizes = lanes.positions, block.members, block.sizes
    before = block.excess[a] + block.excess[b]
    best, best_x, best_y = least_gain, -1, -1
    bound_shifts(block, a, b, shifts)
    least, first, last = np.float32(-np.inf), 0, 0 if before == 0.0 else sizes[b]
    fill_changes(block, a, b, screen)
    is_large, begin, end, strongest = sizes[a] > MOST_TOGETHER, 0, 0, 0
    if is_large:
        strongest = bound_gains(lanes, a, b, sizes, screen)
    for step in range(sizes[a] + is_large):  # the strongest first: few others promise more then
        m = step
        if is_large:
            m = step - 1 if step else strongest
            end = 0
            if step == 1:
                first, last = 0, 0 if before == 0.0 else sizes[b]
        if before == 0.0:
            least = np.float32(best - error)
            if is_large and screen.most[m] <= least:
                continue
            position = positions[a, 0, m]  # lanes ascend in it, so what may be exchanged does, too
            while first < sizes[b] and positions[b, 0, first] - position < shifts[0, 0]:
                first += 1
            while last < sizes[b] and positions[b, 0, last] - position <= shifts[0, 1]:
                last += 1
        if m >= end:
            begin, end = m, m + 1 if is_large else sizes[a]
            screen_exchanges(lanes, a, b, sizes, (begin, end), screen)
            if before == 0.0:
                bar_exchanges(block, a, b, (begin, end), screen)
        if not count_promising(gains, m - begin, first, last, least):
            continue
        x = members[0, a, m]
        for n in range(first, last):
            if gains[m - begin, n] <= least:
                continue
            if before == 0.0 and is_shifted_beyond(positions, shifts, a, b, m, n):
                continue
            y = members[0, b, n]
            after = _excess_after_swap(block, a, b, m, n, screen, before)
            if after <= before:
                score = gain_of_swap(block, a, b, x, y) + EXCESS_PRICE * (before - after)
                if score > best:
                    best, best_x, best_y = score, x, y
    return best, best_x, best_y


@kernel(borrows=True)
def gain_of_swap(block, a, b, x, y):
    """Loss saved by exchanging record x of class a for y of class b.

    With D the way from b's mean to a's that is 2 (y - x) D + (1/a + 1/b) |y - x|^2 of the sum of
    squares; here the square is multiplied out.
    """
    values, levels, counts, weights = block.values, block.levels, block.counts, block.weights
    size_a, size_b = block.sizes[a], block.sizes[b]
    weight = 1.0 / size_a + 1.0 / size_b
    of_x, of_y = 0.0, 0.0
    for j in range(values.shape[1]):
        step = 2.0 * (block.totals[a, j] / size_a - block.totals[b, j] / size_b)
        of_x += values[x, j] * (weight * values[x, j] - step)
        of_y += values[y, j] * (weight * values[y, j] + step)
    gain = of_x + of_y
    for j in range(values.shape[1]):
        gain += -2.0 * weight * values[x, j] * values[y, j]
    for j in range(levels.shape[1]):
        level, other = levels[x, j], levels[y, j]
        if level != other:
            of_x = (1 - counts[a, j, level]) / size_a + (1 + counts[b, j, level]) / size_b
            share = counts[a, j, other] / size_a - counts[b, j, other] / size_b
            gain += of_x * weights[j] + weights[j] * share
    return gain


@kernel(inline="always", borrows=True)
def _excess_after_swap(block, a, b, m, n, screen, before):
    """Excess of classes a and b once two records are exchanged, or more than ``before``.

    m, n : of the records, among those of their classes
    """
    rank_terms, record_terms, sums = block.rank_terms, block.record_terms, block.sums
    limits, ranks, trees = block.limits, block.ranks, block.trees
    x, y = block.members[0, a, m], block.members[0, b, n]
    size_a, size_b = block.sizes[a], block.sizes[b]
    after, n_orders = 0.0, ranks.shape[0]
    for i in range(limits.size):
        if limits[i] == np.inf:
            continue
        o = i if i < n_orders else i - n_orders
        at = screen.insertion_ranks[1, o, n]
        emd = distance_after_swap(rank_terms, record_terms, sums, i, a, size_a, ranks[o, x], y, at)
        after += max(0.0, emd - limits[i])
        if not after <= before:
            return after
        at = screen.insertion_ranks[0, o, m]
        emd = distance_after_swap(rank_terms, record_terms, sums, i, b, size_b, ranks[o, y], x, at)
        after += max(0.0, emd - limits[i])
    for u in range(trees.limits.size):
        if not after <= before:
            return after
        of_a = tree_after_swap(trees, block.below, block.tree_sums, u, a, size_a, x, y)
        of_b = tree_after_swap(trees, block.below, block.tree_sums, u, b, size_b, y, x)
        after += max(0.0, of_a - trees.limits[u]) + max(0.0, of_b - trees.limits[u])
    if block.counts_persons and after <= before:
        x, y = np.int64(x), np.int64(y)
        if max(size_a, size_b) > MOST_TOGETHER:
            after += count_seconds_together(block, a, b, m, n, screen)
        else:
            after += count_seconds_after(block, a, x, y) + count_seconds_after(block, b, y, x)
    return after


@kernel(inline="always", borrows=True)
def find_move(block, a, b, side, screen, error, best):
    """Find the best record to move from class a to class b, if its score exceeds ``best``.

    Parameters
    ----------
    side : which of the two classes of the screen a is, 0 or 1
    screen, error : as in `find_swap`

    Returns
    -------
    score, x : as from `find_swap`; -1 if there is none
    """
    before = block.excess[a] + block.excess[b]
    least = np.float32(best - error) if before == 0.0 else np.float32(-np.inf)
    best_x, allowed = -1, screen.bounds
    if not count_promising(screen.moves, side, 0, block.sizes[a], least):
        return best, best_x
    bound_positions(block, a, b, allowed)
    for m in range(block.sizes[a]):
        if before == 0.0:
            if screen.moves[side, m] <= best - error:
                continue
            position = block.lanes.positions[a, 0, m]
            if position < allowed[0, 0] or position > allowed[0, 1]:
                continue
        x = block.members[0, a, m]
        after = _excess_after_move(block, a, b, x, screen.insertion_ranks[side, :, m], before)
        if after <= before:
            score = _gain_of_move(block, a, b, x) + EXCESS_PRICE * (before - after)
            if score > best:
                best, best_x = score, x
    return best, best_x


@kernel(borrows=True)
def _gain_of_move(block, a, b, x):
    """Loss saved by moving record x from class a to class b."""
    values, levels, totals = block.values, block.levels, block.totals
    counts, squares = block.counts, block.squares
    size_a, size_b = block.sizes[a], block.sizes[b]
    of_a, of_b = 0.0, 0.0
    for j in range(values.shape[1]):
        of_a += (values[x, j] - totals[a, j] / size_a) ** 2
        of_b += (values[x, j] - totals[b, j] / size_b) ** 2
    gain = of_a * size_a / (size_a - 1) - of_b * size_b / (size_b + 1)
    for j in range(levels.shape[1]):
        level = levels[x, j]
        left = squares[a, j] + 1 - 2 * counts[a, j, level]
        joined = squares[b, j] + 1 + 2 * counts[b, j, level]
        half = 0.5 * block.weights[j]
        gain += half * (left / (size_a - 1) - squares[a, j] / size_a)
        gain += half * (joined / (size_b + 1) - squares[b, j] / size_b)
    return gain


@kernel(borrows=True)
def _excess_after_move(block, a, b, x, at, before):
    """Excess of classes a and b once record x has moved to b, or more than ``before``.

    ``at``: int32 (o,): records of b that precede x.
    """
    rank_terms, record_terms, sums = block.rank_terms, block.record_terms, block.sums
    limits, ranks, trees = block.limits, block.ranks, block.trees
    size_a, size_b = block.sizes[a], block.sizes[b]
    after, n_orders = 0.0, ranks.shape[0]
    for i in range(limits.size):
        if limits[i] == np.inf:
            continue
        o = i if i < n_orders else i - n_orders
        left = distance_after_leaving(rank_terms, i, a, size_a, ranks[o, x])
        joined = distance_after_joining(rank_terms, record_terms, sums, i, b, size_b, x, at[o])
        after += max(0.0, left - limits[i]) + max(0.0, joined - limits[i])
        if not after <= before:
            return after
    for u in range(trees.limits.size):
        if not after <= before:
            return after
        left = tree_after_move(trees, block.below, block.tree_sums, u, a, size_a, x, -1)
        joined = tree_after_move(trees, block.below, block.tree_sums, u, b, size_b, x, 1)
        after += max(0.0, left - trees.limits[u]) + max(0.0, joined - trees.limits[u])
    if block.counts_persons and after <= before:
        x, none = np.int64(x), np.int64(-1)
        after += count_seconds_after(block, a, x, none) + count_seconds_after(block, b, none, x)
    return after


@kernel(borrows=True)
def improve_pair(block, a, b, k, screen, least_gain):
    """Make the best exchange between two classes; return whether there was one."""
    is_above = block.excess[a] + block.excess[b] > 0.0
    if is_above and max(block.sizes[a], block.sizes[b]) > LARGEST_MENDED:
        return False
    if is_held_to_order(block):
        find_insertion_ranks(block, a, b, screen.insertion_ranks)
    if block.counts_persons and max(block.sizes[a], block.sizes[b]) > MOST_TOGETHER:
        fill_person_counts(block, a, b, screen)
    error = screen_records(block.lanes, block.counts, block.sizes, a, b, screen)
    cap = block.members.shape[2]
    if is_above:
        least_gain = LEAST_GAIN  # removing excess is always worth its time
    best, x, y = find_swap(block, a, b, screen, error, least_gain)
    for side in range(2):
        giver, taker = (b, a) if side else (a, b)
        if block.sizes[giver] > k and block.sizes[taker] < cap:
            best, mover = find_move(block, giver, taker, side, screen, error, best)
            if mover >= 0:
                x, y = (-1, mover) if side else (mover, -1)
    if x < 0 and y < 0:
        return False
    exchange(block, a, b, np.int64(x), np.int64(y))  # of one type, compiled once
    return True


@kernel
def search_block(block, partners, tried, k, n_sweeps, least_gain):
    """Exchange records between partners until nothing is gained, or the sweeps are done.

    A pair is searched again only if one of its classes has changed since.

    Parameters
    ----------
    partners : int32 (c, w): of each class, as from `find_partners`
    tried : pairs that need not be searched, written
    k : classes are never made smaller than this
    least_gain : exchanges that gain no more are not worth their time; at least `LEAST_GAIN`

    Returns
    -------
    number of exchanges
    """
    return search_pairs(block, partners, tried, make_screen(block), k, n_sweeps, least_gain)


@kernel(borrows=True)
def search_pairs(block, partners, tried, screen, k, n_sweeps, least_gain):
    """Search as `search_block` does, with the working arrays of `make_screen`."""
    start = np.int32(0)
    for changed in tried.changed:
        start = max(start, changed)
    clock = start
    for _ in range(n_sweeps):
        clock_before = clock
        for a in range(block.sizes.size):
            for slot in range(partners.shape[1]):
                b = np.int64(partners[a, slot])  # as `repair_block` has it: one type, compiled once
                if b < 0 or is_tried(tried, a, b):
                    continue
                if block.alike[a] and block.alike[b] and block.excess[a] + block.excess[b] == 0.0:
                    continue  # nothing is lost in either class
                for _ in range(max(4, block.sizes[a] // 16)):
                    if not improve_pair(block, a, b, k, screen, least_gain):
                        tried.seen[a, b], tried.seen[b, a] = clock, clock
                        break
                    clock += 1
                    tried.changed[a], tried.changed[b] = clock, clock
        if clock == clock_before:
            break
    return clock - start


@kernel
def repair_block(block, k, n_sweeps):
    """Bring classes that are above a limit within it by exchanges with any other, nearest first.

    Returns
    -------
    how many exchanges there were
    """
    n_classes = block.sizes.size
    screen = make_screen(block)
    totals, sizes = block.totals, block.sizes
    distances = np.empty(n_classes)
    n_done = 0
    for _ in range(n_sweeps):
        n_before = n_done
        for a in range(n_classes):
            if block.excess[a] == 0.0:
                continue
            for b in range(n_classes):
                distances[b] = 0.0
                for j in range(totals.shape[1]):
                    distances[b] += (totals[a, j] / sizes[a] - totals[b, j] / sizes[b]) ** 2
            for b in stable_order(distances):
                if b == a:
                    continue
                for _ in range(sizes[a] + sizes[b]):
                    if block.excess[a] == 0.0 or not improve_pair(
                        block, a, b, k, screen, LEAST_GAIN
                    ):
                        break
                    n_done += 1
                if block.excess[a] == 0.0:
                    break
        if n_done == n_before:
            break
    return n_done
