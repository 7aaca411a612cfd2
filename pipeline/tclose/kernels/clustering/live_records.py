"""Records that are in no cluster yet: kept adjacent, and averaged as they leave.

Every scan runs over the live records only. A record that is taken out is exchanged with the last
live one, so those taken last are right behind the live ones. Ties in distance go to the first
record of the input, whatever was exchanged.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.algorithm3 import (
    compact_codes,
    distances_to,
    find_farthest,
    swap_out,
)
from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import copy_into, largest, stable_order

# The records, the first n_left of them live.
#   numeric float64 (d, n), nominal int32 (q, n)   quasi-identifiers, codes renumbered from 0
#   weights float64 (q,)     squared distance of two different codes, see `algorithm3`
#   n_local int64 (q,)       how many codes there are
#   rows int64 (n,)          position of each record in the input
#   distances float64 (n,)   squared, to the point that was measured from last
#   sums float64 (d,), counts int64 (q, L)   of the live records
#   point float64 (d,), levels int32 (q,)    what is measured from
Remaining = namedtuple(
    "Remaining", "numeric nominal weights n_local rows distances sums counts point levels"
)

# Positions that are sorted one after the other.
FEW = 24
# Span of distances, at least, so that none is divided by zero.
TINY = np.finfo(np.float64).tiny


@kernel
def gather_remaining(numeric, nominal, weights):
    """All records, none of them taken: numeric float64 (d, n), nominal int32 (q, n).

    ``weights`` float64 (q,), as in `tclose.kernels.clustering.algorithm3`.
    """
    local, n_local = compact_codes(nominal)
    n_records = numeric.shape[1]
    sums = np.empty(numeric.shape[0])
    for j in range(numeric.shape[0]):
        sums[j] = numeric[j].sum()
    counts = np.zeros((nominal.shape[0], largest(n_local, 1)), np.int64)
    for j in range(nominal.shape[0]):
        for i in range(n_records):
            counts[j, local[j, i]] += 1
    return Remaining(
        numeric.copy(), local, weights, n_local,
        np.arange(n_records), np.zeros(n_records), sums, counts,
        np.empty(numeric.shape[0]), np.empty(nominal.shape[0], dtype=np.int32),
    )  # fmt: skip


@kernel
def measure_from_average(records, n_left):
    """Distances of the live records to their average."""
    go_to_average(records, n_left)
    _measure(records, 0, n_left)


@kernel
def go_to_average(records, n_left):
    """Have what is measured from be the average of the live records: means and commonest codes."""
    for j in range(records.point.size):
        records.point[j] = records.sums[j] / n_left
    for j in range(records.levels.size):
        records.levels[j] = np.argmax(records.counts[j, : records.n_local[j]])


@kernel
def measure_from_record(records, at, start, stop):
    """Distances of the records at start..stop-1 to the one at a position."""
    go_to_record(records, at)
    _measure(records, start, stop)


@kernel
def go_to_record(records, at):
    """Have what is measured from be the record at a position."""
    copy_into(records.point, records.numeric[:, at])
    copy_into(records.levels, records.nominal[:, at])


@kernel
def _measure(records, start, stop):
    distances_to(
        records.numeric, records.nominal, records.weights, (records.point, records.levels),
        start, stop, records.distances,
    )  # fmt: skip


@kernel
def farthest_remaining(records, n_left):
    """Position of the live record of the largest distance."""
    start, alive = np.zeros(1, dtype=np.int64), np.full(1, n_left)
    return find_farthest(records.distances, records.rows, start, alive)


@kernel
def take_out(records, n_left, taken, labels, label):
    """Label the records at the positions ``taken``; return the number of live records left.

    From the last position to the first: what comes from the end is then never one of them.
    """
    for at in np.sort(taken)[::-1]:
        n_left -= 1
        for j in range(records.sums.size):
            records.sums[j] -= records.numeric[j, at]
        for j in range(records.levels.size):
            records.counts[j, records.nominal[j, at]] -= 1
        labels[records.rows[at]] = label
        swap_out(records.numeric, records.nominal, records.rows, records.distances, at, n_left)
    return n_left


@kernel
def nearest_remaining(records, n_left, n_wanted):
    """Positions of the live records of the smallest distances, ascending: int64 (n_wanted,).

    There are as many at least.
    """
    nearest = np.empty(n_wanted, dtype=np.int64)
    enter_nearest(records.distances, records.rows, 0, n_left, nearest, 0)
    return nearest


@kernel(borrows=True)
def enter_nearest(distances, rows, start, stop, nearest, n_found):
    """Enter the positions start..stop-1 among the ``n_found`` nearest so far, ascending.

    One scan; a record that belongs to them is put in its place, which happens ever more rarely.
    Returns how many they are now, at most as many as ``nearest``, int64 (n,), has room for.
    """
    n_wanted = nearest.size
    for i in range(start, stop):
        if n_found == n_wanted:
            if not _comes_before(distances, rows, i, nearest[-1]):
                continue
            n_found -= 1
        slot = n_found
        while slot > 0 and _comes_before(distances, rows, i, nearest[slot - 1]):
            nearest[slot] = nearest[slot - 1]
            slot -= 1
        nearest[slot] = i
        n_found += 1
    return n_found


@kernel
def rank_remaining(records, n_left):
    """Positions of all live records, nearest first: int64 (n_left,), n_left at least 1.

    Records are binned by distance first, a few in each bin, which takes a fifth of the time.
    """
    distances, rows = records.distances[:n_left], records.rows
    n_bins = n_left // 8 + 1
    lowest = distances.min()
    span = max(distances.max() - lowest, TINY)
    bins = ((distances - lowest) / span * (n_bins - 1)).astype(np.int64)
    ends = np.zeros(n_bins + 1, dtype=np.int64)
    for b in bins:
        ends[b + 1] += 1
    ends = np.cumsum(ends)
    filled = ends[:-1].copy()
    ranked = np.empty(n_left, dtype=np.int64)
    for i in range(n_left):
        ranked[filled[bins[i]]] = i
        filled[bins[i]] += 1
    for b in range(n_bins):
        _sort_positions(ranked[ends[b] : ends[b + 1]], distances, rows)
    return ranked


@kernel
def _sort_positions(positions, distances, rows):
    """Sort by distance, equal ones by row, in place: one after the other while they are few."""
    if positions.size > FEW:
        by_row = positions[stable_order(rows[positions])]
        copy_into(positions, by_row[stable_order(distances[by_row])])
        return
    for m in range(1, positions.size):
        moved, slot = positions[m], m
        while slot > 0 and _comes_before(distances, rows, moved, positions[slot - 1]):
            positions[slot] = positions[slot - 1]
            slot -= 1
        positions[slot] = moved


@kernel(inline="always")
def _comes_before(distances, rows, a, b):
    """Return whether the record at a comes before that at b, by distance and then by row."""
    return distances[a] < distances[b] or (distances[a] == distances[b] and rows[a] < rows[b])
