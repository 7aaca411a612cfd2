"""Partners among the classes of a block: those with which an exchange of records promises most.

With c_a and c_b the means of two classes, exchanging their records x and y saves at least
(|x - c_a|^2 - |x - c_b|^2) + (|y - c_b|^2 - |y - c_a|^2) of the sum of squares. Each half is a
*pull*: how much nearer a record is to another class than to its own. The strongest pulls of a pair
of classes follow from one product of all records with all means, so every pair of a block can be
ranked, where a search for exchanges could try a few.

Of that t allows hardly more than exchanges of records that are near each other in the confidential
attribute. So the records of a class are taken by *strata*, equal parts of its ranks, and what a
pair promises is the best of any stratum. Whether t lets just these records go is not looked at.

Single precision is enough, from the block's middle: what is found here is only tried, and decides
nothing.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.refinement.screen import TOGETHER, fill_up

# Rows and columns of a matrix that are gone through together, so that both ways stay in the cache.
TILE = 16
# Records of a stratum, of the 1 / (2 t) that a class has to have at least where values are distinct
# (Soria-Comas et al. 2015, section 7.2); and how many strata at most: each takes time of its own.
RECORDS_OF_STRATUM, MOST_STRATA = 1.5, 5
LEAST_LIMIT = 1e-6  # a limit can be 0


@kernel
def count_strata(block):
    """Return how many strata the records of a class fall into: one where t allows much."""
    tightest = max(block.limits[0], LEAST_LIMIT)
    n_strata = min(np.int64(1.0 / (2.0 * RECORDS_OF_STRATUM * tightest)), MOST_STRATA)
    return max(1, min(n_strata, block.sizes.sum() // block.sizes.size))


@kernel
def measure_promises(block, n_strata):
    """Return what an exchange between any two classes promises: float32 (c, c), the same both ways.

    Of each stratum the strongest pulls of both classes together, and of these the most.
    """
    n_classes = block.sizes.size
    promises = np.full((n_classes, n_classes), -np.inf, dtype=np.float32)
    pulls = np.empty((n_classes, n_classes), dtype=np.float32)
    described = _describe_classes(block)
    for stratum in range(n_strata):
        pulls[:] = -np.inf
        _fill_pulls(block, described, (stratum, n_strata), pulls)
        _add_pulls(pulls, promises)
    _mirror(promises)
    return promises


@kernel(borrows=True)
def _fill_pulls(block, described, stratum, pulls):
    """Fill in the strongest pull of a record of each class towards each class.

    ``described``: as from `_describe_classes`; ``stratum``: its number, and how many there are;
    ``pulls``: float32 (c, c)
    """
    terms, rows, factors, nearness = described
    members, sizes, values, levels = block.members, block.sizes, block.values, block.levels
    n_classes, n_numeric, n_levels = sizes.size, values.shape[1], block.counts.shape[2]
    centre, (number, n_strata) = block.lanes.centre, stratum
    for a in range(n_classes):
        first, last = number * sizes[a] // n_strata, (number + 1) * sizes[a] // n_strata
        for m in range(first, last):
            x = members[0, a, m]
            for j in range(n_numeric):
                factors[1 + j] = 2.0 * (values[x, j] - centre[j])
            for j in range(levels.shape[1]):
                rows[1 + n_numeric + j] = 1 + n_numeric + j * n_levels + levels[x, j]
            _sum_rows(terms, rows, factors, nearness)
            own = nearness[a]
            for b in range(n_classes):  # the built-in max is a store with a mask, and slow
                pulls[a, b] = np.maximum(pulls[a, b], nearness[b] - own)


@kernel(inline="always", borrows=True)
def _sum_rows(terms, rows, factors, sums):
    """Fill in the sum of some rows times their factors, `TOGETHER` at a time."""
    sums[:] = 0.0
    for r in range(0, rows.size, TOGETHER):
        first, second, third, fourth = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        one, two, three, four = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
        for b in range(sums.size):
            some = sums[b] + one * terms[first, b] + two * terms[second, b]
            sums[b] = some + three * terms[third, b] + four * terms[fourth, b]


@kernel(borrows=True)
def _add_pulls(pulls, promises):
    """Raise what pairs promise to what the pulls of a stratum do, of each pair once.

    Tile by tile, as a pair's pulls are far apart.
    """
    n_classes = pulls.shape[0]
    for first_a in range(0, n_classes, TILE):
        for first_b in range(0, first_a + 1, TILE):
            for a in range(first_a, min(first_a + TILE, n_classes)):
                for b in range(first_b, min(first_b + TILE, n_classes)):
                    promises[a, b] = np.maximum(promises[a, b], pulls[a, b] + pulls[b, a])


@kernel(borrows=True)
def _mirror(promises):
    """Give pairs both ways what they promise, tile by tile."""
    n_classes = promises.shape[0]
    for first_a in range(0, n_classes, TILE):
        for first_b in range(0, first_a + 1, TILE):
            for a in range(first_a, min(first_a + TILE, n_classes)):
                for b in range(first_b, min(first_b + TILE, n_classes)):
                    promises[b, a] = promises[a, b]


@kernel
def _describe_classes(block):
    """Return what a record's nearness to each class is the sum of: rows, times factors.

    The squared size of each class, less; its mean of each number, as often as twice the record's;
    twice the weighted share of the record's level of each nominal column, which counts as the
    indicators of its levels, half its weight each, so that two different levels are as far apart as
    its weight; and rows of nothing, until they are a multiple of `TOGETHER`.

    Returns
    -------
    terms : float32 (rows of all levels, c)
    rows, factors : int64, float32 (rows of a record,), but for its levels and numbers
    nearness : float32 (c,), room for one record's
    """
    sizes, counts, weights = block.sizes, block.counts, block.weights
    n_classes, n_numeric = sizes.size, block.values.shape[1]
    n_nominal, n_levels = counts.shape[1], counts.shape[2]
    terms = np.zeros((1 + n_numeric + n_nominal * n_levels + 1, n_classes), dtype=np.float32)
    for c in range(n_classes):
        for j in range(n_numeric):
            mean = block.totals[c, j] / sizes[c] - block.lanes.centre[j]
            terms[1 + j, c] = mean
            terms[0, c] += mean * mean
        for j in range(n_nominal):
            share = weights[j] / sizes[c]
            terms[0, c] += 0.5 * share * block.squares[c, j] / sizes[c]
            for level in range(n_levels):
                terms[1 + n_numeric + j * n_levels + level, c] = share * counts[c, j, level]
    n_rows = fill_up(1 + n_numeric + n_nominal, TOGETHER)
    rows, factors = np.full(n_rows, terms.shape[0] - 1), np.ones(n_rows, dtype=np.float32)
    factors[0] = -1.0
    for r in range(1 + n_numeric):
        rows[r] = r
    return terms, rows, factors, np.empty(n_classes, dtype=np.float32)


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
    promises = measure_promises(block, count_strata(block))
    _rank_partners(promises, tried, np.empty(n_wanted, dtype=np.float32), partners)
    return partners


@kernel(borrows=True)
def _rank_partners(promises, tried, best, partners):
    """Fill in the partners of all classes; ``best``: room for what those of one class promise."""
    n_wanted = partners.shape[1]
    for a in range(promises.shape[0]):
        filled = 0
        for b in range(promises.shape[0]):
            promise = promises[a, b]
            if b == a or (filled == n_wanted and promise <= best[filled - 1]):
                continue
            if is_tried(tried, a, b):
                continue
            m = filled if filled < n_wanted else filled - 1
            while m > 0 and best[m - 1] < promise:
                best[m], partners[a, m] = best[m - 1], partners[a, m - 1]
                m -= 1
            best[m], partners[a, m] = promise, b
            filled = min(filled + 1, n_wanted)
