"""t-Closeness-first microaggregation of a block (Soria-Comas et al. 2015, section 7, Algorithm 3).

Clusters are formed two at a time: around the record farthest from the average of those left, and
around the one farthest from that. Each takes the nearest record of every subset, and a second one
of a central subset while extras last.

Records that are taken are swapped out of their subset's row range, so every scan runs over
contiguous memory that holds live records only. Ties in distance go to the first record of
the block, whatever was swapped.

Throughout, ``weights`` is float64 (q,): what it counts that a nominal column differs. A plain
nominal quasi-identifier is one column of weight 1; one with a taxonomy of height H is H columns of
weight 1/H, of its nodes at the levels 0 to H-1, so that their sum is the hierarchical distance.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import copy_into, first_not_below, largest


@kernel
def distances_to(numeric, nominal, weights, point, start, stop, distances):
    """Squared distance of the records start..stop-1 to a point: numeric, then weighted nominal.

    ``point``: its values float64 (d,) and its codes int32 (q,).
    """
    values, levels = point
    # Loops from 0 over views: no place can count from the end, and several are done at once.
    sums = distances[start:stop]
    sums[:] = 0.0
    for j in range(numeric.shape[0]):
        value, row = values[j], numeric[j, start:stop]
        for i in range(sums.size):
            sums[i] += (row[i] - value) ** 2
    for j in range(nominal.shape[0]):
        level, weight, codes = levels[j], weights[j], nominal[j, start:stop]
        for i in range(sums.size):
            sums[i] += weight if codes[i] != level else 0.0


@kernel
def find_farthest(distances, rows, starts, alive):
    """Position of the largest distance among the live records of all subsets."""
    best, most = -1, -1.0
    for s in range(alive.size):
        for i in range(starts[s], starts[s] + alive[s]):
            distance = distances[i]
            if distance > most or (distance == most and rows[i] < rows[best]):
                best, most = i, distance
    return best


@kernel
def _nearest(distances, rows, start, stop):
    best, least = start, distances[start]
    for i in range(start + 1, stop):
        distance = distances[i]
        if distance < least or (distance == least and rows[i] < rows[best]):
            best, least = i, distance
    return best


@kernel
def swap_out(numeric, nominal, rows, distances, taken, last):
    """Exchange a taken record with the last live one of its subset."""
    for j in range(numeric.shape[0]):
        numeric[j, taken], numeric[j, last] = numeric[j, last], numeric[j, taken]
    for j in range(nominal.shape[0]):
        nominal[j, taken], nominal[j, last] = nominal[j, last], nominal[j, taken]
    rows[taken], rows[last] = rows[last], rows[taken]
    distances[taken], distances[last] = distances[last], distances[taken]


@kernel
def close_gaps(numeric, nominal, rows, starts, alive):
    """The starts of subsets, int64 (S,), after live records were moved up if gaps grew to a third.

    So one scan of a block takes all subsets, and few records that were taken.
    """
    n_alive = alive.sum()
    if 3 * (starts[-1] + alive[-1] - n_alive) < n_alive:
        return starts
    moved, filled = np.empty_like(alive), 0
    for s in range(alive.size):
        start = starts[s]
        for j in range(numeric.shape[0]):
            for i in range(alive[s]):
                numeric[j, filled + i] = numeric[j, start + i]
        for j in range(nominal.shape[0]):
            for i in range(alive[s]):
                nominal[j, filled + i] = nominal[j, start + i]
        for i in range(alive[s]):
            rows[filled + i] = rows[start + i]
        moved[s] = filled
        filled += alive[s]
    return moved


@kernel
def _number_by_marks(codes, low, high, local):
    """Number the codes from ``low`` to ``high`` that there are; return how many."""
    places = np.zeros(high - low + 1, dtype=np.int64)
    for i in range(codes.size):
        places[codes[i] - low] = 1
    n_present = 0
    for place in range(places.size):
        n_present += places[place]
        places[place] = n_present - 1
    for i in range(codes.size):
        local[i] = places[codes[i] - low]
    return n_present


@kernel
def compact_codes(nominal):
    """Codes renumbered within the block, ascending, and how many there are of each attribute."""
    local = np.empty_like(nominal)
    n_local = np.zeros(nominal.shape[0], dtype=np.int64)
    for j in range(nominal.shape[0]):
        codes = nominal[j].astype(np.int64)  # a type that is sorted elsewhere, too
        if codes.size == 0:
            continue
        low = high = codes[0]
        for code in codes:
            low, high = min(low, code), max(high, code)
        if high - low <= codes.size:
            n_local[j] = _number_by_marks(codes, low, high, local[j])
            continue
        present = np.sort(codes)
        for i in range(present.size):
            if i == 0 or present[i] != present[n_local[j] - 1]:
                present[n_local[j]] = present[i]
                n_local[j] += 1
        for i in range(present.size):
            local[j, i] = first_not_below(present[: n_local[j]], codes[i])
    return local, n_local


@kernel
def cluster_block(numeric, nominal, weights, subset_starts, take, n_clusters):
    """Partition the records of a block into clusters.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers divided by their range
    nominal, weights : int32 (q, n), float64 (q,): category codes, and what a difference counts
    subset_starts : int64 (S + 1,): where each subset begins; records of a subset are adjacent
    take : int64 (S,): records of each subset in every cluster
    n_clusters : the block's clusters; extras (records beyond ``take``) are at most as many, and a
        cluster takes at most one

    Returns
    -------
    int32 (n,): cluster of each record, 0 .. n_clusters-1
    """
    n_records = subset_starts[-1]
    numeric = numeric.copy()
    nominal, n_local = compact_codes(nominal)
    rows = np.arange(n_records)
    distances = np.empty(n_records)
    labels = np.empty(n_records, dtype=np.int32)
    starts, alive = subset_starts[:-1], subset_starts[1:] - subset_starts[:-1]
    sums = np.empty(numeric.shape[0])
    for j in range(numeric.shape[0]):
        sums[j] = numeric[j].sum()
    counts = np.zeros((nominal.shape[0], largest(n_local, 1)), np.int64)
    for j in range(nominal.shape[0]):
        for i in range(n_records):
            counts[j, nominal[j, i]] += 1
    point = np.empty(numeric.shape[0])
    levels = np.empty(nominal.shape[0], dtype=np.int32)
    n_clustered = 0
    while n_clustered < n_clusters:
        n_left = alive.sum()
        for j in range(point.size):
            point[j] = sums[j] / n_left
        for j in range(levels.size):
            levels[j] = np.argmax(counts[j, : n_local[j]])
        starts = close_gaps(numeric, nominal, rows, starts, alive)
        stop = starts[-1] + alive[-1]
        distances_to(numeric, nominal, weights, (point, levels), 0, stop, distances)
        for _ in range(2):
            if n_clustered == n_clusters:
                break
            seed = find_farthest(distances, rows, starts, alive)
            copy_into(point, numeric[:, seed])
            copy_into(levels, nominal[:, seed])
            distances_to(numeric, nominal, weights, (point, levels), 0, stop, distances)
            has_extra = False
            for s in range(take.size):
                start, n_take = starts[s], take[s]
                if not has_extra and alive[s] > take[s] * (n_clusters - n_clustered):
                    n_take += 1
                    has_extra = True
                for _ in range(n_take):
                    taken = _nearest(distances, rows, start, start + alive[s])
                    for j in range(sums.size):
                        sums[j] -= numeric[j, taken]
                    for j in range(nominal.shape[0]):
                        counts[j, nominal[j, taken]] -= 1
                    labels[rows[taken]] = n_clustered
                    alive[s] -= 1
                    swap_out(numeric, nominal, rows, distances, taken, start + alive[s])
            n_clustered += 1
    return labels


@kernel
def cluster_blocks(numeric, nominal, weights, order, starts, sizes, take):
    """`cluster_block` on each block of a region.

    Parameters
    ----------
    numeric, nominal, weights : the region's quasi-identifiers
    order, starts, sizes : from `cut_blocks`
    take : as in `cluster_block`

    Returns
    -------
    int64 (n,): cluster of each record, numbered block by block
    """
    labels = np.empty(order.size, dtype=np.int64)
    n_clustered = 0
    for b in range(sizes.size):
        begin, end = starts[b, 0], starts[b, -1]
        members = order[begin:end]
        block_numeric = np.empty((numeric.shape[0], members.size))
        for j in range(numeric.shape[0]):
            copy_into(block_numeric[j], numeric[j][members])
        block_nominal = np.empty((nominal.shape[0], members.size), dtype=np.int32)
        for j in range(nominal.shape[0]):
            copy_into(block_nominal[j], nominal[j][members])
        local = cluster_block(
            block_numeric, block_nominal, weights, starts[b] - begin, take, sizes[b]
        )
        for i in range(members.size):
            labels[members[i]] = n_clustered + local[i]
        n_clustered += sizes[b]
    return labels
