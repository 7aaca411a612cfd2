"""Earth mover's distance of classes to the table, over values that are the leaves of a tree.

With a weight on the edge above every node, and the distance of two values the weights on the way
from one to the other, EMD(class, table) = sum over nodes e of weight_e * |share of the class below
e - share of the table below e|: what is too much below a node has to leave by that edge. The
hierarchical distance (Li et al. 2007, section 5.2) is of that form, since a leaf is at height 0:
weight_e = (height of e's parent - height of e) / (2 H) sets two leaves height(lowest common
ancestor) / H apart. So is the equal distance: a star, every weight 1/2.
"""

from fractions import Fraction
from math import fsum

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.tree_counts import count_below
from tclose.kernels.sequences import largest
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import TreeMetric


def star_metric(counts: Int64) -> TreeMetric:
    """The equal distance over values that ``counts`` int64 (m,) records of the table have."""
    m = counts.size
    paths = np.stack([np.arange(m), np.full(m, m)], axis=1)
    numerators = np.ones(m + 1, dtype=np.int64)
    numerators[m] = 0
    return TreeMetric(paths, numerators, 2, count_below(paths, counts, m + 1))


def tree_emds(
    codes: Int64, class_starts: Int64, paths: Int64, weights: Float64, table_counts: Int64
) -> Float64:
    """Distances of all classes of a table.

    A class of s records costs O(s (depth + log s)), after one pass over the nodes for all classes.

    Parameters
    ----------
    codes : int64 (n,): row of each record's value in ``paths``; records of a class adjacent
    class_starts : int64 (c + 1,): class i holds records class_starts[i] .. class_starts[i+1]-1
    paths, weights, table_counts : as `TreeMetric` has them (the last as ``below``)

    Returns
    -------
    float64 (c,) in [0, 1]; NaN for an empty class, which is at no distance and must not pass.
    """
    untouched = untouched_work(weights, table_counts)
    emds: Float64 = class_tree_emds(codes, class_starts, paths, weights, table_counts, untouched)
    return emds


def untouched_work(weights: Float64, table_counts: Int64) -> float:
    """Return the distance of a class that has no record below any node; both (nodes,)."""
    return fsum((weights * table_counts).tolist()) / int(table_counts.max())


@kernel
def class_tree_emds(codes, class_starts, paths, weights, table_counts, untouched):
    """Return `tree_emds`; ``untouched``: the distance of a class with nothing below any node."""
    table = paths, weights, table_counts, largest(table_counts, 0)
    counts = np.zeros(weights.size, dtype=np.int64)
    emds = np.empty(class_starts.size - 1)
    for i in range(emds.size):
        members = np.sort(codes[class_starts[i] : class_starts[i + 1]])
        emds[i] = tree_emd(members, table, untouched, counts)
    return emds


@kernel(borrows=True)
def tree_emd(members, table, untouched, counts):
    """Distance of one class, which rounds alike in any order of its records.

    Parameters
    ----------
    members : int64 (s,): sorted
    table : paths, weights and counts as in `tree_emds`, and the table's number of records
    counts : int64 (nodes,), zeros, which it is left as
    """
    paths, weights, table_counts, n_records = table
    if members.size == 0:
        return np.nan
    for code in members:
        for step in range(paths.shape[1]):  # an index: a row of its own would be counted as in use
            node = paths[code, step]
            if node < 0:
                break
            counts[node] += 1
    work = untouched
    for code in members:
        for step in range(paths.shape[1]):
            node = paths[code, step]
            if node < 0 or counts[node] == 0:  # done with this node, so with those above it
                break
            of_table = table_counts[node] / n_records
            work += weights[node] * (abs(counts[node] / members.size - of_table) - of_table)
            counts[node] = 0
    return max(work, 0.0)


@kernel
def flat_emd(members, table, untouched):
    """Distance of one class over a tree of height 1, to the last bit as `tree_emd` has it.

    It takes no room for the values that the class has not, and no time.

    Parameters
    ----------
    members, table : as there
    """
    paths, weights, table_counts, n_records = table
    if members.size == 0:
        return np.nan
    work, start = untouched, 0
    while start < members.size:
        code, stop = members[start], start + 1
        while stop < members.size and members[stop] == code:
            stop += 1
        node = paths[code, 0]
        of_table = table_counts[node] / n_records
        work += weights[node] * (abs((stop - start) / members.size - of_table) - of_table)
        start = stop
    return max(work, 0.0)


def exact_tree_emd(codes: Int64, metric: TreeMetric) -> Fraction:
    """Distance of one class, not empty, as a rational number; slow, for decisions at the limit.

    ``codes`` int64 (n,): of its records.
    """
    nodes = metric.paths[codes]
    counts = np.bincount(nodes[nodes >= 0], minlength=metric.below.size)
    size, n_records = int(codes.size), int(metric.below.max())
    if size * n_records * int(metric.numerators.sum()) < 2**62:
        surplus = np.abs(counts * n_records - metric.below * size)
        work = int((metric.numerators * surplus).sum())
    else:
        work = sum(
            int(weight) * abs(int(count) * n_records - int(below) * size)
            for weight, count, below in zip(metric.numerators, counts, metric.below, strict=True)
        )
    return Fraction(work, metric.denominator * n_records * size)


def tree_exceeds(
    emds: Float64, limit: Fraction, codes: Int64, starts: Int64, metric: TreeMetric
) -> Int64:
    """Positions of the classes whose distance is above ``limit``, decided without rounding.

    The float distance decides where it is farther from the limit than it can err; the rest is
    counted again in integers. NaN is above every limit.

    Parameters
    ----------
    emds : float64 (c,), from `tree_emds`
    codes, starts : as in `tree_emds`
    """
    margin = ERROR_PER_STEP * (np.diff(starts) * metric.paths.shape[1] + 8)
    above = ~(emds <= float(limit) + margin)
    near = np.flatnonzero(~above & (emds > float(limit) - margin))
    above[near] = [exact_tree_emd(codes[starts[i] : starts[i + 1]], metric) > limit for i in near]
    return np.flatnonzero(above)
