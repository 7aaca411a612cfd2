"""Parts of cells: their persons who are in one class of a further release."""

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def count_labels(labels, n_labels):
    """Count how often each label occurs: int64 (n_labels,); labels below 0 are not counted."""
    counts = np.zeros(n_labels, dtype=np.int64)
    for label in labels:
        if label >= 0:
            counts[label] += 1
    return counts


@kernel
def split_cells(cells, classes, n_cells):
    """Number the pairs of a cell and a class as they first come.

    Parameters
    ----------
    cells : int32 (n,), 0 .. n_cells-1: of each row
    classes : int32 (n,), ascending, 0 and more: of each row

    Returns
    -------
    parts : int32 (n,): the pair of each row
    firsts : int64 (m,): the first row of each pair
    """
    last = np.full(n_cells, -1, dtype=np.int32)
    part_of = np.empty(n_cells, dtype=np.int32)
    parts = np.empty(cells.size, dtype=np.int32)
    n_parts = 0
    for i in range(cells.size):
        c = cells[i]
        if last[c] != classes[i]:
            last[c], part_of[c] = classes[i], n_parts
            n_parts += 1
        parts[i] = part_of[c]
    firsts, n_found = np.empty(n_parts, dtype=np.int64), 0
    for i in range(cells.size):
        if parts[i] == n_found:
            firsts[n_found] = i
            n_found += 1
    return parts, firsts
