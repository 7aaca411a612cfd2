"""k-Anonymity-first microaggregation (papers/003, section 6, Algorithm 2).

Clusters are made of the nearest records, as MDAV does it; while one is above t, records left are
tried, nearest first, each in the place of the member whose leaving brings the cluster closest.

What an exchange does to the distance follows from running sums (`budget`): a record that is tried
costs a few operations per member, however many values the table has.

Choices where the paper is open or silent:

- All records left are tried, as listed. One that gets in and one that is given up are not tried for
  this cluster again; the latter is there for the clusters to come.
- Once all have been tried the cluster stays as it is, maybe above t. Merging is left to Algorithm 1
  (`merge_farthest`), and so are the last k to 2k-1 records, which are a cluster without exchanges.
- Several confidential attributes: what counts is the largest excess above the limits.
- Ties: the farthest, the nearest and the given up record are the first of their equals in the
  input. Distances that differ by less than they can err are equal; equal is no improvement.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.live_records import (
    farthest_remaining,
    gather_remaining,
    measure_from_average,
    measure_from_record,
    nearest_remaining,
    rank_remaining,
    take_out,
)
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.ordered_delta import (
    N_LADDERS,
    SAME,
    distance_after_swap,
    fill_ladders,
    place_records,
    table_sums,
)

# The cluster that is being made, as `budget.fill_ladders` takes a class.
#   places float64 (p, n, 3), sums float64 (p, .), ladders float64 (p, 1, 7, k + 1)   see `budget`
#   grid float64 (p, stretches, 3)   a value of each stretch of values, placed like a record
#   hopeless bool (p, stretches)     see `_mark_hopeless`
#   limits float64 (p,)          less what a distance can err, `margin`
#   members int64 (p, 1, k)      its records, ascending in each confidential attribute
#   slots int64 (k,)             its records in an order of their own, as positions in `Remaining`
#   ranks int64 (p, k)           place of each slot's record among the members
#   sizes int64 (1,)             k
_Draft = namedtuple(
    "_Draft", "places grid hopeless sums limits margin members ladders sizes slots ranks"
)

# Records that are tried, besides five times k, before all others are ranked by distance.
TRIED_FIRST = 64
# Stretches of values, times k, that are ruled out together among those others.
STRETCHES_TIMES_K = 512


def k_anonymity_first(numeric, nominal, k, targets, weights=None):
    """Clusters of k records, and one of k to 2k-1; within t where exchanges could bring them there.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers, scaled
    nominal : int32 (q, n): category codes
    k : at least 1; with fewer than 2k records there is one cluster. Memory grows with its square
    targets : as in `repair.merge_classes`, of at least one confidential attribute
    weights : float64 (q,), as in `tclose.kernels.clustering.algorithm3`; by default 1 each

    Returns
    -------
    int64 (n,): cluster of each record, numbered as they are made
    """
    codes, cumulatives, prefixes, limits = targets
    tables = list(zip(cumulatives, prefixes, strict=True))
    places = np.array(
        [
            place_records(of_attribute, *table)
            for of_attribute, table in zip(codes, tables, strict=True)
        ]
    )
    sums = np.array([table_sums(*table, k + 1) for table in tables])
    return _make_clusters(
        numeric,
        nominal,
        np.ones(len(nominal)) if weights is None else weights,
        k,
        (places, _place_grid(tables, max(1, STRETCHES_TIMES_K // k)), sums, limits),
    )


def _place_grid(tables, n_stretches):
    """A value near the middle of each stretch, placed as records are: (p, stretches, 3)."""
    middles = (np.arange(n_stretches) + 0.5) / n_stretches
    return np.array(
        [
            place_records(
                np.rint(middles * (cumulative.size - 1)).astype(np.int64), cumulative, prefix
            )
            for cumulative, prefix in tables
        ]
    )


@kernel
def _make_clusters(numeric, nominal, weights, k, targets):
    records = gather_remaining(numeric, nominal, weights)
    draft = _new_draft(k, targets)
    n_left = records.rows.size
    labels = np.empty(n_left, dtype=np.int64)
    made = np.int64(0)  # a plain 0 is a type of its own, and what it goes to compiled twice
    while n_left >= 2 * k:
        measure_from_average(records, n_left)
        for _ in range(2):
            if n_left < 2 * k:
                break
            seed = farthest_remaining(records, n_left)
            measure_from_record(records, seed, 0, n_left)
            _make_cluster(records, n_left, draft)
            n_left = take_out(records, n_left, draft.slots, labels, made)
            made += 1
    labels[records.rows[:n_left]] = made
    return labels


@kernel
def _new_draft(k, targets):
    places, grid, sums, limits = targets
    n_attributes = limits.size
    margin = ERROR_PER_STEP * (2 * k + 8)
    return _Draft(
        places, grid, np.zeros(grid.shape[:2], dtype=np.bool_),
        sums, limits - margin, margin,
        np.zeros((n_attributes, 1, k), dtype=np.int64),
        np.zeros((n_attributes, 1, N_LADDERS, k + 1)),
        np.full(1, k),
        np.zeros(k, dtype=np.int64),
        np.zeros((n_attributes, k), dtype=np.int64),
    )  # fmt: skip


@kernel
def _make_cluster(records, n_left, draft):
    """Fill ``draft.slots``: GenerateCluster around the record that was measured from.

    Most clusters need the nearest few records only; to rank all that are left takes longer.
    """
    slots = draft.slots
    slots[:] = nearest_remaining(records, n_left, slots.size)
    draft.hopeless[:] = False
    excess = _update_draft(draft, records.rows)
    n_tried = slots.size
    if excess > 0.0:
        nearest = nearest_remaining(records, n_left, min(n_left, TRIED_FIRST + 5 * slots.size))
        excess = _try_records(records, nearest[n_tried:], draft, excess, False)
        n_tried = nearest.size
    if excess > 0.0 and n_tried < n_left:
        _try_records(records, rank_remaining(records, n_left)[n_tried:], draft, excess, True)


@kernel
def _try_records(records, tried, draft, excess, rules_out):
    """Let the records at the positions ``tried`` in, one by one, where that improves the cluster.

    Ends once it is within the limits; the excess then. ``rules_out``: whether it pays to rule out
    stretches of values each time the cluster has changed.
    """
    start = 0
    while excess > 0.0:
        if rules_out:
            _mark_hopeless(draft, excess)
        found, slot = _find_next(records.rows, tried, start, draft, excess)
        if found < 0:
            break
        draft.slots[slot] = tried[found]
        excess = _update_draft(draft, records.rows)
        start = found + 1
    return excess


@kernel
def _mark_hopeless(draft, excess):
    """Mark the stretches of values that no record can have that improves the cluster.

    To move one of k records by z moves the distance by at most z/k: what the least excess over all
    members is at one value bounds it at all values around.
    """
    ladders, grid, sums, members = draft.ladders, draft.grid, draft.sums, draft.members
    size, n_stretches = draft.slots.size, grid.shape[1]
    for a in range(draft.limits.size):
        for g in range(n_stretches):
            z = grid[a, g, 0]
            reach = max(abs(g / n_stretches - z), abs((g + 1) / n_stretches - z))
            before = _count_before(draft.places, members, a, z, size)
            lowest = np.inf
            for rank in range(size):
                distance = distance_after_swap(ladders, grid, sums, a, 0, size, rank, g, before)
                lowest = min(lowest, distance)
            draft.hopeless[a, g] = lowest - reach / size - draft.limits[a] >= excess


@kernel
def _find_next(rows, tried, start, draft, excess):
    """Which of ``tried`` is the first from ``start`` on to improve the cluster, and in which slot.

    -1 if none does. The slot is the one that leaves the least excess.
    """
    limits, margin, slots = draft.limits, draft.margin, draft.slots
    places, sums, members = draft.places, draft.sums, draft.members
    ladders, ranks, hopeless = draft.ladders, draft.ranks, draft.hopeless
    size, n_stretches = slots.size, hopeless.shape[1]
    before = np.zeros(limits.size, dtype=np.int64)
    for t in range(start, tried.size):
        i = rows[tried[t]]
        is_hopeless = False
        for a in range(limits.size):
            is_hopeless |= hopeless[a, min(int(places[a, i, 0] * n_stretches), n_stretches - 1)]
        if is_hopeless:
            continue
        for a in range(limits.size):
            before[a] = _count_before(places, members, a, places[a, i, 0], size)
        best, lowest = -1, np.inf
        for slot in range(size):
            achieved = -np.inf
            for a in range(limits.size):
                rank = ranks[a, slot]
                distance = distance_after_swap(
                    ladders, places, sums, a, 0, size, rank, i, before[a]
                )
                achieved = max(achieved, distance - limits[a])
                if achieved >= excess:
                    break
            equal = abs(achieved - lowest) <= margin
            if achieved < lowest - margin or (equal and rows[slots[slot]] < rows[slots[best]]):
                best, lowest = slot, achieved
        if lowest < excess - margin:
            return t, best
    return -1, -1


@kernel(inline="always")
def _count_before(places, members, a, z, size):
    """How many members have a value below z."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if places[a, members[a, 0, middle], 0] < z:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _update_draft(draft, rows):
    """Bring members, ranks and ladders up to date with the slots; the excess above the limits."""
    places, members, ranks = draft.places, draft.members, draft.ranks
    size = draft.slots.size
    z = np.empty(size)
    for a in range(draft.limits.size):
        for slot in range(size):
            z[slot] = places[a, rows[draft.slots[slot]], 0]
        by_value = np.argsort(z, kind="mergesort")
        for rank in range(size):
            members[a, 0, rank] = rows[draft.slots[by_value[rank]]]
            ranks[a, by_value[rank]] = rank
    fill_ladders(draft, 0)
    excess = -np.inf
    for a in range(draft.limits.size):
        excess = max(excess, draft.ladders[a, 0, SAME, size] - draft.limits[a])
    return excess
