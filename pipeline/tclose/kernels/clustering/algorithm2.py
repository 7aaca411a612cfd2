"""k-Anonymity-first microaggregation (Soria-Comas et al. 2015, section 6, Algorithm 2).

Clusters consist of the nearest records, as in MDAV; while one is above t, remaining records are
tried, nearest first, each in place of the member whose removal brings the cluster closest.

The distance after an exchange follows from running sums (`ordered_delta`): a record that is tried
costs a few operations per member, however many values the table has.

Choices where the paper is open or silent:

- All remaining records are tried, in that order. Neither a record that joins nor one that is
  removed is tried for this cluster again; the latter is available to later clusters.
- Once all have been tried the cluster is final, possibly above t. Merging is left to Algorithm 1
  (`merge_farthest`), and so are the last k to 2k-1 records, which are a cluster without exchanges.
- Several confidential attributes: the largest excess above the limits counts.
- Ties: the farthest, the nearest and the removed record are the first of their equals in the
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
    N_RANK_TERMS,
    SAME,
    compute_record_terms,
    distance_after_swap,
    fill_rank_terms,
    table_sums,
)

# The cluster under construction, in the form of a class for `ordered_delta.fill_rank_terms`.
#   record_terms float64 (p, n, 3), sums float64 (p, .), rank_terms float64 (p, 1, 7, k + 1)
#   grid float64 (p, bins, 3)    record terms of a value in each bin of values
#   hopeless bool (p, bins)      see `_mark_hopeless`
#   limits float64 (p,)          less the rounding error of a distance, `margin`
#   members int64 (p, 1, k)      its records, ascending in each confidential attribute
#   slots int64 (k,)             its records in an order of their own, as positions in `Remaining`
#   ranks int64 (p, k)           rank of each slot's record among the members
#   sizes int64 (1,)             k
_Draft = namedtuple(
    "_Draft", "record_terms grid hopeless sums limits margin members rank_terms sizes slots ranks"
)

# Records that are tried, besides five times k, before all others are ranked by distance.
TRIED_FIRST = 64
# Bins of values, times k, each of which can be ruled out as a whole among those others.
BINS_TIMES_K = 512


def k_anonymity_first(numeric, nominal, k, references, weights=None):
    """Form clusters of k records, and one of k to 2k-1; within t as far as exchanges allow.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers, scaled
    nominal : int32 (q, n): category codes
    k : at least 1; with fewer than 2k records there is one cluster. Memory grows with its square
    references : the codes int64 (p, n) of the records' values of p confidential attributes, one at
        least; of each the table's ``cumulative`` and ``prefix``, as in `ordered_emd`; and limits
        float64 (p,)
    weights : float64 (q,), as in `tclose.kernels.clustering.algorithm3`; by default 1 each

    Returns
    -------
    int64 (n,): cluster of each record, numbered in order of construction
    """
    codes, cumulatives, prefixes, limits = references
    tables = list(zip(cumulatives, prefixes, strict=True))
    record_terms = np.array(
        [
            compute_record_terms(of_attribute, *table)
            for of_attribute, table in zip(codes, tables, strict=True)
        ]
    )
    sums = np.array([table_sums(*table, k + 1) for table in tables])
    return _make_clusters(
        numeric,
        nominal,
        np.ones(len(nominal)) if weights is None else weights,
        k,
        (record_terms, _fill_grid(tables, max(1, BINS_TIMES_K // k)), sums, limits),
    )


def _fill_grid(tables, n_bins):
    """Return the record terms of a value near the middle of each bin: (p, bins, 3)."""
    middles = (np.arange(n_bins) + 0.5) / n_bins
    return np.array(
        [
            compute_record_terms(
                np.rint(middles * (cumulative.size - 1)).astype(np.int64), cumulative, prefix
            )
            for cumulative, prefix in tables
        ]
    )


@kernel
def _make_clusters(numeric, nominal, weights, k, references):
    records = gather_remaining(numeric, nominal, weights)
    draft = _new_draft(k, references)
    n_left = records.rows.size
    labels = np.empty(n_left, dtype=np.int64)
    cluster = np.int64(0)  # a plain 0 is a type of its own, and what it goes to compiled twice
    while n_left >= 2 * k:
        measure_from_average(records, n_left)
        for _ in range(2):
            if n_left < 2 * k:
                break
            seed = farthest_remaining(records, n_left)
            measure_from_record(records, seed, 0, n_left)
            _make_cluster(records, n_left, draft)
            n_left = take_out(records, n_left, draft.slots, labels, cluster)
            cluster += 1
    labels[records.rows[:n_left]] = cluster
    return labels


@kernel
def _new_draft(k, references):
    record_terms, grid, sums, limits = references
    n_attributes = limits.size
    margin = ERROR_PER_STEP * (2 * k + 8)
    return _Draft(
        record_terms, grid, np.zeros(grid.shape[:2], dtype=np.bool_),
        sums, limits - margin, margin,
        np.zeros((n_attributes, 1, k), dtype=np.int64),
        np.zeros((n_attributes, 1, N_RANK_TERMS, k + 1)),
        np.full(1, k),
        np.zeros(k, dtype=np.int64),
        np.zeros((n_attributes, k), dtype=np.int64),
    )  # fmt: skip


@kernel
def _make_cluster(records, n_left, draft):
    """Fill ``draft.slots``: GenerateCluster around the record that was measured from.

    Most clusters need the nearest few records only; ranking all remaining ones takes longer.
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
    """Exchange members for the records at the positions ``tried`` where that improves the cluster.

    Stops once it is within the limits; returns the excess. ``rules_out``: rule out bins of values
    each time the cluster has changed, which pays where many records are tried.
    """
    start = 0
    while excess > 0.0:
        if rules_out:
            _mark_hopeless(draft, excess)
        position, slot = _find_next(records.rows, tried, start, draft, excess)
        if position < 0:
            break
        draft.slots[slot] = tried[position]
        excess = _update_draft(draft, records.rows)
        start = position + 1
    return excess


