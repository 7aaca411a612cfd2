"""Search for less loss among the classes of one block, within k and t.

Two classes exchange records, one for one, or one of them gives a record away, when that lowers the
loss and both stay within every limit by their own distance; the best exchange of a pair is taken,
until none is left. A class that is above a limit comes nearer to it first, at any price.

The loss of a step is what microaggregation minimises: squared differences to the class's mean, and,
of a nominal quasi-identifier, half the records' mean 0/1 distance to one another, which is the
squared error of its 0/1 indicators. (Records that differ from the mode, which are what a release
loses, do not tell whether the second of two strays has found the first.)
"""

import numpy as np
from numba import njit

from pipeline.kernels.block import exchange
from pipeline.kernels.budget import (
    distance_after_joining,
    distance_after_leaving,
    distance_after_swap,
)

# Gains below this are rounding.
LEAST_GAIN = 1e-13
# What a unit of distance above a limit is worth in units of loss: more than any exchange can gain.
EXCESS_PRICE = 100.0


@njit(cache=True, nogil=True)
def _find_joining_ranks(block, c, other, joining):
    """Of each record of another class, how many of the class's come before it: (>= size, p)."""
    for a in range(block.limits.size):
        before = 0
        for n in range(block.sizes[other]):
            record = block.members[a, other, n]
            z = block.places[a, record, 0]
            while before < block.sizes[c] and (
                block.places[a, block.members[a, c, before], 0] <= z
            ):
                before += 1
            joining[block.ranks[0, record], a] = before


@njit(cache=True, nogil=True, inline="always")
def _excess_after_swap(block, c, leaves, joins, joining, n, most):
    """By how much a class would be above its limits; infinite as soon as it is beyond ``most``."""
    excess = 0.0
    for a in range(block.limits.size):
        distance = distance_after_swap(block, a, c, block.ranks[a, leaves], joins, joining[n, a])
        excess += max(0.0, distance - block.limits[a])
        if not excess <= most:
            return np.inf
    return excess


@njit(cache=True, nogil=True)
def _excess_after_move(block, a, b, x, joining, n, most):
    """The same for both classes if record x goes from a to b."""
    excess = 0.0
    for i in range(block.limits.size):
        left = distance_after_leaving(block, i, a, block.ranks[i, x])
        joined = distance_after_joining(block, i, b, x, joining[n, i])
        excess += max(0.0, left - block.limits[i]) + max(0.0, joined - block.limits[i])
        if not excess <= most:
            return np.inf
    return excess


@njit(cache=True, nogil=True, inline="always")
def _nominal_gain(block, a, b, x, y):
    """Loss saved in the nominal quasi-identifiers if x goes from a to b and y from b to a."""
    gain = 0.0
    for j in range(block.levels.shape[1]):
        of_x, of_y = block.levels[x, j], block.levels[y, j]
        if of_x != of_y:
            more_a = 1 + block.counts[a, j, of_y] - block.counts[a, j, of_x]
            more_b = 1 + block.counts[b, j, of_x] - block.counts[b, j, of_y]
            gain += more_a / block.sizes[a] + more_b / block.sizes[b]
    return gain


@njit(cache=True, nogil=True)
def _moving_gain(block, x, a, b):
    """Loss saved if x goes from a to b; sizes are as before."""
    gain_a, gain_b = 0.0, 0.0
    size_a, size_b = block.sizes[a], block.sizes[b]
    for j in range(block.values.shape[1]):
        gain_a += (block.values[x, j] - block.totals[a, j] / size_a) ** 2
        gain_b += (block.values[x, j] - block.totals[b, j] / size_b) ** 2
    gain = gain_a * size_a / (size_a - 1) - gain_b * size_b / (size_b + 1)
    for j in range(block.levels.shape[1]):
        level = block.levels[x, j]
        squares_a, squares_b = block.squares[a, j], block.squares[b, j]
        after_a = (squares_a + 1 - 2 * block.counts[a, j, level]) / (size_a - 1)
        after_b = (squares_b + 1 + 2 * block.counts[b, j, level]) / (size_b + 1)
        gain += 0.5 * (after_a + after_b - squares_a / size_a - squares_b / size_b)
    return gain


@njit(cache=True, nogil=True)
def _project(block, c, other, ahead):
    """Twice the place of each member of c along the way from the other's mean to its own."""
    for m in range(block.sizes[c]):
        ahead[m] = 0.0
    for j in range(block.values.shape[1]):
        own, others = block.totals[c, j] / block.sizes[c], block.totals[other, j]
        step = 2.0 * (own - others / block.sizes[other])
        for m in range(block.sizes[c]):
            ahead[m] += step * block.values[block.members[0, c, m], j]


