"""Buckets of confidential values under the hierarchical distance: nodes of a tree.

The distance of two values is the height of the lowest node above both, divided by the height of
the tree (Li et al. 2007, section 5.2). With all values at one depth that is a way through the tree
whose every step costs 1 / (2 * height), so the distance of two distributions is the sum over the
nodes of what each has more of one than of the other, times that.

Trees come as ``ancestors`` int64 (levels, m): node of each distinct value at each level. The first
row has the values themselves, the last one the root.
"""

from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from math import lcm

import numpy as np

from tclose.errors import DataError
from tclose.methods.sabre.split_buckets import MakeBuckets, SabreBuckets
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution


def hierarchical_buckets(ancestors: Int64) -> MakeBuckets:
    """The rule that makes nodes of a tree the buckets, as `partition_sabre` takes it.

    The node whose replacement by its children lowers the worst distances most is replaced first; of
    equal ones the highest, and of these the one with the lowest value.

    Raises
    ------
    DataError
        The levels are not those of a tree with one root.
    """
    _check_tree(ancestors)
    height = max(ancestors.shape[0] - 1, 1)

    def make_buckets(distribution: Distribution, max_emd: Fraction) -> SabreBuckets:
        worst = _worst_of_nodes(ancestors, distribution.counts)
        levels = _split(ancestors, worst, max_emd * distribution.n_records * height)
        of_value, firsts = _number_nodes(ancestors, levels)
        sizes = np.zeros(firsts.size, dtype=np.int64)
        np.add.at(sizes, of_value, distribution.counts)
        unit = lcm(*sizes.tolist())
        costs = worst[levels[firsts], firsts].tolist()
        groups = _group_by_node(ancestors, levels, firsts)
        return SabreBuckets(
            of_value,
            sizes,
            tuple(2 * c * (unit // n) for c, n in zip(costs, sizes.tolist(), strict=True)),
            groups,
            (unit,) * groups.shape[0],
            2 * height * unit,
        )

    return make_buckets


def _check_tree(ancestors: Int64) -> None:
    n_nodes = [np.unique(row).size for row in ancestors]
    n_steps = [np.unique(np.stack(pair), axis=1).shape[1] for pair in pairwise(ancestors)]
    if n_nodes[0] != ancestors.shape[1] or n_nodes[-1] != 1 or n_steps != n_nodes[:-1]:
        raise DataError(
            "the levels of the taxonomy are not a tree: the first must tell all values apart, the "
            "last must be one node, and all values of a node must have the same node above"
        )


def _worst_of_nodes(ancestors: Int64, counts: Int64) -> Int64:
    """Return the most steps that records of each value's node can be moved, at each level.

    That is when all go to one value: each moves up to where it meets that value. int64 (levels, m).
    """
    worst = np.empty_like(ancestors)
    met_below = np.zeros_like(counts)
    for level, row in enumerate(ancestors):
        _, nodes = np.unique(row, return_inverse=True)
        sizes = np.zeros(nodes.max() + 1, dtype=np.int64)
        np.add.at(sizes, nodes, counts)
        least = np.full(sizes.size, np.iinfo(np.int64).max)
        np.minimum.at(least, nodes, met_below)
        worst[level] = (level * sizes - least)[nodes]
        met_below = met_below + sizes[nodes]
    return worst


def _split(ancestors: Int64, worst: Int64, limit: Fraction) -> Int64:
    """Level of each value's bucket, int64 (m,), so that the worst sums are within ``limit``.

    Replacing a node never adds to the sum, and single values have none, so it ends.
    """
    top = ancestors.shape[0] - 1
    levels = np.full(ancestors.shape[1], top)
    total = int(worst[top, 0])
    waiting: list[tuple[int, int, int]] = []
    _enter_node(waiting, ancestors, worst, top, 0)
    while total > limit:
        lowered, minus_level, first = heappop(waiting)
        inside = np.flatnonzero(ancestors[-minus_level] == ancestors[-minus_level, first])
        levels[inside] = -minus_level - 1
        total += lowered
        for child in _first_values(ancestors[-minus_level - 1], inside):
            _enter_node(waiting, ancestors, worst, -minus_level - 1, child)
    return levels


def _enter_node(
    waiting: list[tuple[int, int, int]], ancestors: Int64, worst: Int64, level: int, first: int
) -> None:
    """Enter what replacing a node by its children adds, unless it is a single value."""
    if level == 0:
        return
    inside = np.flatnonzero(ancestors[level] == ancestors[level, first])
    children = _first_values(ancestors[level - 1], inside)
    added = sum(int(worst[level - 1, child]) for child in children) - int(worst[level, first])
    heappush(waiting, (added, -level, first))


def _first_values(nodes: Int64, inside: Int64) -> list[int]:
    """The lowest value of each node among the values ``inside``."""
    _, places = np.unique(nodes[inside], return_index=True)
    values: list[int] = inside[places].tolist()
    return values


def _number_nodes(ancestors: Int64, levels: Int64) -> tuple[Int64, Int64]:
    """Bucket of each value, numbered from the left of the tree, and the lowest value of each."""
    own = np.maximum(np.arange(ancestors.shape[0])[:, None], levels)
    paths = np.take_along_axis(ancestors, own, axis=0)
    # The paths of two buckets part above both, so they differ; upper levels come first.
    _, firsts, of_value = np.unique(paths[::-1], axis=1, return_index=True, return_inverse=True)
    return of_value.ravel().astype(np.int64), firsts


def _group_by_node(ancestors: Int64, levels: Int64, firsts: Int64) -> Int64:
    """Return which buckets are below each node, by level without the root: 0 or 1, int64 (g, b).

    On the levels below it, a bucket represents its nodes: all of them have too much, or too little.
    """
    groups = []
    for level in range(max(ancestors.shape[0] - 1, 1)):
        own = np.maximum(level, levels[firsts])
        nodes = np.stack([own, ancestors[own, firsts]])
        _, group_of = np.unique(nodes, axis=1, return_inverse=True)
        groups.append(np.arange(group_of.max() + 1)[:, None] == group_of.ravel())
    return np.concatenate(groups).astype(np.int64)
