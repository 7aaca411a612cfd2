"""Search over units: persons move to near classes, or are exchanged, where that loses less.

A unit is all records of a person. What an exchange saves follows from sums over units and classes;
the distances of both classes, over rows and over persons, are measured anew for the few exchanges
that would save most. So every class keeps k persons, and none that is within its limits leaves it.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.refinement.neighbours import find_neighbours
from tclose.kernels.refinement.search import EXCESS_PRICE, LEAST_GAIN
from tclose.kernels.refinement.unit_block import (
    count_unit,
    gather_unit_rows,
    gather_units,
    measure_excess,
    measure_kept,
)

# Exchanges of a pair of classes whose distances are measured, those that save most.
MOST_CHECKED = 24
EXCHANGES_OF_PAIR = 4
ROUNDING = 1e-9  # less excess than this is none


@kernel
def find_gains(units, block, a, b, k):
    """The squared error that each exchange between classes a and b saves.

    Returns
    -------
    float64 (members of a + 1, members of b + 1): the last of each is no unit; -inf where a class
    would have fewer than k units, or no room
    """
    overlaps = _overlaps(units, block, a, a, b), _overlaps(units, block, b, a, b)
    gains = np.full((block.n_members[a] + 1, block.n_members[b] + 1), -np.inf)
    _fill_gains(units, block, (a, b), k, overlaps, gains)
    return gains


@kernel(borrows=True)
def _fill_gains(units, block, pair, k, overlaps, gains):
    """Fill in the gains of a pair of classes, from the `_overlaps` of both."""
    a, b = pair
    of_a, of_b = overlaps
    n_a, n_b = block.n_members[a], block.n_members[b]
    own = _kept(block, a) + _kept(block, b)
    cap = block.members.shape[1]
    for m in range(n_a + 1):
        for n in range(n_b + 1):
            if m == n_a and (n == n_b or n_b <= k or n_a == cap):
                continue
            if n == n_b and (n_a <= k or n_b == cap):
                continue
            x = block.members[a, m] if m < n_a else -1
            y = block.members[b, n] if n < n_b else -1
            moved = (block.rows[x] if x >= 0 else 0) - (block.rows[y] if y >= 0 else 0)
            rows_a, rows_b = block.n_rows[a] - moved, block.n_rows[b] + moved
            gain = -own
            for j in range(block.totals.shape[1]):
                step = (block.sums[x, j] if x >= 0 else 0.0) - (block.sums[y, j] if y >= 0 else 0.0)
                gain += (block.totals[a, j] - step) ** 2 / rows_a
                gain += (block.totals[b, j] + step) ** 2 / rows_b
            for j in range(block.squares.shape[1]):
                both = of_a[2, m, j] + of_b[2, n, j]
                if x >= 0 and y >= 0:
                    both -= 2 * _cross(units, block, j, x, y)
                here = block.squares[a, j] - 2 * of_a[0, m, j] + 2 * of_b[0, n, j] + both
                there = block.squares[b, j] + 2 * of_a[1, m, j] - 2 * of_b[1, n, j] + both
                gain += 0.5 * block.weights[j] * (here / rows_a + there / rows_b)
            gains[m, n] = gain


@kernel(borrows=True)
def _kept(block, c):
    """The squared size that a class keeps, where levels differ by their pairs (Gini)."""
    kept = 0.0
    for j in range(block.totals.shape[1]):
        kept += block.totals[c, j] ** 2 / block.n_rows[c]
    for j in range(block.squares.shape[1]):
        kept += 0.5 * block.weights[j] * block.squares[c, j] / block.n_rows[c]
    return kept


@kernel
def _overlaps(units, block, c, a, b):
    """Of each unit of class c, and of none: its records times those of its levels in a, in b, own.

    Returns
    -------
    int64 (3, members + 1, q)
    """
    n_members, n_nominal = block.n_members[c], block.squares.shape[1]
    overlaps = np.zeros((3, n_members + 1, n_nominal), dtype=np.int64)
    for m in range(n_members):
        v = block.members[c, m]
        u = block.units[v]
        first = units.starts[u]
        for j in range(n_nominal):
            for e in range(first, units.ends[j, u]):
                level, count = block.levels[j, block.firsts[v] + e - first], units.counts[j, e]
                overlaps[0, m, j] += count * block.held[a, j, level]
                overlaps[1, m, j] += count * block.held[b, j, level]
                overlaps[2, m, j] += count * count
    return overlaps


@kernel(borrows=True)
def _cross(units, block, j, x, y):
    """Records of x times records of y of the same level, in nominal column j."""
    of_x, of_y = block.units[x], block.units[y]
    cross, i, e = 0, units.starts[of_x], units.starts[of_y]
    last_x, last_y = units.ends[j, of_x], units.ends[j, of_y]
    while i < last_x and e < last_y:
        if units.levels[j, i] < units.levels[j, e]:
            i += 1
        elif units.levels[j, i] > units.levels[j, e]:
            e += 1
        else:
            cross += units.counts[j, i] * units.counts[j, e]
            i, e = i + 1, e + 1
    return cross


@kernel
def improve_units(units, block, tables, pair, k, least_gain, room):
    """Make the best exchange between two classes; return whether there was one.

    Where one is above a limit what counts most is by how much less both are.
    """
    a, b = pair
    gains = find_gains(units, block, a, b, k)
    before = block.excess[a] + block.excess[b]
    least = least_gain if before == 0.0 else -np.inf
    flat = gains.ravel()
    able = np.flatnonzero(flat > least)
    if not able.size:
        return False
    ranked = able[np.argsort(-flat[able], kind="mergesort")][:MOST_CHECKED]
    rows_a, rows_b = gather_unit_rows(units, block, a), gather_unit_rows(units, block, b)
    best, chosen = LEAST_GAIN, -1
    left, right = 0.0, 0.0
    for place in ranked:
        m, n = place // gains.shape[1], place % gains.shape[1]
        x = block.members[a, m] if m < block.n_members[a] else -1
        y = block.members[b, n] if n < block.n_members[b] else -1
        moved = (1 if x >= 0 else 0) - (1 if y >= 0 else 0)
        of_a = measure_excess(
            units, block, tables, rows_a, (x, y, block.n_members[a] - moved), room, before
        )
        if of_a > before:
            continue
        most = before - of_a
        of_b = measure_excess(
            units, block, tables, rows_b, (y, x, block.n_members[b] + moved), room, most
        )
        if of_b > most:  # and was not measured to its end: the sum of both may be rounded down
            continue
        score = flat[place] + EXCESS_PRICE * (before - of_a - of_b)
        if score > best:
            best, chosen, left, right = score, place, of_a, of_b
        if before == 0.0:
            break
    if chosen < 0:
        return False
    exchange_units(units, block, pair, chosen // gains.shape[1], chosen % gains.shape[1])
    block.excess[a], block.excess[b] = left, right
    return True


@kernel(borrows=True)
def exchange_units(units, block, pair, m, n):
    """Let member m of class a go to b, and member n of b to a; one more than there are: none."""
    a, b = pair
    x = block.members[a, m] if m < block.n_members[a] else -1
    y = block.members[b, n] if n < block.n_members[b] else -1
    for c, gone, place, new in ((a, x, m, y), (b, y, n, x)):
        if gone >= 0:
            count_unit(units, block, c, gone, -1)
            block.n_members[c] -= 1
            block.members[c, place] = block.members[c, block.n_members[c]]
        if new >= 0:
            count_unit(units, block, c, new, 1)
            block.members[c, block.n_members[c]] = new
            block.n_members[c] += 1


@kernel
def search_units(units, block, tables, nearest, k, n_sweeps, least_gain):
    """Exchange units between neighbours until nothing is gained, or the sweeps are done.

    A pair is searched again only if one of its classes has changed since.

    Parameters
    ----------
    nearest : int32 (c, w): neighbours of each class
    k : units that a class has at least; one that has fewer is never made smaller

    Returns
    -------
    number of exchanges
    """
    n_classes = block.n_rows.size
    n_rows = block.rows.sum()
    room = (
        np.empty(n_rows, dtype=np.int64), np.empty((2, n_rows)), np.zeros(tables.weights.size)
    )  # fmt: skip
    for c in range(n_classes):
        gathered = gather_unit_rows(units, block, c)
        block.excess[c] = measure_excess(
            units, block, tables, gathered, (-1, -1, block.n_members[c]), room, np.inf
        )
    changed = np.ones(n_classes, dtype=np.int64)
    seen = np.zeros(nearest.shape, dtype=np.int64)
    clock = 1
    for _ in range(n_sweeps):
        clock_before = clock
        for a in range(n_classes):
            for slot in range(nearest.shape[1]):
                b = np.int64(nearest[a, slot])
                if max(changed[a], changed[b]) <= seen[a, slot]:
                    continue
                for _ in range(EXCHANGES_OF_PAIR):
                    if not improve_units(units, block, tables, (a, b), k, least_gain, room):
                        seen[a, slot] = clock
                        break
                    clock += 1
                    changed[a], changed[b] = clock, clock
        if clock == clock_before:
            break
    return clock - 1


@kernel
def refine_units(units, tables, labels, by_class, groups, points, settings):
    """Search each group of classes; its result is kept if it lowers the loss or the excess.

    Parameters
    ----------
    units : a `Units`; ``tables``: a `MemberTables`
    labels : int64 (u,): class of each unit, written
    by_class : units class by class, and where each class begins: int64 (u,), (c + 1,)
    groups : classes group by group int64 (c,), and where each group begins int64 (g + 1,)
    points : of all classes, centres and modes from `represent_classes`
    settings : k; neighbours of a class, sweeps; the least that an exchange has to save; weights and
        number of levels of the nominal columns, as in `Scaled`

    Returns
    -------
    how many exchanges there were
    """
    classes, group_starts = groups
    centres, modes = points
    k, n_neighbours, n_sweeps, least_gain, weights, n_levels = settings
    n_exchanges = 0
    for g in range(group_starts.size - 1):
        group = classes[group_starts[g] : group_starts[g + 1]]
        block = gather_units(units, by_class, group, weights, n_levels)
        kept = measure_kept(block)
        nearest = find_neighbours(centres[group], modes[group], weights, n_neighbours)
        n_done = search_units(units, block, tables, nearest, k, 0, least_gain)
        excess = block.excess.sum()
        n_done = search_units(units, block, tables, nearest, k, n_sweeps, least_gain)
        if block.excess.sum() < excess - ROUNDING or measure_kept(block) > kept:
            n_exchanges += n_done
            for c in range(group.size):
                for m in range(block.n_members[c]):
                    labels[block.units[block.members[c, m]]] = group[c]
    return n_exchanges
