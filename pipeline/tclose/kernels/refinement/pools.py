"""Pools: a few neighbouring classes put together and cut anew, kept if less is lost.

Exchanges between two classes stop at partitions that only a change of several classes would better.
Here the records of three to eight neighbours are cut into as many classes, or one more or fewer, so
that a class can be split, or dissolved into its neighbours: each is grown around a record that is
far from the others, and then records are exchanged and moved among them all.

Classes that are cut anew are not balanced: where t binds, nearly all are above it, and the search
of a group ends after a few.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered_delta import rank_work
from tclose.kernels.refinement.neighbours import find_neighbours
from tclose.kernels.refinement.pool_parts import (
    LEAST_POOLED,
    MOST_PARTS,
    MOST_POOLED,
    POOLED_PER_K,
    ROUNDING,
    grow_parts,
    make_pool,
    measure_apart,
    settle_parts,
    sum_parts,
)
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.kernels.sequences import copy_into

# Pools that come out above t, beyond so many times those that are kept, end a group's search.
BROKEN, BROKEN_PER_KEPT = 24, 12

# The classes of a group, with room for as many again.
#   nearest int32 (c, w)               neighbours of each
#   lists int64 (2c, s), sizes int64 (2c,)   records of each, none if it is gone or not searched
#   pooled int64 (parts,)              the classes of the pool
#   tally int64 (4,)                   classes so far; records of pools that were cut; pools that
#                                      were kept; pools that would have saved, but broke a limit
PooledGroup = namedtuple("PooledGroup", "nearest lists sizes pooled tally")


@kernel
def is_part_close(records, pool, n_records, p):
    """Return whether a part is within every limit, and has no person twice where persons count."""
    record_terms, sums, limits, trees = records[3], records[4], records[5], records[6]
    size, n_orders = pool.sizes[p], records[8]
    members = np.empty(size, dtype=np.int64)
    for o in range(n_orders):
        filled = 0
        for i in range(n_records):
            if pool.part[i] == p:
                row, at = pool.rows[i], filled
                while at > 0 and record_terms[o, members[at - 1], 0] > record_terms[o, row, 0]:
                    members[at] = members[at - 1]
                    at -= 1
                members[at] = row
                filled += 1
        for a in range(o, limits.size, n_orders):
            distance = 0.0
            for j in range(size):
                i = members[j]
                distance += rank_work(record_terms, a, i, sums, size * (size + 1) // 2, j, size)
            if not distance <= limits[a]:
                return False
    for u in range(trees.limits.size):
        if not _measure_tree(trees, u, members) <= trees.limits[u]:
            return False
    persons = records[7]
    return persons.size == 0 or _is_each_another(persons, members)


@kernel(borrows=True)
def _is_each_another(persons, members):
    """Return whether each record is of another person."""
    for m in range(members.size):
        for o in range(m):
            if persons[members[o]] == persons[members[m]]:
                return False
    return True


@kernel
def _measure_tree(trees, u, members):
    """Distance of a class over a tree."""
    first, last = trees.ends[u], trees.ends[u + 1]
    counts = np.zeros(last - first, dtype=np.int64)
    for row in members:
        for column in range(trees.columns[u], trees.columns[u + 1]):
            if trees.nodes[row, column] >= 0:
                counts[trees.nodes[row, column] - first] += 1
    distance = trees.absent[u]
    for node in range(first, last):
        share = counts[node - first] / members.size
        distance += trees.weights[node] * abs(share - trees.shares[node])
    return distance


@kernel(inline="always")
def count_pooled(k):
    """Return how many records a pool may have."""
    return min(MOST_POOLED, max(LEAST_POOLED, POOLED_PER_K * k))


@kernel(borrows=True)
def gather_pool(state, pool, c, width, most):
    """Put a class and its neighbours into the pool; return how many records and classes it has.

    ``most``: records that it may have.

    The ids of the classes are left in ``state.pooled``.
    """
    nearest, lists, sizes, pooled = state.nearest, state.lists, state.sizes, state.pooled
    n_records, n_parts = 0, 0
    for slot in range(-1, nearest.shape[1]):
        other = c if slot < 0 else np.int64(nearest[c, slot])
        size = sizes[other]
        if size == 0 or n_records + size > most or n_parts == width:
            continue
        for i in range(size):
            pool.rows[n_records + i] = lists[other, i]
            pool.part[n_records + i] = n_parts
        pooled[n_parts] = other
        n_parts += 1
        n_records += size
    return n_records, n_parts


@kernel(borrows=True)
def cut_pool(records, state, pool, n_records, n_before, n_parts, k, draw, least):  # noqa: PLR0913
    """Cut a pool anew; return 1 if that is kept, -1 if it would save but breaks a limit, else 0."""
    measure_apart(records[0], records[1], records[2], pool, n_records)
    before = sum_parts(pool, n_records, n_before)
    if before <= least:
        return 0
    grow_parts(pool, n_records, n_parts, k, draw % n_records)
    if not settle_parts(pool, n_records, n_parts, k) < before * (1.0 - ROUNDING):
        return 0
    for p in range(n_parts):
        if not is_part_close(records, pool, n_records, p):
            return -1
    lists, sizes, pooled, tally = state.lists, state.sizes, state.pooled, state.tally
    for p in range(n_before):
        sizes[pooled[p]] = 0
    for p in range(n_before, n_parts):
        pooled[p] = tally[0]
        sizes[tally[0]] = 0
        tally[0] += 1
    for i in range(n_records):
        c = pooled[pool.part[i]]
        lists[c, sizes[c]] = pool.rows[i]
        sizes[c] += 1
    return 1


@kernel(borrows=True)
def pool_group(records, state, pool, k, passes, seed, least):
    """Cut a pool around each class of a group, pass by pass."""
    tally, draw, most = state.tally, seed, count_pooled(k)
    for p in range(passes.shape[0]):
        for c in range(state.nearest.shape[0]):
            if state.sizes[c] == 0:
                continue
            draw = (draw * 1103515245 + 12345) % 2147483648
            n_records, n_before = gather_pool(state, pool, c, passes[p, 0], most)
            n_parts = min(n_before + passes[p, 1], n_records // k)
            if n_before < 2 or n_parts < 2 or tally[0] == state.sizes.size:
                continue
            kept = cut_pool(records, state, pool, n_records, n_before, n_parts, k, draw >> 8, least)
            tally[1] += n_records
            tally[2] += kept == 1
            tally[3] += kept == -1
            if tally[3] > BROKEN + BROKEN_PER_KEPT * tally[2]:
                return


@kernel
def copy_classes(by_class, group, nearest, largest):
    """Copy those classes of a group that have up to ``largest`` records into lists of their own."""
    order, starts = by_class
    state = PooledGroup(
        nearest,
        np.empty((2 * group.size, MOST_POOLED), dtype=np.int64),
        np.zeros(2 * group.size, dtype=np.int64),
        np.empty(MOST_PARTS, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
    )
    state.tally[0] = group.size
    for c in range(group.size):
        members = order[starts[group[c]] : starts[group[c] + 1]]
        if members.size <= largest:
            copy_into(state.lists[c, : members.size], members)
            state.sizes[c] = members.size
    return state


@kernel
def measure_lists(records, n_levels, state):
    """Loss of the classes of a group as a release has it."""
    starts = np.zeros(state.sizes.size + 1, dtype=np.int64)
    order = np.empty(state.sizes.sum(), dtype=np.int64)
    n_classes, filled = 0, 0
    for c in range(state.sizes.size):
        for i in range(state.sizes[c]):
            order[filled + i] = state.lists[c, i]
        if state.sizes[c]:
            filled += state.sizes[c]
            n_classes += 1
            starts[n_classes] = filled
    columns = records[0], records[1], records[2]
    return measure_classes(*columns, n_levels, order, starts[: n_classes + 1]).sum()


@kernel
def pool_blocks(records, n_levels, labels, by_class, groups, points, settings, passes, least):  # noqa: PLR0913 (records, their classes, and how pools are cut)
    """Cut pools of each group's classes anew; kept if that lowers the group's loss.

    Parameters
    ----------
    records, by_class, groups, points : as in `refine_blocks`
    n_levels : more than any level
    labels : int64 (n,): class of each record, written; there may be gaps then
    settings : four integers: k; neighbours of a class; the seed of what pools of the first group
        are grown around; the label of the first new class
    passes : int64 (p, 2): classes of a pool, and how many more it is cut into
    least : pools that lose no more are not looked at

    Returns
    -------
    records of all pools that were cut; how many were kept; how many would have saved loss, but
    broke a limit
    """
    classes, group_starts = groups
    k, n_neighbours, seed, n_classes = settings
    n_tried, n_kept, n_broken = 0, 0, 0
    pool = make_pool(records[0].shape[1], records[1].shape[1])
    for g in range(group_starts.size - 1):
        group = classes[group_starts[g] : group_starts[g + 1]]
        nearest = find_neighbours(points[0][group], points[1][group], records[2], n_neighbours)
        state = copy_classes(by_class, group, nearest, count_pooled(k) // 2)
        before = measure_lists(records, n_levels, state) if n_levels > 1 else np.inf
        pool_group(records, state, pool, k, passes, seed + g, least)
        n_tried += state.tally[1]
        n_broken += state.tally[3]
        if state.tally[2] == 0 or not (
            n_levels == 1 or measure_lists(records, n_levels, state) < before
        ):
            continue
        n_kept += state.tally[2]
        for c in range(state.tally[0]):
            label = group[c] if c < group.size else n_classes
            n_classes += c >= group.size
            for i in range(state.sizes[c]):
                labels[state.lists[c, i]] = label
    return n_tried, n_kept, n_broken
