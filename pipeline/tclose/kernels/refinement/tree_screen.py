"""The screen of two classes by what is confidential and has no order: what t forbids is barred.

The hierarchical or equal distance is a sum over a tree's nodes, and two records are below one node
of a level or below two. So an exchange changes a class's distance level by level: by nothing where
both are below the same node, and else by what the record that leaves changes, and by what the one
that joins does. These are computed once, and of each exchange a few sums are compared.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.tree_delta import SAME

# What a record changes of its own class's distance when it leaves, of the other's when it joins.
LEAVING, JOINING = range(2)
# More than sums of changes of one level, which are shares, err in single precision.
ERROR_OF_CHANGES = 1e-6


@kernel(borrows=True)
def fill_changes(block, a, b, screen):
    """Fill ``nodes`` and ``changes`` of the screen of classes a and b, as they are of this size."""
    trees, below, members, sizes = block.trees, block.below, block.members, block.sizes
    for column in range(trees.nodes.shape[1]):
        for side in range(2):
            own, other = (a, b) if side == 0 else (b, a)
            for m in range(sizes[own]):
                node = trees.nodes[members[0, own, m], column]
                screen.nodes[column, side, m] = node
                for kind in range(2):
                    c, sign = (own, -1) if kind == LEAVING else (other, 1)
                    change = 0.0
                    if node >= 0:
                        count, share = below[c, node], trees.shares[node]
                        change = abs((count + sign) / sizes[c] - share)
                        change -= abs(count / sizes[c] - share)
                        change *= trees.weights[node]
                    screen.changes[column, side, kind, m] = change


@kernel(inline="always", borrows=True)
def bar_exchanges(block, a, b, rows, screen):
    """Set to less than any the gains of exchanges that bring class a or b above a limit.

    Both are within it. ``rows``: as in `screen_exchanges`; after `fill_changes`.
    """
    columns, sums = block.trees.columns, block.tree_sums
    for u in range(block.trees.limits.size):
        last = columns[u + 1] - 1
        limit = block.trees.limits[u] + ERROR_OF_CHANGES * (columns[u + 1] - columns[u])
        room = np.float32(limit - sums[a, u, SAME]), np.float32(limit - sums[b, u, SAME])
        for m in range(rows[0], rows[1]):
            if last == columns[u]:
                _bar_at_level(screen, last, m, m - rows[0], block.sizes[b], room)
                continue
            screen.changed[:] = 0.0
            for column in range(columns[u], columns[u + 1]):
                _add_changes(screen, column, m, block.sizes[b])
            _bar_beyond(screen, m - rows[0], block.sizes[b], room)


@kernel(inline="always", borrows=True)
def _bar_at_level(screen, column, m, row, n_others, room):
    """Bar record m's exchanges that change a class by more than its room, where one level does."""
    nodes, changes, gains = screen.nodes[column], screen.changes[column], screen.gains
    node, never = nodes[0, m], np.float32(-np.inf)
    most_of_a, most_of_b = room[0] - changes[0, LEAVING, m], room[1] - changes[0, JOINING, m]
    for n in range(n_others):
        is_barred = (changes[1, JOINING, n] > most_of_a) | (changes[1, LEAVING, n] > most_of_b)
        is_barred &= nodes[1, n] != node
        gain = gains[row, n]
        gains[row, n] = never if is_barred else gain


@kernel(inline="always", borrows=True)
def _add_changes(screen, column, m, n_others):
    """Add what an exchange of record m for each of class b changes of both classes at a level."""
    nodes, changes = screen.nodes[column], screen.changes[column]
    of_a, of_b, none = screen.changed[0], screen.changed[1], np.float32(0.0)
    node, leaving, joining = nodes[0, m], changes[0, LEAVING, m], changes[0, JOINING, m]
    for n in range(n_others):
        is_other = nodes[1, n] != node
        of_a[n] += leaving + changes[1, JOINING, n] if is_other else none
        of_b[n] += joining + changes[1, LEAVING, n] if is_other else none


@kernel(inline="always", borrows=True)
def _bar_beyond(screen, row, n_others, room):
    """Bar the exchanges that change a class by more than its room, all levels together."""
    of_a, of_b, gains = screen.changed[0], screen.changed[1], screen.gains
    never = np.float32(-np.inf)
    for n in range(n_others):
        is_barred = (of_a[n] > room[0]) | (of_b[n] > room[1])
        gain = gains[row, n]
        gains[row, n] = never if is_barred else gain
