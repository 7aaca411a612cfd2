"""The screen of two classes by what is confidential and has no order: what t forbids is barred.

By the equal distance an exchange changes a class's distance by what the record that leaves changes,
and by what the one that joins does, unless both have the same value: then by nothing. So what
records change is computed once, and of each exchange two sums are compared. (Of deeper trees the
changes of two records are not independent of each other: these are left to the exact distance.)
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.tree_delta import SAME

# What a record changes of its own class's distance when it leaves, of the other's when it joins.
LEAVING, JOINING = range(2)
# More than sums of two changes, which are shares, err in single precision.
ERROR_OF_CHANGES = 1e-6


@kernel(inline="always", borrows=True)
def is_flat(trees, u):
    """Return whether the values of an attribute are at equal distance, not in a deeper tree."""
    return trees.columns[u + 1] - trees.columns[u] == 1


@kernel(borrows=True)
def fill_changes(block, a, b, screen):
    """Fill ``nodes`` and ``changes`` of the screen of classes a and b, as they are of this size."""
    trees, below, members, sizes = block.trees, block.below, block.members, block.sizes
    for u in range(trees.limits.size):
        if not is_flat(trees, u):
            continue
        for side in range(2):
            own, other = (a, b) if side == 0 else (b, a)
            for m in range(sizes[own]):
                node = trees.nodes[members[0, own, m], trees.columns[u]]
                screen.nodes[u, side, m] = node
                for kind in range(2):
                    c, sign = (own, -1) if kind == LEAVING else (other, 1)
                    change = 0.0
                    if node >= 0:
                        count, share = below[c, node], trees.shares[node]
                        change = abs((count + sign) / sizes[c] - share)
                        change -= abs(count / sizes[c] - share)
                        change *= trees.weights[node]
                    screen.changes[u, side, kind, m] = change


@kernel(inline="always", borrows=True)
def bar_exchanges(block, a, b, rows, screen):
    """Set to less than any the gains of exchanges that bring class a or b above a limit.

    Both are within it. ``rows``: as in `screen_exchanges`; after `fill_changes`.
    """
    trees, sums, nodes, changes = block.trees, block.tree_sums, screen.nodes, screen.changes
    gains, n_others, never = screen.gains, block.sizes[b], np.float32(-np.inf)
    for u in range(trees.limits.size):
        if not is_flat(trees, u):
            continue
        limit = trees.limits[u] + ERROR_OF_CHANGES
        for m in range(rows[0], rows[1]):
            node = nodes[u, 0, m]
            most_of_a = np.float32(limit - sums[a, u, SAME] - changes[u, 0, LEAVING, m])
            most_of_b = np.float32(limit - sums[b, u, SAME] - changes[u, 0, JOINING, m])
            for n in range(n_others):
                is_barred = (changes[u, 1, JOINING, n] > most_of_a) | (
                    changes[u, 1, LEAVING, n] > most_of_b
                )
                is_barred &= nodes[u, 1, n] != node
                gain = gains[m - rows[0], n]
                gains[m - rows[0], n] = never if is_barred else gain
