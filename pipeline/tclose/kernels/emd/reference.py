"""A reference to measure classes against: an attribute's distribution in the table, and a limit."""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import ordered_emd
from tclose.kernels.emd.tree import flat_emd, tree_emd

# The distribution of one confidential attribute in the table, and the limit of a class's distance.
#   cumulative int64 (m,), prefix int64 (m + 1,)   of an ordered attribute, see `emd.ordered_emd`
#   paths int64 (m, depth), weights float64 (nodes,), below int64 (nodes,)   of one whose values are
#       the leaves of a tree, see `emd.tree`; no rows in paths where values are ordered
#   untouched float64   distance of a class with nothing below any node
#   is_flat bool        whether every value is right below the tree's root
#   n_records int64     of the table
#   limit float64
EmdReference = namedtuple(
    "EmdReference", "cumulative prefix paths weights below untouched is_flat n_records limit"
)


@kernel
def distance_to(members, reference):
    """Distance of one class, float64; ``members`` int64 (s,): positions of its values, sorted."""
    if reference.paths.shape[0] == 0:
        return ordered_emd(members, reference.cumulative, reference.prefix)
    table = reference.paths, reference.weights, reference.below, reference.n_records
    if reference.is_flat:
        return flat_emd(members, table, reference.untouched)
    counts = np.zeros(reference.weights.size, dtype=np.int64)
    return tree_emd(members, table, reference.untouched, counts)