@kernel
def _mark_hopeless(draft, excess):
    """Mark the bins of values in which no record can improve the cluster.

    Moving one of k records by z changes the distance by at most z/k, so the least excess over all
    members at one value bounds that at all values around it.
    """
    rank_terms, grid, sums, members = draft.rank_terms, draft.grid, draft.sums, draft.members
    size, n_bins = draft.slots.size, grid.shape[1]
    for a in range(draft.limits.size):
        for g in range(n_bins):
            z = grid[a, g, 0]
            reach = max(abs(g / n_bins - z), abs((g + 1) / n_bins - z))
            before = _count_before(draft.record_terms, members, a, z, size)
            lowest = np.inf
            for rank in range(size):
                distance = distance_after_swap(rank_terms, grid, sums, a, 0, size, rank, g, before)
                lowest = min(lowest, distance)
            draft.hopeless[a, g] = lowest - reach / size - draft.limits[a] >= excess


@kernel
def _find_next(rows, tried, start, draft, excess):
    """Find the first of ``tried``, from ``start`` on, that improves the cluster, and its slot.

    Returns -1, -1 if none does. The slot is the one whose replacement leaves the least excess.
    """
    limits, margin, slots = draft.limits, draft.margin, draft.slots
    record_terms, sums, members = draft.record_terms, draft.sums, draft.members
    rank_terms, ranks, hopeless = draft.rank_terms, draft.ranks, draft.hopeless
    size, n_bins = slots.size, hopeless.shape[1]
    before = np.zeros(limits.size, dtype=np.int64)
    for t in range(start, tried.size):
        i = rows[tried[t]]
        is_hopeless = False
        for a in range(limits.size):
            is_hopeless |= hopeless[a, min(int(record_terms[a, i, 0] * n_bins), n_bins - 1)]
        if is_hopeless:
            continue
        for a in range(limits.size):
            before[a] = _count_before(record_terms, members, a, record_terms[a, i, 0], size)
        best, lowest = -1, np.inf
        for slot in range(size):
            achieved = -np.inf
            for a in range(limits.size):
                rank = ranks[a, slot]
                distance = distance_after_swap(
                    rank_terms, record_terms, sums, a, 0, size, rank, i, before[a]
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
def _count_before(record_terms, members, a, z, size):
    """Count the members with a value below z."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if record_terms[a, members[a, 0, middle], 0] < z:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _update_draft(draft, rows):
    """Bring members, ranks and rank terms up to date with the slots; return the excess."""
    record_terms, members, ranks = draft.record_terms, draft.members, draft.ranks
    size = draft.slots.size
    z = np.empty(size)
    for a in range(draft.limits.size):
        for slot in range(size):
            z[slot] = record_terms[a, rows[draft.slots[slot]], 0]
        by_value = np.argsort(z, kind="mergesort")
        for rank in range(size):
            members[a, 0, rank] = rows[draft.slots[by_value[rank]]]
            ranks[a, by_value[rank]] = rank
    fill_rank_terms(draft, 0)
    excess = -np.inf
    for a in range(draft.limits.size):
        excess = max(excess, draft.rank_terms[a, 0, SAME, size] - draft.limits[a])
    return excess
