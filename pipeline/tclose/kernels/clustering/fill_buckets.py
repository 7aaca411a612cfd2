"""Classes with given numbers of records of every bucket (Domingo-Ferrer, Soria-Comas 2015, 6.2).

The counts are decided before the records: row r of ``counts`` (g, b) has the number of records of
each bucket in one class, and the rows add up to the buckets. Any range of rows, with its records
bucket by bucket, is therefore a block that can be filled independently.
"""

import numpy as np

from tclose.kernels.clustering.algorithm3 import compact_codes
from tclose.kernels.clustering.blocks import (
    axis_keys,
    gather_rows,
    select_smallest,
    widest_axis,
)
from tclose.kernels.compiler import kernel


@kernel
def cut_class_ranges(  # noqa: PLR0913 (arrays of a table, and how it is cut)
    numeric, nominal, n_levels, starts, cumulative, block_classes, weights, heights
):
    """Cut records into blocks of at most ``block_classes`` classes, with their exact counts.

    A range of classes is halved along the quasi-identifier of largest spread; each bucket gives
    the lower half as many of its lowest records as those classes take.

    Parameters
    ----------
    numeric, nominal : float64 (d, n), int32 (q, n); records of a bucket adjacent
    n_levels : the largest number of categories of a nominal quasi-identifier
    starts : int64 (b,): where each bucket begins
    cumulative : int64 (g + 1, b): records of each bucket that go with the classes before each
    weights, heights : float64 (q,), int64 (q,), as in `tclose.kernels.clustering.blocks`

    Returns
    -------
    order : int64 (n,): bucket by bucket; classes f .. l-1 have the records of bucket i from
        ``starts[i] + cumulative[f, i]`` to ``starts[i] + cumulative[l, i]``
    edges : int64 (blocks + 1,): the first class of each block, and the end
    """
    n_classes = cumulative.shape[0] - 1
    order = np.arange(cumulative[n_classes].sum())
    counts = np.zeros(n_levels, dtype=np.int64)
    edges = np.empty(n_classes + 1, dtype=np.int64)
    waiting = np.empty((n_classes + 1, 2), dtype=np.int64)
    waiting[0] = 0, n_classes
    depth, n_blocks = 1, 0
    while depth:
        depth -= 1
        first, last = waiting[depth]
        if last - first <= block_classes:
            edges[n_blocks] = first
            n_blocks += 1
            continue
        begin = starts + cumulative[first]
        sizes = cumulative[last] - cumulative[first]
        rows = gather_rows(order, begin, sizes)
        axis = widest_axis(numeric, nominal, weights, heights, rows, counts)
        middle = (first + last) // 2
        for i in range(starts.size):
            segment = order[begin[i] : begin[i] + sizes[i]]
            keys = axis_keys(numeric, nominal, axis, segment)
            select_smallest(keys, segment, cumulative[middle, i] - cumulative[first, i])
        # The right half waits below the left one: blocks leave in the order of their classes.
        waiting[depth] = middle, last
        waiting[depth + 1] = first, middle
        depth += 2
    edges[n_blocks] = n_classes
    return order, edges[: n_blocks + 1]


@kernel
def _distances_from(numeric, nominal, weights, point, levels, free, distances):
    """Squared distance of each free record to a point; -1 for those that are taken."""
    for i in range(free.size):
        distance = -1.0
        if free[i]:
            distance = 0.0
            for j in range(numeric.shape[0]):
                distance += (numeric[j, i] - point[j]) ** 2
            for j in range(nominal.shape[0]):
                distance += weights[j] if nominal[j, i] != levels[j] else 0.0
        distances[i] = distance


@kernel
def _average(numeric, nominal, n_local, free, point, levels):
    """Means and commonest codes of the free records; of equally common ones the lowest."""
    n_free = free.sum()
    for j in range(numeric.shape[0]):
        total = 0.0
        for i in range(free.size):
            if free[i]:
                total += numeric[j, i]
        point[j] = total / n_free
    for j in range(nominal.shape[0]):
        counts = np.zeros(n_local[j], dtype=np.int64)
        for i in range(free.size):
            if free[i]:
                counts[nominal[j, i]] += 1
        levels[j] = np.argmax(counts)


