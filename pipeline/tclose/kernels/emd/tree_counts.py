"""Records below the nodes of a tree; apart from the kernels, as a policy is read without these."""

import numpy as np

from tclose.model.array_types import Int64


def count_below(paths: Int64, counts: Int64, n_nodes: int) -> Int64:
    """Records below every node, int64 (nodes,); ``counts`` int64 (m,): records of each value."""
    below = np.zeros(n_nodes, dtype=np.int64)
    for nodes in paths.T:
        there = nodes >= 0
        np.add.at(below, nodes[there], counts[there])
    return below
