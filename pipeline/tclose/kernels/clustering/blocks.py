"""Blocks: cuts along the quasi-identifiers that keep every subset's share, exactly.

Each subset is split at its *own* quantile of the chosen quasi-identifier, so both halves hold the
same number of records of every subset, at every depth, and clusters of one record per subset can be
formed in each. An extra record (n mod K of them) goes with a cluster that can take it.

Throughout, ``numeric`` is float64 (d, n), each quasi-identifier divided by its range, and
``nominal`` int32 (q, n), category codes: attributes are rows, so that a scan is contiguous. A plain
nominal quasi-identifier is one row; one with a taxonomy of height H is H rows: its nodes at the
levels 0 to H-1, numbered from left to right. Of each row ``weights`` (float64 (q,)) has what a
difference counts, 1/H of the quasi-identifier's own weight, and ``heights`` (int64 (q,)) has H.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import copy_into, stable_order

# Of the numbers by which records are drawn.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
# Records of a node, at most, by which it is judged along what it is cut.
MOST_JUDGED = 1024


@kernel
def extras_up_to(n_extra, n_extra_subset, n_clusters, cluster):
    """Extra records of a subset that go with the clusters before ``cluster``.

    Of all ``n_extra`` (at most ``n_clusters``), floor(n_extra * cluster / n_clusters) go there: so
    no range of clusters gets more extras than it has clusters. The first central subset takes its
    proportion of them, ``n_extra_subset`` of ``n_extra``; the second one takes what is left.
    """
    if n_extra == 0:
        return 0
    together = n_extra * cluster // n_clusters
    return together * n_extra_subset // n_extra


@kernel
def split_extras(extras, n_clusters, n_left):
    """Extras of each subset that go with the first ``n_left`` of ``n_clusters``, int64 (S,).

    At most two subsets, the central ones, have any.
    """
    left = np.zeros_like(extras)
    total = extras.sum()
    remaining = total * n_left // n_clusters if n_clusters else 0
    shared = remaining
    last = -1
    for s in range(extras.size):
        if extras[s] > 0:
            left[s] = shared * extras[s] // total
            remaining -= left[s]
            last = s
    if last >= 0:
        left[last] += remaining
    return left


@kernel
def _numeric_spread(values, rows):
    mean = 0.0
    for i in rows:
        mean += values[i]
    mean /= rows.size
    spread = 0.0
    for i in rows:
        spread += (values[i] - mean) ** 2
    return spread / rows.size


@kernel
def _nominal_spread(codes, rows, counts):
    """Half the mean of the 0/1 distance of two records: what variance is to numbers."""
    for i in rows:
        counts[codes[i]] += 1
    same = 0.0
    for i in rows:
        same += counts[codes[i]]
    for i in rows:
        counts[codes[i]] = 0
    return 0.5 * (1.0 - same / rows.size / rows.size)


@kernel
def widest_axis(numeric, nominal, weights, heights, rows, counts):
    """The quasi-identifier of largest spread among ``rows``: numeric ones first, then nominal.

    Of one with a taxonomy the spread is the sum over its levels: half the mean hierarchical
    distance of two records. It is known by its lowest row, along which all levels are in order.
    """
    best, axis = -1.0, 0
    for j in range(numeric.shape[0]):
        spread = _numeric_spread(numeric[j], rows)
        if spread > best:
            best, axis = spread, j
    lowest = 0
    while lowest < nominal.shape[0]:
        spread, above = 0.0, lowest + heights[lowest]
        for j in range(lowest, above):
            spread += weights[j] * _nominal_spread(nominal[j], rows, counts)
        if spread > best:
            best, axis = spread, numeric.shape[0] + lowest
        lowest = above
    return axis


@kernel
def _precedes(key_a, row_a, key_b, row_b):
    return key_a < key_b or (key_a == key_b and row_a < row_b)


@kernel
def select_smallest(keys, rows, n_smallest):
    """Reorder both in place so that the ``n_smallest`` by (key, row) come first: quickselect."""
    low, high = 0, rows.size - 1
    while low < high:
        middle = (low + high) // 2
        key, row = keys[middle], rows[middle]
        i, j = low, high
        while i <= j:
            while _precedes(keys[i], rows[i], key, row):
                i += 1
            while _precedes(key, row, keys[j], rows[j]):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if n_smallest - 1 <= j:
            high = j
        elif n_smallest >= i + 1:
            low = i
        else:
            return


@kernel
def axis_keys(numeric, nominal, axis, rows):
    """Values of quasi-identifier ``axis`` for ``rows``, float64."""
    keys = np.empty(rows.size)
    n_numeric = numeric.shape[0]
    for i in range(rows.size):
        if axis < n_numeric:
            keys[i] = numeric[axis, rows[i]]
        else:
            keys[i] = nominal[axis - n_numeric, rows[i]]
    return keys


@kernel
def cut_blocks(  # noqa: PLR0913 (arrays of a region, and how it is cut)
    numeric, nominal, weights, heights, n_levels, cells, subset_starts, take, n_clusters,
    block_clusters,
):  # fmt: skip
    """Cut a region into blocks of at most ``block_clusters`` clusters, balanced in every subset.

    Parameters
    ----------
    numeric, nominal, weights, heights : as in the module's text; records of a subset adjacent
    n_levels : the largest number of categories of a nominal quasi-identifier
    cells : int64 (n,): records of a subset that are alike in further confidential attributes; each
        half takes the same share of every cell, but for what is less than a record
    subset_starts : int64 (S + 1,): where each subset begins
    take : int64 (S,): records of each subset in every cluster; what a subset has beyond
        ``n_clusters * take`` are its extras
    n_clusters, block_clusters : clusters in the region, and in a block at most

    Returns
    -------
    order : int64 (n,): records block by block, within a block subset by subset, each ascending
    starts : int64 (b, S + 1): in ``order``, where each subset of each block begins and ends
    sizes : int64 (b,): clusters of each block
    """
    n_subsets = take.size
    n_nodes = 2 * (n_clusters // max(1, (block_clusters + 1) // 2) + 2)
    first = np.empty((n_nodes, n_subsets), dtype=np.int64)
    extra = np.empty((n_nodes, n_subsets), dtype=np.int64)
    clusters = np.empty(n_nodes, dtype=np.int64)
    perm = np.arange(numeric.shape[1] if numeric.shape[0] else nominal.shape[1])
    order = np.empty_like(perm)
    starts = np.empty((n_nodes, n_subsets + 1), dtype=np.int64)
    sizes = np.empty(n_nodes, dtype=np.int64)
    counts = np.zeros(n_levels, dtype=np.int64)
    clusters[0] = n_clusters
    copy_into(first[0], subset_starts[:-1])
    copy_into(extra[0], subset_starts[1:] - subset_starts[:-1] - n_clusters * take)
    depth, n_blocks, written = 1, 0, 0
    while depth:
        depth -= 1
        begin, spare, g = first[depth].copy(), extra[depth].copy(), clusters[depth]
        if g <= block_clusters:
            sizes[n_blocks] = g
            for s in range(n_subsets):
                members = np.sort(perm[begin[s] : begin[s] + g * take[s] + spare[s]])
                starts[n_blocks, s] = written
                copy_into(order[written : written + members.size], members)
                written += members.size
            starts[n_blocks, n_subsets] = written
            n_blocks += 1
            continue
        rows = gather_rows(perm, begin, g * take + spare)
        judged = rows[:: -(-rows.size // MOST_JUDGED)].copy()
        axis = widest_axis(numeric, nominal, weights, heights, judged, counts)
        g_left = g // 2
        left = split_extras(spare, g, g_left)
        for s in range(n_subsets):
            segment = perm[begin[s] : begin[s] + g * take[s] + spare[s]]
            split_segment(numeric, nominal, axis, cells, segment, g_left * take[s] + left[s])
        # The right half waits on the stack below the left one: blocks leave in axis order.
        copy_into(first[depth], begin + g_left * take + left)
        copy_into(extra[depth], spare - left)
        copy_into(first[depth + 1], begin)
        copy_into(extra[depth + 1], left)
        clusters[depth], clusters[depth + 1] = g - g_left, g_left
        depth += 2
    return order, starts[:n_blocks], sizes[:n_blocks]


@kernel
def split_segment(numeric, nominal, axis, cells, segment, n_left):
    """Reorder the rows of a subset so that the first ``n_left`` are lowest along an axis.

    Of each cell the first part takes its share, to the nearest record: the shares of the cells up
    to each are rounded down, so that they add up.
    """
    of_rows = cells[segment]
    if _are_equal(of_rows):
        keys = axis_keys(numeric, nominal, axis, segment)
        select_smallest(keys, segment, n_left)
        return
    by_cell = segment[stable_order(of_rows)]
    n_rows = segment.size
    start, filled_left, filled_right = 0, 0, n_left
    while start < n_rows:
        stop = start
        while stop < n_rows and cells[by_cell[stop]] == cells[by_cell[start]]:
            stop += 1
        # Half a record off, so that the first cell does not always get less than its share.
        share = (2 * stop * n_left + n_rows) // (2 * n_rows) - filled_left
        share = min(max(share, 0), stop - start)
        rows = by_cell[start:stop]
        select_smallest(axis_keys(numeric, nominal, axis, rows), rows, share)
        copy_into(segment[filled_left : filled_left + share], rows[:share])
        copy_into(segment[filled_right : filled_right + rows.size - share], rows[share:])
        filled_left += share
        filled_right += rows.size - share
        start = stop


@kernel(borrows=True)
def _are_equal(numbers):
    for number in numbers:  # noqa: SIM110
        if number != numbers[0]:
            return False
    return True


@kernel
def gather_rows(perm, begin, sizes):
    """The rows of all subsets of a node, int64."""
    rows = np.empty(sizes.sum(), dtype=np.int64)
    filled = 0
    for s in range(begin.size):
        copy_into(rows[filled : filled + sizes[s]], perm[begin[s] : begin[s] + sizes[s]])
        filled += sizes[s]
    return rows


@kernel
def find_leaves(numeric, nominal, cells, positions, axes, thresholds):
    """Leaf of the coarse tree that each record falls in.

    Parameters
    ----------
    cells : int32 (n,): which set of thresholds each record goes by (its subset)
    positions : int64 (n,): of the records in the table, by which those of drawn nodes are parted
    axes : int32 (nodes,): quasi-identifier of each inner node, heap order: children of i at
        2i + 1 (key up to the threshold) and 2i + 2; below 0 of drawn nodes
    thresholds : float64 (n_cells, nodes)

    Returns
    -------
    int32 (n,), 0 .. nodes, from left to right
    """
    n_nodes = axes.size
    leaves = np.empty(cells.size, dtype=np.int32)
    for i in range(cells.size):
        node = 0
        while node < n_nodes:
            axis = axes[node]
            if axis < 0:
                is_left = _is_drawn(positions[i], node)
            elif axis < numeric.shape[0]:
                is_left = numeric[axis, i] <= thresholds[cells[i], node]
            else:
                is_left = nominal[axis - numeric.shape[0], i] <= thresholds[cells[i], node]
            node = 2 * node + (1 if is_left else 2)
        leaves[i] = node - n_nodes
    return leaves


@kernel(inline="always")
def _is_drawn(position, node):
    """Half of all positions, others at each node (Steele, Lea and Flood 2014, SplitMix64)."""
    mixed = np.uint64(position) + np.uint64(node + 1) * _STEP
    mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _FACTORS[0]
    mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _FACTORS[1]
    return (mixed ^ (mixed >> _SHIFTS[2])) & np.uint64(1) == np.uint64(0)