@kernel
def _cheapest_counts(distances, free, starts, counts, remaining):
    """The row of counts whose records are nearest on average, and the records, nearest first.

    ``remaining`` (g,): rows that no class has taken. Equal distances go to the lowest record, equal
    means to the lowest row.
    """
    n_rows, n_buckets = counts.shape
    costs = np.zeros(n_rows)
    nearest = np.empty(free.size, dtype=np.int64)
    for b in range(n_buckets):
        rows = starts[b] + np.flatnonzero(free[starts[b] : starts[b + 1]])
        rows = rows[np.argsort(distances[rows], kind="mergesort")]
        nearest[starts[b] : starts[b] + rows.size] = rows
        sums = np.zeros(rows.size + 1)
        for i in range(rows.size):
            sums[i + 1] = sums[i] + distances[rows[i]]
        for r in range(n_rows):
            if remaining[r]:
                costs[r] += sums[counts[r, b]]
    best = -1
    for r in range(n_rows):
        if remaining[r]:
            costs[r] /= counts[r].sum()
            if best < 0 or costs[r] < costs[best]:
                best = r
    return best, nearest


@kernel
def fill_block(numeric, nominal, starts, counts, weights):
    """Partition the records of a block into classes with the given counts.

    Seeds are those of Algorithm 3 of Soria-Comas et al. 2015: the record farthest from the average
    of those left, then the one farthest from it. Around each, the class is that row of ``counts``,
    of those left, whose records are nearest on average: so the bucket that a class emphasises is
    one that is common around its seed.

    Parameters
    ----------
    numeric, nominal : float64 (d, n), int32 (q, n); records of a bucket adjacent
    starts : int64 (b + 1,): where each bucket begins
    counts : int64 (g, b): records of each bucket in each class; columns add up to the buckets
    weights : as in `cut_class_ranges`

    Returns
    -------
    int64 (n,): class of each record, its row in ``counts``
    """
    n_records = starts[-1]
    nominal, n_local = compact_codes(nominal)
    free = np.ones(n_records, dtype=np.bool_)
    remaining = np.ones(counts.shape[0], dtype=np.bool_)
    labels = np.empty(n_records, dtype=np.int64)
    distances = np.empty(n_records)
    point = np.empty(numeric.shape[0])
    levels = np.empty(nominal.shape[0], dtype=nominal.dtype)
    for n_filled in range(counts.shape[0]):
        if n_filled % 2 == 0:
            _average(numeric, nominal, n_local, free, point, levels)
            _distances_from(numeric, nominal, weights, point, levels, free, distances)
        else:
            # Distances are those to the seed before, whose records are not free any more.
            distances[~free] = -1.0
        seed = np.argmax(distances)
        point[:] = numeric[:, seed]
        levels[:] = nominal[:, seed]
        _distances_from(numeric, nominal, weights, point, levels, free, distances)
        row, nearest = _cheapest_counts(distances, free, starts, counts, remaining)
        remaining[row] = False
        for b in range(counts.shape[1]):
            for i in range(counts[row, b]):
                taken = nearest[starts[b] + i]
                labels[taken] = row
                free[taken] = False
    return labels


@kernel
def fill_blocks(numeric, nominal, starts, cumulative, order, edges, weights):
    """`fill_block` on each block of `cut_class_ranges`; int64 (n,): class of each record."""
    labels = np.empty(order.size, dtype=np.int64)
    n_buckets = starts.size
    block_starts = np.zeros(n_buckets + 1, dtype=np.int64)
    for e in range(edges.size - 1):
        first, last = edges[e], edges[e + 1]
        begin = starts + cumulative[first]
        sizes = cumulative[last] - cumulative[first]
        block_starts[1:] = np.cumsum(sizes)
        members = gather_rows(order, begin, sizes)
        # Ascending within a bucket, so that ties go to the first record.
        for b in range(n_buckets):
            members[block_starts[b] : block_starts[b + 1]].sort()
        block_numeric = np.empty((numeric.shape[0], members.size))
        for j in range(numeric.shape[0]):
            block_numeric[j] = numeric[j][members]
        block_nominal = np.empty((nominal.shape[0], members.size), dtype=np.int32)
        for j in range(nominal.shape[0]):
            block_nominal[j] = nominal[j][members]
        counts = cumulative[first + 1 : last + 1] - cumulative[first:last]
        local = fill_block(block_numeric, block_nominal, block_starts, counts, weights)
        labels[members] = first + local
    return labels
