"""Iterated local search: a few records of near classes change places, and the search begins again.

Exchanges between two classes end at a partition that none of them betters. A few exchanges at any
loss, of records that are near each other in the confidential attribute, lead away from it; a search
from there mostly comes to no less loss, and now and then it does (Lourenço, Martin and Stützle
2003). Among a few near classes that takes some tenths of a millisecond.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.refinement.block import (
    NO_EXCESS,
    add_record,
    exchange,
    measure_block,
    remove_record,
    update_class,
)
from tclose.kernels.refinement.partners import find_partners, start_trying
from tclose.kernels.refinement.pool_parts import ROUNDING
from tclose.kernels.refinement.screen import make_screen
from tclose.kernels.refinement.search import LEAST_GAIN, gain_of_swap, search_pairs
from tclose.kernels.sequences import stable_order

# Sweeps of a search after a perturbation, at most.
MOST_SWEEPS = 16
# Pairs of records that change places at once, each the one of some drawn ones that loses least.
N_PAIRS, N_DRAWS = 4, 4


@kernel
def perturb_block(block, k, n_iterations, seed):
    """Search a block, and again after each perturbation; what saves nothing is undone.

    All pairs of its classes are searched. They are together no further above the limits than
    before; a search that brings them nearer is kept at any loss.

    Parameters
    ----------
    n_iterations : searches, each but the first after a perturbation
    seed : what perturbations are drawn from

    Returns
    -------
    how many searches saved loss or excess
    """
    if block.sizes.size < 2:
        return 0
    tried, screen = start_trying(block.sizes.size), make_screen(block)
    partners = find_partners(block, tried, block.sizes.size)
    by_value, draw = _order_by_value(block, seed)
    class_of = np.empty(by_value.size, dtype=np.int64)
    _note_classes(block, class_of)
    changed, seen = tried.changed.copy(), tried.seen.copy()
    loss, excess, n_kept = measure_block(block), block.excess.sum(), 0
    for n in range(n_iterations):
        if n > 0:
            draw = _exchange_near(block, by_value, tried, class_of.copy(), draw)
        search_pairs(block, partners, tried, screen, k, MOST_SWEEPS, LEAST_GAIN)
        loss_now, excess_now = measure_block(block), block.excess.sum()
        is_less = loss_now < loss * (1.0 - ROUNDING)
        if excess_now < excess - NO_EXCESS or (is_less and excess_now <= max(excess, NO_EXCESS)):
            loss, excess = loss_now, excess_now
            n_kept += 1
            _note_classes(block, class_of)
            _copy_tried(tried.changed, tried.seen, changed, seen)
        else:
            _restore(block, class_of)
            _copy_tried(changed, seen, tried.changed, tried.seen)
    return n_kept


@kernel
def _order_by_value(block, draw):
    """Order the records by the confidential attribute, those of one value at random.

    Class by class, as they are, those of one value that change places would mostly be of one class.

    Returns
    -------
    int64 (n,), and the number that the next draw follows
    """
    order = np.arange(block.values.shape[0])
    for left in range(order.size, 1, -1):
        draw = _draw_next(draw)
        at = (draw >> 8) % left
        order[at], order[left - 1] = order[left - 1], order[at]
    return order[stable_order(block.record_terms[0, order, 0])], draw


@kernel(borrows=True)
def _copy_tried(changed, seen, to_changed, to_seen):
    """Copy what has been tried; ``a[:] = b`` would have the compiler's own message compiled."""
    for a in range(changed.size):
        to_changed[a] = changed[a]
        for b in range(changed.size):
            to_seen[a, b] = seen[a, b]


@kernel(borrows=True)
def _note_classes(block, class_of):
    for c in range(block.sizes.size):
        for m in range(block.sizes[c]):
            class_of[block.members[0, c, m]] = c


@kernel
def _restore(block, class_of):
    """Bring all records back to the classes that they were in."""
    is_touched = np.zeros(block.sizes.size, dtype=np.bool_)
    moved = np.empty(class_of.size, dtype=np.int64)
    n_moved = 0
    for c in range(block.sizes.size):
        for m in range(block.sizes[c]):
            i = np.int64(block.members[0, c, m])
            if class_of[i] != c:
                moved[n_moved] = i
                n_moved += 1
                is_touched[c] = is_touched[class_of[i]] = True
    now = np.empty(class_of.size, dtype=np.int64)
    _note_classes(block, now)
    for at in range(n_moved):
        remove_record(block, now[moved[at]], moved[at])
    for at in range(n_moved):
        add_record(block, class_of[moved[at]], moved[at])
    for c in range(block.sizes.size):
        if is_touched[c]:
            update_class(block, np.int64(c))


@kernel(borrows=True)
def _exchange_near(block, by_value, tried, now, draw):
    """Exchange some pairs of records near each other in the confidential attribute, at any loss.

    ``by_value`` int64 (n,): the records in its order; ``now`` int64 (n,): their classes, written;
    returns the number that the next draw follows.
    """
    clock = np.int32(0)
    for at in tried.changed:
        clock = max(clock, at)
    for _ in range(N_PAIRS):
        x, y, draw = _draw_pair(block, by_value, now, draw)
        if x < 0:
            continue
        a, b = now[x], now[y]
        exchange(block, a, b, x, y)
        now[x], now[y] = b, a
        clock += 1
        tried.changed[a], tried.changed[b] = clock, clock
    return draw


@kernel(borrows=True)
def _draw_pair(block, by_value, now, draw):
    """Draw some pairs of records of different classes; return the one that loses least, or -1, -1.

    And the number that the next draw follows.
    """
    n_classes, best = block.sizes.size, -np.inf
    x, y = np.int64(-1), np.int64(-1)
    for _ in range(N_DRAWS):
        draw = _draw_next(draw)
        first = (draw >> 8) % by_value.size
        draw = _draw_next(draw)
        step = 1 + (draw >> 8) % (2 * n_classes)
        second = first + step if step <= n_classes else first + n_classes - step
        if not 0 <= second < by_value.size:
            continue
        one, other = by_value[first], by_value[second]
        if now[one] == now[other]:
            continue
        gain = gain_of_swap(block, now[one], now[other], one, other)
        if gain > best:
            best, x, y = gain, one, other
    return x, y, draw


@kernel(inline="always")
def _draw_next(draw):
    """The number that follows in a linear congruential sequence, whose low bits are of no use."""
    return (draw * 1103515245 + 12345) % 2147483648