@njit(cache=True, nogil=True)
def find_swap(block, a, b, scratch):
    """The best exchange of one record of class a for one of class b.

    With D the way from b's mean to a's, exchanging x for y saves
    2 (y - x) D + (1/a + 1/b) |y - x|^2 of the sum of squares.

    Returns
    -------
    score, x, y : loss saved and excess worked off, 0 if there is nothing to gain; the records
    """
    ahead_a, ahead_b, joining_a, joining_b = scratch
    values, members = block.values, block.members
    n_numeric, has_nominal = values.shape[1], block.levels.shape[1] > 0
    weight = 1.0 / block.sizes[a] + 1.0 / block.sizes[b]
    before = block.excess[a] + block.excess[b]
    _project(block, a, b, ahead_a)
    _project(block, b, a, ahead_b)
    best, best_x, best_y = LEAST_GAIN, -1, -1
    for m in range(block.sizes[a]):
        x = members[0, a, m]
        for n in range(block.sizes[b]):
            y = members[0, b, n]
            apart = 0.0
            for j in range(n_numeric):
                apart += (values[x, j] - values[y, j]) ** 2
            gain = weight * apart - ahead_b[n] - ahead_a[m]
            if has_nominal:
                gain += _nominal_gain(block, a, b, x, y)
            if gain <= best and before == 0.0:
                continue
            after = _excess_after_swap(block, a, x, y, joining_a, n, before)
            if after <= before:
                after += _excess_after_swap(block, b, y, x, joining_b, m, before - after)
            if after <= before:
                score = gain + EXCESS_PRICE * (before - after)
                if score > best:
                    best, best_x, best_y = score, x, y
    return (best if best_x >= 0 else 0.0), best_x, best_y


@njit(cache=True, nogil=True)
def find_move(block, a, b, joining, best):
    """The best record to go from class a to class b, if one is worth more than ``best``.

    Returns
    -------
    score, x : as from `find_swap`; -1 if there is none
    """
    before = block.excess[a] + block.excess[b]
    best_x = -1
    for m in range(block.sizes[a]):
        x = block.members[0, a, m]
        gain = _moving_gain(block, x, a, b)
        if gain <= best and before == 0.0:
            continue
        after = _excess_after_move(block, a, b, x, joining, m, before)
        if after <= before and gain + EXCESS_PRICE * (before - after) > best:
            best, best_x = gain + EXCESS_PRICE * (before - after), x
    return best, best_x


@njit(cache=True, nogil=True)
def improve_pair(block, a, b, k, scratch):
    """Carry out the best exchange between two classes; returns whether there was one."""
    _find_joining_ranks(block, a, b, scratch[2])
    _find_joining_ranks(block, b, a, scratch[3])
    cap = block.members.shape[2]
    best, x, y = find_swap(block, a, b, scratch)
    least = max(best, LEAST_GAIN)
    if block.sizes[a] > k and block.sizes[b] < cap:
        score, mover = find_move(block, a, b, scratch[3], least)
        if mover >= 0:
            least, x, y = score, mover, -1
    if block.sizes[b] > k and block.sizes[a] < cap:
        score, mover = find_move(block, b, a, scratch[2], least)
        if mover >= 0:
            x, y = -1, mover
    if x < 0 and y < 0:
        return False
    exchange(block, a, b, x, y)
    return True


@njit(cache=True, nogil=True)
def search_block(block, nearest, k, n_sweeps):
    """Exchange records between neighbours until nothing is gained, or the sweeps are done.

    A pair is looked at again only if one of its classes has changed since.

    Parameters
    ----------
    nearest : int32 (c, w): neighbours of each class
    k : classes are never made smaller than this

    Returns
    -------
    how many exchanges there were
    """
    n_classes, cap = block.sizes.size, block.members.shape[2]
    n_attributes = block.limits.size
    scratch = (
        np.empty(cap), np.empty(cap),
        np.empty((cap, n_attributes), np.int32), np.empty((cap, n_attributes), np.int32),
    )  # fmt: skip
    changed = np.ones(n_classes, dtype=np.int64)
    seen = np.zeros(nearest.shape, dtype=np.int64)
    clock = 1
    for _ in range(n_sweeps):
        clock_before = clock
        for a in range(n_classes):
            for slot in range(nearest.shape[1]):
                b = nearest[a, slot]
                if max(changed[a], changed[b]) <= seen[a, slot]:
                    continue
                if b < a and _is_among(nearest, b, a):
                    continue  # the pair was b's to look at
                for _ in range(4):
                    if not improve_pair(block, a, b, k, scratch):
                        break
                    clock += 1
                    changed[a], changed[b] = clock, clock
                seen[a, slot] = clock
        if clock == clock_before:
            break
    return clock - 1


@njit(cache=True, nogil=True)
def _is_among(nearest, c, other):
    for neighbour in nearest[c]:  # noqa: SIM110 (the compiler has no any)
        if neighbour == other:
            return True
    return False
