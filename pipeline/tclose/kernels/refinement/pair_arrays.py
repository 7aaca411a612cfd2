"""Working arrays of two classes of a block, as the search for exchanges between them scans them."""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel

# Working arrays of two classes during a search: see `gather_class` and `find_insertion_ranks`.
Scratch = namedtuple(
    "Scratch",
    "gains own values levels shares means_a means_b insertion_ranks_a insertion_ranks_b",
)


@kernel
def make_scratch(block):
    """Allocate the working arrays for any two classes of a block."""
    cap = block.members.shape[2]
    n_nominal, n_attributes = block.levels.shape[1], block.limits.size
    return Scratch(
        np.empty(cap),
        np.empty(cap),
        np.empty((block.values.shape[1], cap)),
        np.empty((n_nominal, cap), np.int32),
        np.empty((n_nominal, cap)),
        np.empty(block.values.shape[1]),
        np.empty(block.values.shape[1]),
        np.empty((cap, n_attributes), np.int32),
        np.empty((cap, n_attributes), np.int32),
    )


@kernel
def find_insertion_ranks(block, c, other, insertion_ranks):
    """Count, for each record of another class, those of class c that precede it: (>= size, p)."""
    members, record_terms, ranks = block.members, block.record_terms, block.ranks
    size, n_inserted = block.sizes[c], block.sizes[other]
    for a in range(members.shape[0]):
        before = 0
        for n in range(n_inserted):
            record = members[a, other, n]
            z = record_terms[a, record, 0]
            while before < size and record_terms[a, members[a, c, before], 0] <= z:
                before += 1
            insertion_ranks[ranks[0, record], a] = before


@kernel
def gather_class(block, a, b, scratch):
    """Copy class b as rows of attributes, so that `find_swap` scans contiguous memory.

    ``own``: the terms of the saved loss that depend on y alone, when y leaves b for x; ``shares``:
    for each nominal column, how much commoner y's level is in a than in b, by its weight.
    """
    own, values, levels, shares = scratch.own, scratch.values, scratch.levels, scratch.shares
    block_values, block_levels = block.values, block.levels
    members, totals, counts, weights = block.members, block.totals, block.counts, block.weights
    means_a, means_b = scratch.means_a, scratch.means_b
    size_a, size_b = block.sizes[a], block.sizes[b]
    weight = 1.0 / size_a + 1.0 / size_b
    for n in range(size_b):
        own[n] = 0.0
    for j in range(block_values.shape[1]):
        means_a[j], means_b[j] = totals[a, j] / size_a, totals[b, j] / size_b
        step = 2.0 * (means_a[j] - means_b[j])
        for n in range(size_b):
            value = block_values[members[0, b, n], j]
            values[j, n] = value
            own[n] += value * (weight * value + step)
    for j in range(block_levels.shape[1]):
        for n in range(size_b):
            level = block_levels[members[0, b, n], j]
            levels[j, n] = level
            share = counts[a, j, level] / size_a - counts[b, j, level] / size_b
            shares[j, n] = weights[j] * share
