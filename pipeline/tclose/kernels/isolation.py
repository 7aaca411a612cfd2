"""Distances of records from their nearest others: exact searches in a tree of points.

Squared distances are those of the clustering: the sum of squared differences of numeric
quasi-identifiers, and the weight of each nominal column that differs. A tree halves the points at
medians (Bentley, *Multidimensional binary search trees*, 1975); a half is passed over if its box is
farther than the nearest ones found. Bounds are summed as distances are, in the same order, so that
rounding passes over none that is nearer.
"""

import numpy as np

from tclose.kernels.clustering.blocks import axis_keys, select_smallest, widest_axis
from tclose.kernels.compiler import kernel

POINTS_PER_LEAF = 16


@kernel
def order_points(numeric, nominal, weights, heights, n_levels):
    """Order points so that each node of a balanced tree has adjacent ones.

    Parameters
    ----------
    numeric, nominal, weights, heights : as in `tclose.kernels.clustering.blocks`

    Returns
    -------
    order int64 (n,); starts, stops int64 (nodes,), in heap order: which points a node has
    """
    n_points = max(numeric.shape[1], nominal.shape[1])
    n_leaves = 1
    while n_leaves * POINTS_PER_LEAF < n_points:
        n_leaves *= 2
    starts = np.zeros(2 * n_leaves - 1, dtype=np.int64)
    stops = np.zeros(2 * n_leaves - 1, dtype=np.int64)
    stops[0] = n_points
    order = np.arange(n_points)
    counts = np.zeros(n_levels, dtype=np.int64)
    for node in range(n_leaves - 1):
        start, stop = starts[node], stops[node]
        middle = (start + stop) // 2
        rows = order[start:stop]
        axis = widest_axis(numeric, nominal, weights, heights, rows, counts)
        keys = axis_keys(numeric, nominal, axis, rows)
        select_smallest(keys, rows, middle - start)
        starts[2 * node + 1], stops[2 * node + 1] = start, middle
        starts[2 * node + 2], stops[2 * node + 2] = middle, stop
    return order, starts, stops


@kernel
def bound_nodes(values, levels, starts, stops):
    """Boxes of a tree's nodes.

    Parameters
    ----------
    values, levels : float64 (n, d), int32 (n, q): the points in the tree's order

    Returns
    -------
    lows, highs float64 (nodes, d + q)
    """
    n_numeric, n_nominal = values.shape[1], levels.shape[1]
    lows = np.full((starts.size, n_numeric + n_nominal), np.inf)
    highs = np.full((starts.size, n_numeric + n_nominal), -np.inf)
    for node in range(starts.size):
        for i in range(starts[node], stops[node]):
            for j in range(n_numeric):
                lows[node, j] = min(lows[node, j], values[i, j])
                highs[node, j] = max(highs[node, j], values[i, j])
            for j in range(n_nominal):
                lows[node, n_numeric + j] = min(lows[node, n_numeric + j], levels[i, j])
                highs[node, n_numeric + j] = max(highs[node, n_numeric + j], levels[i, j])
    return lows, highs


@kernel
def measure_isolation(  # noqa: PLR0913 (points in a tree, and who looks for neighbours)
    values, levels, names, starts, stops, lows, highs, weights, of_values, of_levels, of_names,
    n_near, enough,
):  # fmt: skip
    """Squared distance of each record to its ``n_near``-th nearest point: float64 (m,).

    Parameters
    ----------
    values, levels : float64 (n, d), int32 (n, q): the points in the tree's order
    names : int64 (n,): of the points; a record is no neighbour of a point of its own name
    starts, stops, lows, highs : of the tree's nodes
    of_values, of_levels, of_names : the records
    n_near : at least 1; with fewer other points the distance is infinite
    enough : a search ends once that many are this near or nearer; what is returned then is at most
        this
    """
    squares = np.empty(of_names.size)
    nearest = np.empty(n_near)
    stack = np.empty(128, dtype=np.int64)
    for i in range(of_names.size):
        nearest[:] = np.inf
        stack[0], depth = 0, 1
        while depth and nearest[0] > enough:
            depth -= 1
            node = stack[depth]
            bound = _bound(of_values[i], of_levels[i], weights, lows[node], highs[node])
            if bound >= nearest[0]:
                continue
            if 2 * node + 2 < starts.size:
                stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node + 2
                left = _bound(
                    of_values[i], of_levels[i], weights, lows[2 * node + 1], highs[2 * node + 1]
                )
                right = _bound(
                    of_values[i], of_levels[i], weights, lows[2 * node + 2], highs[2 * node + 2]
                )
                if left <= right:  # the nearer one is looked at first
                    stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
                depth += 2
                continue
            for p in range(starts[node], stops[node]):
                if names[p] != of_names[i]:
                    square = _square_to(of_values[i], of_levels[i], weights, values[p], levels[p])
                    _keep_nearest(nearest, square)
        squares[i] = nearest[0]
    return squares


@kernel
def _keep_nearest(nearest, square):
    """Put a square among the smallest: a heap, the largest of them first (Williams 1964)."""
    if square >= nearest[0]:
        return
    at, child = 0, 1
    while child < nearest.size:
        if child + 1 < nearest.size and nearest[child + 1] > nearest[child]:
            child += 1
        if nearest[child] <= square:
            break
        nearest[at] = nearest[child]
        at, child = child, 2 * child + 1
    nearest[at] = square


@kernel
def _bound(numbers, codes, weights, lows, highs):
    """A square that none is below, of the distances to points in a box."""
    total = 0.0
    for j in range(numbers.size):
        difference = max(lows[j] - numbers[j], numbers[j] - highs[j], 0.0)
        total += difference * difference
    for j in range(codes.size):
        if codes[j] < lows[numbers.size + j] or codes[j] > highs[numbers.size + j]:
            total += weights[j]
    return total


@kernel
def _square_to(numbers, codes, weights, point_numbers, point_codes):
    total = 0.0
    for j in range(numbers.size):
        difference = numbers[j] - point_numbers[j]
        total += difference * difference
    for j in range(codes.size):
        if codes[j] != point_codes[j]:
            total += weights[j]
    return total
