"""One round of refinement: blocks of complete classes, searched one after the other.

A union of complete classes has every part of the confidential distribution in the same share as
they do, so blocks need not persist: each round groups the classes anew, by their representative
points, and searches each group.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.refinement.block import NO_EXCESS, gather_block, measure_block
from tclose.kernels.refinement.partners import find_partners, start_trying
from tclose.kernels.refinement.perturb import perturb_block
from tclose.kernels.refinement.search import repair_block, search_block

# How groups of classes are searched, all integers.
#   k             classes are never made smaller
#   n_partners    of a class, for each search
#   n_searches    each among partners found anew
#   n_sweeps      of each search, as in `search_block`
#   n_iterations  searches of all pairs of a group, each but the first after a perturbation, in
#                 place of those above; 0 for none
#   seed          of the first group's perturbations
HowSearched = namedtuple(
    "HowSearched",
    "k n_partners n_searches n_sweeps n_iterations seed",
    defaults=(0, 0, 0, 0, 0),
)


@kernel
def refine_blocks(records, labels, by_class, groups, how, least_gain):
    """Search each group of classes; its result is kept if it lowers the loss or the excess.

    Or, for no searches, bring the classes of each group within the limits, at any loss, as far as
    exchanges can; groups without a class above a limit cost little. Or perturb each group. All are
    one kernel, as they have most of their code in common.

    Parameters
    ----------
    records : as in `gather_block`
    labels : int64 (n,): class of each record, written
    by_class : the records by their labels, and where each class begins: int64 (n,), (c + 1,)
    groups : classes group by group int64 (c,), and where each group begins int64 (g + 1,)
    how : `HowSearched`; with iterations a group is searched as `perturb_block` does
    least_gain : as in `search_block`, of searches without iterations

    Returns
    -------
    how many exchanges there were, or searches after perturbations that were kept
    """
    classes, group_starts = groups
    n_exchanges = 0
    for g in range(group_starts.size - 1):
        group = classes[group_starts[g] : group_starts[g + 1]]
        block, rows = gather_block(records, by_class, group)
        if how.n_iterations > 0:
            n_done = perturb_block(block, how.k, how.n_iterations, how.seed + g)
        elif how.n_searches > 0:
            n_done = _refine(block, how, least_gain)
        else:
            n_done = repair_block(block, how.k, how.n_sweeps) if _is_above(block.excess) else 0
        if n_done > 0:
            n_exchanges += n_done
            for c in range(group.size):
                for m in range(block.sizes[c]):
                    labels[rows[block.members[0, c, m]]] = group[c]
    return n_exchanges


@kernel
def _refine(block, how, least_gain):
    """Search a block; return the exchanges, 0 if nothing is gained."""
    loss, excess = measure_block(block), block.excess.sum()
    n_done = _search(block, how, least_gain)
    if block.excess.sum() < excess - NO_EXCESS or measure_block(block) < loss:
        return n_done
    return 0


@kernel
def _search(block, how, least_gain):
    """Search a block among partners found anew, until nothing is gained or searches are done."""
    tried, n_exchanges = start_trying(block.sizes.size), 0
    for _ in range(how.n_searches):
        partners = find_partners(block, tried, how.n_partners)
        if not _has_partners(partners):
            break
        n_exchanges += search_block(block, partners, tried, how.k, how.n_sweeps, least_gain)
    return n_exchanges


@kernel(borrows=True)
def _has_partners(partners):
    """Return whether any class has a partner, int32 (n, p): -1 where there is none."""
    for c in range(partners.shape[0]):
        for p in range(partners.shape[1]):
            if partners[c, p] >= 0:
                return True
    return False


@kernel(borrows=True)
def _is_above(excess):
    """Return whether any class is above a limit."""
    for of_class in excess:  # noqa: SIM110
        if of_class != 0.0:
            return True
    return False


@kernel
def measure_classes(values, levels, weights, n_levels, order, starts):
    """Loss of each class as a release has it: squared differences to means, records off the mode.

    Parameters
    ----------
    values, levels : float64 (n, d), int32 (n, q); ``n_levels``: more than any level
    weights : float64 (q,), as in `measure_block`
    order, starts : the records class by class, and where each class begins

    Returns
    -------
    float64 (c,)
    """
    losses = np.zeros(starts.size - 1)
    means = np.empty(values.shape[1])
    counts = np.zeros(n_levels, dtype=np.int64)
    for c in range(starts.size - 1):
        members = order[starts[c] : starts[c + 1]]
        means[:] = 0.0
        for i in members:
            for j in range(means.size):
                means[j] += values[i, j] / members.size
        for i in members:
            for j in range(means.size):
                losses[c] += (values[i, j] - means[j]) ** 2
        for j in range(levels.shape[1]):
            most = 0
            for i in members:
                counts[levels[i, j]] += 1
                most = max(most, counts[levels[i, j]])
            for i in members:
                counts[levels[i, j]] = 0
            losses[c] += weights[j] * (members.size - most)
    return losses
