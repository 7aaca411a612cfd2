"""Distances of a class to the table over rows and over persons, from its rows in their order.

Both are distances between distributions of weights: over rows each row of a class of s weighs
1 / s, over persons each row of a person with r rows among p persons weighs 1 / (p r). The tables of
all attributes are laid one after the other, so that a kernel is compiled once for any number.
"""

from collections import namedtuple

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.person_shares import sum_spans

# The table, over rows (0) and over persons (1), for p attributes of M values in all.
#   starts int64 (p + 1,)       where the values of each attribute begin
#   is_tree bool (p,)           whether its values are leaves of a tree, or in an order
#   cumulative float64 (2, M), prefix float64 (2, M + p)   shares up to each value, and their sums
#   paths int64 (M, depth)      nodes above each value of a tree, then -1
#   weights float64 (nodes,), shares float64 (2, nodes)   of the edges above nodes; below nodes
#   untouched float64 (p, 2)    distance of a class that has nothing below any node
#   limits float64 (p, 2)       the t, less what a distance can err
MemberTables = namedtuple(
    "MemberTables", "starts is_tree cumulative prefix paths weights shares untouched limits"
)
ROWS, PERSONS = 0, 1


@kernel
def measure_members(tables, a, over, codes, weights, held):
    """Distance of a class to the table in attribute a.

    Parameters
    ----------
    over : ROWS or PERSONS
    codes : int64 (s,), ascending: positions of values in the attribute's distribution
    weights : float64 (s,): of the rows, adding up to 1
    held : float64 (nodes,): zero, as it is again afterwards
    """
    first, last = tables.starts[a], tables.starts[a + 1]
    if not tables.is_tree[a]:
        if last - first == 1:
            return 0.0
        cumulative = tables.cumulative[over, first:last]
        prefix = tables.prefix[over, first + a : last + a + 1]
        return sum_spans(codes, weights, cumulative, prefix) / (last - first - 1)
    paths, shares = tables.paths, tables.shares
    depth = paths.shape[1]
    for i in range(codes.size):
        for column in range(depth):
            node = paths[first + codes[i], column]
            if node < 0:
                break
            held[node] += weights[i]
    work = tables.untouched[a, over]
    for i in range(codes.size):
        for column in range(depth):
            node = paths[first + codes[i], column]
            if node < 0 or held[node] == 0.0:  # done with this node, so with those above it
                break
            of_table = shares[over, node]
            work += tables.weights[node] * (abs(held[node] - of_table) - of_table)
            held[node] = 0.0
    return max(work, 0.0)
