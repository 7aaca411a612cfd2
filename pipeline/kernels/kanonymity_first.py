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
from numba import njit

from pipeline.kernels.budget import (
    N_LADDERS,
    SAME,
    distance_after_swap,
    fill_ladders,
    place_records,
    table_sums,
)
from pipeline.kernels.emd import ERROR_PER_STEP
from pipeline.kernels.remaining import (
    farthest_remaining,
    gather_remaining,
    measure_from_average,
    measure_from_record,
    next_nearest,
    rank_nearest,
    take_out,
)

# The cluster that is being made, as `budget.fill_ladders` takes a class.
#   places float64 (p, n, 3), sums float64 (p, .), ladders float64 (p, 1, 7, k + 1)   see `budget`
#   limits float64 (p,)          less what a distance can err, `margin`
#   members int64 (p, 1, k)      its records, ascending in each confidential attribute
#   slots int64 (k,)             its records in an order of their own, as positions in `Remaining`
#   ranks int64 (p, k)           place of each slot's record among the members
#   sizes int64 (1,)             k
_Draft = namedtuple("_Draft", "places sums limits margin members ladders sizes slots ranks")


def k_anonymity_first(numeric, nominal, k, targets):
    """Clusters of k records, and one of k to 2k-1; within t where exchanges could bring them there.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers, scaled
    nominal : int32 (q, n): category codes
    k : at least 1; with fewer than 2k records there is one cluster
    targets : as in `pipeline.kernels.repair.merge_classes`, of at least one confidential attribute

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
    return _make_clusters(numeric, nominal, k, places, sums, limits)


@njit(cache=True, nogil=True)
def _make_clusters(numeric, nominal, k, places, sums, limits):
    records = gather_remaining(numeric, nominal)
    draft = _new_draft(k, places, sums, limits)
    n_left = records.rows.size
    labels = np.empty(n_left, dtype=np.int64)
    made = 0
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


@njit(cache=True, nogil=True)
def _new_draft(k, places, sums, limits):
    n_attributes = limits.size
    margin = ERROR_PER_STEP * (2 * k + 8)
    return _Draft(
        places, sums, limits - margin, margin,
        np.zeros((n_attributes, 1, k), dtype=np.int64),
        np.zeros((n_attributes, 1, N_LADDERS, k + 1)),
        np.full(1, k),
        np.zeros(k, dtype=np.int64),
        np.zeros((n_attributes, k), dtype=np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _make_cluster(records, n_left, draft):
    """Fill ``draft.slots``: GenerateCluster around the record that was measured from."""
    heap, distances, rows, slots = records.heap, records.distances, records.rows, draft.slots
    rank_nearest(records, n_left)
    for slot in range(slots.size):
        slots[slot] = next_nearest(heap, n_left - slot, distances, rows)
    n_untried = n_left - slots.size
    excess = _update_draft(draft, rows)
    before = np.zeros(draft.limits.size, dtype=np.int64)
    while excess > 0.0 and n_untried > 0:
        tried = next_nearest(heap, n_untried, distances, rows)
        n_untried -= 1
        slot, lowest = _find_exchange(draft, rows, rows[tried], before)
        if lowest < excess - draft.margin:
            slots[slot] = tried
            excess = _update_draft(draft, rows)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _find_exchange(draft, rows, i, before):
    """The slot whose record makes way for record i with the least excess, and that excess.

    ``before`` int64 (p,) is overwritten: how many members come before record i.
    """
    places, sums, limits, margin = draft.places, draft.sums, draft.limits, draft.margin
    members, ladders, slots, ranks = draft.members, draft.ladders, draft.slots, draft.ranks
    size = slots.size
    for a in range(limits.size):
        before[a] = 0
        while before[a] < size and places[a, members[a, 0, before[a]], 0] < places[a, i, 0]:
            before[a] += 1
    best, lowest = -1, np.inf
    for slot in range(size):
        excess = -np.inf
        for a in range(limits.size):
            distance = distance_after_swap(
                ladders, places, sums, a, 0, size, ranks[a, slot], i, before[a]
            )
            excess = max(excess, distance - limits[a])
        equal = abs(excess - lowest) <= margin
        if excess < lowest - margin or (equal and rows[slots[slot]] < rows[slots[best]]):
            best, lowest = slot, excess
    return best, lowest
