"""Partners among the classes of a block: those with which an exchange of records promises most.

With c_a and c_b the means of two classes, exchanging their records x and y saves at least
(|x - c_a|^2 - |x - c_b|^2) + (|y - c_b|^2 - |y - c_a|^2) of the sum of squares. Each half is a
*pull*: how much nearer a record is to another class than to its own. The strongest pulls of a pair
of classes follow from one product of all records with all means, so every pair of a block can be
ranked, where a search for exchanges could try a few. Whether t lets records go is not looked at.

Single precision is enough: what is found here is only tried, and decides nothing.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def measure_pulls(block):
    """Return the strongest pull of a record of each class towards each class: float32 (c, c)."""
    n_classes = block.sizes.size
    pulls = np.full((n_classes, n_classes), -np.inf, dtype=np.float32)
    nearness = np.empty(n_classes, dtype=np.float32)
    means, shares, offsets = _describe_classes(block)
    _fill_pulls(block, means, shares, offsets, nearness, pulls)
    return pulls


@kernel(borrows=True)
def _fill_pulls(block, means, shares, offsets, nearness, pulls):
    """Fill in the pulls; ``nearness`` float32 (c,): room for one record's to all classes."""
    members, values, levels = block.members, block.values, block.levels
    n_classes = offsets.size
    for a in range(n_classes):
        for m in range(block.sizes[a]):
            x = members[0, a, m]
            for b in range(n_classes):
                nearness[b] = -offsets[b]
            for j in range(values.shape[1]):
                double = np.float32(2.0 * values[x, j])
                for b in range(n_classes):
                    nearness[b] += double * means[j, b]
            for j in range(levels.shape[1]):
                level = levels[x, j]
                for b in range(n_classes):
                    nearness[b] += shares[j, level, b]
            own = nearness[a]
            for b in range(n_classes):
                pulls[a, b] = max(pulls[a, b], nearness[b] - own)


@kernel
def _describe_classes(block):
    """Return means and weighted shares of the classes, and the squared sizes of these.

    A nominal column counts as the indicators of its levels, half its weight each, so that two
    different levels are as far apart as its weight.

    Returns
    -------
    means float32 (d, c); shares float32 (q, levels, c), twice; offsets float32 (c,)
    """
    sizes, counts, weights = block.sizes, block.counts, block.weights
    n_classes, n_numeric = sizes.size, block.values.shape[1]
    n_nominal, n_levels = counts.shape[1], counts.shape[2]
    means = np.empty((n_numeric, n_classes), dtype=np.float32)
    shares = np.empty((n_nominal, n_levels, n_classes), dtype=np.float32)
    offsets = np.zeros(n_classes, dtype=np.float32)
    for c in range(n_classes):
        for j in range(n_numeric):
            mean = block.totals[c, j] / sizes[c]
            means[j, c] = mean
            offsets[c] += mean * mean
        for j in range(n_nominal):
            share = weights[j] / sizes[c]
            offsets[c] += 0.5 * share * block.squares[c, j] / sizes[c]
            for level in range(n_levels):
                shares[j, level, c] = share * counts[c, j, level]
    return means, shares, offsets


# What was tried in vain, among the classes of a block.
#   changed int32 (c,)   the change at which each class became what it is
#   seen int32 (c, c)    the change up to which a pair was tried in vain
Tried = namedtuple("Tried", "changed seen")


@kernel
def start_trying(n_classes):
    """Nothing was tried yet."""
    changed = np.ones(n_classes, dtype=np.int32)
    return Tried(changed, np.zeros((n_classes, n_classes), dtype=np.int32))


@kernel(borrows=True)
def is_tried(tried, a, b):
    """Return whether a pair was tried in vain, and neither class has changed since."""
    return max(tried.changed[a], tried.changed[b]) <= tried.seen[a, b]


@kernel
def find_partners(block, tried, n_wanted):
    """Find the classes with which an exchange promises most, of those that were not tried in vain.

    Parameters
    ----------
    tried : what need not be tried again

    Returns
    -------
    int32 (c, n_wanted at most): the most promising one comes first, of equally promising ones the
    first in number; where there are fewer, -1 after them
    """
    n_classes = block.sizes.size
    n_wanted = min(n_wanted, n_classes - 1)
    partners = np.full((n_classes, n_wanted), -1, dtype=np.int32)
    _rank_partners(measure_pulls(block), tried, np.empty(n_wanted, dtype=np.float32), partners)
    return partners


@kernel(borrows=True)
def _rank_partners(pulls, tried, promises, partners):
    """Fill in the partners of all classes; ``promises``: room for those of one."""
    n_wanted = partners.shape[1]
    for a in range(pulls.shape[0]):
        filled = 0
        for b in range(pulls.shape[0]):
            promise = pulls[a, b] + pulls[b, a]
            if b == a or (filled == n_wanted and promise <= promises[filled - 1]):
                continue
            if is_tried(tried, a, b):
                continue
            m = filled if filled < n_wanted else filled - 1
            while m > 0 and promises[m - 1] < promise:
                promises[m], partners[a, m] = promises[m - 1], partners[a, m - 1]
                m -= 1
            promises[m], partners[a, m] = promise, b
            filled = min(filled + 1, n_wanted)
