"""Classes with given numbers of records of each bucket: a seed and its nearest neighbours.

The second phase of SABRE (Cao et al. 2011).
"""

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def _nearest_live(values, levels, weights, seed, live, nearest, distances):
    """Fill ``nearest`` with the live records nearest to the seed, ascending by distance.

    Squared numeric differences and weighted nominal ones; of equally near ones the first.
    """
    n_wanted, filled = nearest.size, 0
    for i in live:
        distance = 0.0
        for j in range(values.shape[1]):
            distance += (values[i, j] - values[seed, j]) ** 2
        for j in range(levels.shape[1]):
            distance += weights[j] if levels[i, j] != levels[seed, j] else 0.0
        if filled == n_wanted and distance >= distances[filled - 1]:
            continue
        filled = min(filled + 1, n_wanted)
        at = filled - 1
        while at > 0 and distances[at - 1] > distance:
            distances[at] = distances[at - 1]
            nearest[at] = nearest[at - 1]
            at -= 1
        distances[at] = distance
        nearest[at] = i


@kernel
def fill_classes(values, levels, seeds, members, bucket_starts, taken, weights):
    """Give every record a class.

    Parameters
    ----------
    values, levels : float64 (n, d), int32 (n, q): quasi-identifiers, a record's adjacent
    seeds : int64 (n,): all records; the first that is left, and of a bucket that the class takes
        from, is the seed of the next class
    members : int64 (n,): records bucket by bucket, ascending within a bucket
    bucket_starts : int64 (b + 1,): where each bucket begins in ``members``
    taken : int64 (c, b): records of each bucket in each class; the columns' sums are the buckets
    weights : float64 (q,), as in `tclose.kernels.clustering.algorithm3`

    Returns
    -------
    int64 (n,): class of each record, in the order of ``taken``
    """
    n_records, n_buckets = members.size, bucket_starts.size - 1
    labels = np.full(n_records, -1, dtype=np.int64)
    bucket_of = np.empty(n_records, dtype=np.int64)
    for b in range(n_buckets):
        bucket_of[members[bucket_starts[b] : bucket_starts[b + 1]]] = b
    live = members.copy()
    n_live = np.diff(bucket_starts)
    distances = np.empty(taken.max())
    nearest = np.empty(taken.max(), dtype=np.int64)
    first = 0
    for c in range(taken.shape[0]):
        while labels[seeds[first]] >= 0:
            first += 1
        at = first
        while labels[seeds[at]] >= 0 or taken[c, bucket_of[seeds[at]]] == 0:
            at += 1
        for b in range(n_buckets):
            wanted = taken[c, b]
            if wanted == 0:
                continue
            start = bucket_starts[b]
            stop = start + n_live[b]
            _nearest_live(
                values, levels, weights, seeds[at], live[start:stop], nearest[:wanted], distances
            )
            for i in nearest[:wanted]:
                labels[i] = c
            end = start
            for i in range(start, stop):
                if labels[live[i]] < 0:
                    live[end] = live[i]
                    end += 1
            n_live[b] = end - start
    return labels
