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
from tclose.kernels.refinement.block import exchange
from tclose.kernels.refinement.pair_arrays import (
    find_insertion_ranks,
    gather_class,
    make_scratch,
)
from tclose.kernels.refinement.partners import is_tried

# Gains below this are rounding.
LEAST_GAIN = 1e-13
# Loss that a unit of distance above a limit counts as: more than any exchange can gain.
EXCESS_PRICE = 100.0


@kernel
def find_swap(block, a, b, scratch, least_gain):
    """Find the best exchange of one record of class a for one of class b.

    With D the way from b's mean to a's, exchanging x for y saves
    2 (y - x) D + (1/a + 1/b) |y - x|^2 of the sum of squares; here the square is multiplied
    out, so that a product per pair remains.

    Returns
    -------
    score, x, y : loss saved and excess removed, if more than ``least_gain``; the records, or -1
    """
    gather_class(block, a, b, scratch)
    gains, own, values_b, shares = scratch.gains, scratch.own, scratch.values, scratch.shares
    levels_b, means_a, means_b = scratch.levels, scratch.means_a, scratch.means_b
    insertion_ranks_a, insertion_ranks_b = scratch.insertion_ranks_a, scratch.insertion_ranks_b
    values, levels, members, counts = block.values, block.levels, block.members, block.counts
    rank_terms, record_terms, sums = block.rank_terms, block.record_terms, block.sums
    limits, ranks = block.limits, block.ranks
    trees, below, tree_sums = block.trees, block.below, block.tree_sums
    size_a, size_b = block.sizes[a], block.sizes[b]
    weight = 1.0 / size_a + 1.0 / size_b
    before = block.excess[a] + block.excess[b]
    best, best_x, best_y = least_gain, -1, -1
    for m in range(size_a):
        x = members[0, a, m]
        of_x = 0.0
        for j in range(values.shape[1]):
            of_x += values[x, j] * (weight * values[x, j] - 2.0 * (means_a[j] - means_b[j]))
        for n in range(size_b):
            gains[n] = of_x + own[n]
        for j in range(values.shape[1]):
            factor = -2.0 * weight * values[x, j]
            for n in range(size_b):
                gains[n] += factor * values_b[j, n]
        for j in range(levels.shape[1]):
            level = levels[x, j]
            of_x = (1 - counts[a, j, level]) / size_a + (1 + counts[b, j, level]) / size_b
            of_x *= block.weights[j]
            for n in range(size_b):  # without a branch, so that it is vectorised
                gains[n] += (levels_b[j, n] != level) * (of_x + shares[j, n])
        for n in range(size_b):
            if gains[n] <= best and before == 0.0:
                continue
            y = members[0, b, n]
            after = 0.0
            for i in range(limits.size):
                of_a = distance_after_swap(
                    rank_terms,
                    record_terms,
                    sums,
                    i,
                    a,
                    size_a,
                    ranks[i, x],
                    y,
                    insertion_ranks_a[n, i],
                )
                after += max(0.0, of_a - limits[i])
                if not after <= before:
                    break
                of_b = distance_after_swap(
                    rank_terms,
                    record_terms,
                    sums,
                    i,
                    b,
                    size_b,
                    ranks[i, y],
                    x,
                    insertion_ranks_b[m, i],
                )
                after += max(0.0, of_b - limits[i])
            for u in range(trees.limits.size):
                if not after <= before:
                    break
                of_a = tree_after_swap(trees, below, tree_sums, u, a, size_a, x, y)
                of_b = tree_after_swap(trees, below, tree_sums, u, b, size_b, y, x)
                after += max(0.0, of_a - trees.limits[u]) + max(0.0, of_b - trees.limits[u])
            if after <= before:
                score = gains[n] + EXCESS_PRICE * (before - after)
                if score > best:
                    best, best_x, best_y = score, x, y
    return best, best_x, best_y


