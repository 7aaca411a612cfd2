"""Sizes of classes, counted: int64 (2, s), the distinct sizes and how many classes have each."""

import numpy as np

from tclose.model.array_types import Int64


def count_sizes(sizes: Int64) -> Int64:
    """Count sizes, int64 (c,)."""
    return np.array(np.unique(sizes, return_counts=True))


def merge_sizes(first: Int64, second: Int64) -> Int64:
    """The counts of both."""
    both = np.concatenate([first, second], axis=1)
    sizes, inverse = np.unique(both[0], return_inverse=True)
    counts = np.zeros(sizes.size, dtype=np.int64)
    np.add.at(counts, inverse, both[1])
    return np.array([sizes, counts])
