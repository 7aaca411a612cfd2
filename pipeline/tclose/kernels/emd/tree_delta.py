"""Distance over a tree after an exchange of records, by the nodes above the two records.

The hierarchical or equal distance is a sum over the tree's nodes, see `emd.tree`. An exchange of
one record for another changes only the nodes above the two; one that leaves or joins changes every
share, so the sums over all nodes at one record less and one more are kept, too, and put right along
one path.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel

# The values of u attributes as leaves, the nodes numbered one attribute after the other.
#   nodes int32 (n, columns)      nodes above each record, the root's children first; -1: none
#   columns int64 (u + 1,)        where each attribute's columns begin
#   ends int64 (u + 1,)           where each attribute's nodes begin
#   weights, shares float64 (nodes,)   of the edge above each node; of the table's records below it
#   limits float64 (u,)
#   absent float64 (u,)           what nodes that no record is below add to every distance
Trees = namedtuple("Trees", "nodes columns ends weights shares limits absent")

# Columns of a class's sums: at its size, with a record less, with one more.
SAME, LESS, MORE = range(3)


@kernel(borrows=True)
def sum_nodes(trees, counts, size, sums):
    """Fill ``sums`` float64 (u, 3) of a class of ``size`` with ``counts`` int32 (nodes,)."""
    weights, shares, ends = trees.weights, trees.shares, trees.ends
    for u in range(trees.limits.size):
        same, less, more = trees.absent[u], trees.absent[u], trees.absent[u]
        for node in range(ends[u], ends[u + 1]):
            count, share, weight = counts[node], shares[node], weights[node]
            same += weight * abs(count / size - share)
            more += weight * abs(count / (size + 1) - share)
            if size > 1:
                less += weight * abs(count / (size - 1) - share)
        sums[u, SAME], sums[u, LESS], sums[u, MORE] = same, less, more


@kernel(inline="always")
def tree_after_swap(trees, counts, sums, u, c, size, x, y):  # noqa: PLR0913
    """Distance of class c once its record x is replaced by record y."""
    nodes, weights, shares = trees.nodes, trees.weights, trees.shares
    distance = sums[c, u, SAME]
    for column in range(trees.columns[u], trees.columns[u + 1]):
        old, new = nodes[x, column], nodes[y, column]
        if old == new:
            continue
        if old >= 0:
            count, share = counts[c, old], shares[old]
            change = abs((count - 1) / size - share) - abs(count / size - share)
            distance += weights[old] * change
        if new >= 0:
            count, share = counts[c, new], shares[new]
            change = abs((count + 1) / size - share) - abs(count / size - share)
            distance += weights[new] * change
    return distance


@kernel(inline="always")
def tree_after_move(trees, counts, sums, u, c, size, x, sign):  # noqa: PLR0913
    """Distance of class c once record x has joined it (``sign`` 1) or left it (-1)."""
    nodes, weights, shares = trees.nodes, trees.weights, trees.shares
    after = size + sign
    distance = sums[c, u, MORE if sign > 0 else LESS]
    for column in range(trees.columns[u], trees.columns[u + 1]):
        node = nodes[x, column]
        if node >= 0:
            count, share = counts[c, node], shares[node]
            change = abs((count + sign) / after - share) - abs(count / after - share)
            distance += weights[node] * change
    return distance


@kernel
def take_records(trees, rows):
    """Return the `Trees` of some records only, with the nodes above them, renumbered.

    The sums of each class of a block thereby grow with the block, not with the table's values.
    """
    numbers = np.full(trees.weights.size, -1, dtype=np.int32)
    for row in rows:
        for node in trees.nodes[row]:
            if node >= 0:
                numbers[node] = 0
    kept, ends, absent = _keep_nodes(trees, numbers)
    nodes = np.empty((rows.size, trees.nodes.shape[1]), dtype=np.int32)
    for i in range(rows.size):
        for column in range(nodes.shape[1]):
            node = trees.nodes[rows[i], column]
            nodes[i, column] = numbers[node] if node >= 0 else -1
    weights, shares = trees.weights[kept], trees.shares[kept]
    return Trees(nodes, trees.columns, ends, weights, shares, trees.limits, absent)


@kernel
def _keep_nodes(trees, numbers):
    """Number the nodes that are marked with a 0 in ``numbers``; the others' work is added up.

    Returns
    -------
    kept : int64, the old numbers of the nodes; ends, absent : as in `Trees`
    """
    kept = np.empty(numbers.size, dtype=np.int64)
    ends, absent = np.zeros_like(trees.ends), trees.absent.copy()
    n_kept = 0
    for u in range(trees.limits.size):
        for node in range(trees.ends[u], trees.ends[u + 1]):
            if numbers[node] == 0:
                numbers[node] = n_kept
                kept[n_kept] = node
                n_kept += 1
            else:
                absent[u] += trees.weights[node] * trees.shares[node]
        ends[u + 1] = n_kept
    return kept[:n_kept].copy(), ends, absent