@kernel
def find_move(block, a, b, means, insertion_ranks, best):
    """Find the best record to move from class a to class b, if its score exceeds ``best``.

    ``means``: of both, float64 (d,) each; ``insertion_ranks``: ranks of a's records in b.

    Returns
    -------
    score, x : as from `find_swap`; -1 if there is none
    """
    mean_a, mean_b = means
    values, levels, members = block.values, block.levels, block.members
    counts, squares = block.counts, block.squares
    rank_terms, record_terms, sums = block.rank_terms, block.record_terms, block.sums
    limits, ranks = block.limits, block.ranks
    trees, below, tree_sums = block.trees, block.below, block.tree_sums
    size_a, size_b = block.sizes[a], block.sizes[b]
    before = block.excess[a] + block.excess[b]
    best_x = -1
    for m in range(size_a):
        x = members[0, a, m]
        of_a, of_b = 0.0, 0.0
        for j in range(values.shape[1]):
            of_a += (values[x, j] - mean_a[j]) ** 2
            of_b += (values[x, j] - mean_b[j]) ** 2
        gain = of_a * size_a / (size_a - 1) - of_b * size_b / (size_b + 1)
        for j in range(levels.shape[1]):
            level = levels[x, j]
            left = squares[a, j] + 1 - 2 * counts[a, j, level]
            joined = squares[b, j] + 1 + 2 * counts[b, j, level]
            half = 0.5 * block.weights[j]
            gain += half * (left / (size_a - 1) - squares[a, j] / size_a)
            gain += half * (joined / (size_b + 1) - squares[b, j] / size_b)
        if gain <= best and before == 0.0:
            continue
        after = 0.0
        for i in range(limits.size):
            left = distance_after_leaving(rank_terms, i, a, size_a, ranks[i, x])
            joined = distance_after_joining(
                rank_terms, record_terms, sums, i, b, size_b, x, insertion_ranks[m, i]
            )
            after += max(0.0, left - limits[i]) + max(0.0, joined - limits[i])
            if not after <= before:
                break
        for u in range(trees.limits.size):
            if not after <= before:
                break
            left = tree_after_move(trees, below, tree_sums, u, a, size_a, x, -1)
            joined = tree_after_move(trees, below, tree_sums, u, b, size_b, x, 1)
            after += max(0.0, left - trees.limits[u]) + max(0.0, joined - trees.limits[u])
        if after <= before and gain + EXCESS_PRICE * (before - after) > best:
            best, best_x = gain + EXCESS_PRICE * (before - after), x
    return best, best_x


@kernel
def improve_pair(block, a, b, k, scratch, least_gain):
    """Make the best exchange between two classes; return whether there was one."""
    find_insertion_ranks(block, a, b, scratch.insertion_ranks_a)
    find_insertion_ranks(block, b, a, scratch.insertion_ranks_b)
    cap = block.members.shape[2]
    if block.excess[a] + block.excess[b] > 0.0:
        least_gain = LEAST_GAIN  # removing excess is always worth its time
    best, x, y = find_swap(block, a, b, scratch, least_gain)
    if block.sizes[a] > k and block.sizes[b] < cap:
        best, mover = find_move(
            block, a, b, (scratch.means_a, scratch.means_b), scratch.insertion_ranks_b, best
        )
        if mover >= 0:
            x, y = mover, -1
    if block.sizes[b] > k and block.sizes[a] < cap:
        best, mover = find_move(
            block, b, a, (scratch.means_b, scratch.means_a), scratch.insertion_ranks_a, best
        )
        if mover >= 0:
            x, y = -1, mover
    if x < 0 and y < 0:
        return False
    exchange(block, a, b, x, y)
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
    scratch = make_scratch(block)
    start = clock = tried.changed.max()
    for _ in range(n_sweeps):
        clock_before = clock
        for a in range(block.sizes.size):
            for slot in range(partners.shape[1]):
                b = np.int64(partners[a, slot])  # as `repair_block` has it: one type, compiled once
                if b < 0 or is_tried(tried, a, b):
                    continue
                if block.alike[a] and block.alike[b] and block.excess[a] + block.excess[b] == 0.0:
                    continue  # nothing is lost in either class
                for _ in range(4):
                    if not improve_pair(block, a, b, k, scratch, least_gain):
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
    scratch = make_scratch(block)
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
            for b in np.argsort(distances, kind="mergesort"):
                if b == a:
                    continue
                for _ in range(sizes[a] + sizes[b]):
                    if block.excess[a] == 0.0 or not improve_pair(
                        block, a, b, k, scratch, LEAST_GAIN
                    ):
                        break
                    n_done += 1
                if block.excess[a] == 0.0:
                    break
        if n_done == n_before:
            break
    return n_done
