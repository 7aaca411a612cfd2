"""Choice of the value that a class releases, so that all values keep the shares asked for.

The values of class i are the entries ``starts[i]`` to ``starts[i + 1]``: ``values`` int64 (e,) says
which value an entry is of, ``costs`` int64 (e,) what the class loses if it is released. Wanted are
``low`` to ``high`` int64 (v,) records of each value.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compiler import kernel
from tclose.model.array_types import Float64, Int64

FEW_CLASSES = 256  # of a value, whose sizes are tried in pairs
MAX_STEPS = 6  # of a chain
TRIES = 8  # one after the other that move little
LITTLE = 10_000  # one in so many records
NONE = -1
FAR = np.inf


class Apportionment(NamedTuple):
    """Classes and what they release, which kernels change.

    ``starts`` (c + 1,), ``class_of`` (e,), ``values`` (e,), ``costs`` (e,), ``sizes`` (c,);
    ``choice`` (c,): the entry that each class releases; ``released`` (v,): records of each value
    that come of it; ``left`` (1,): what choices may cost more. All int64.
    """

    starts: Int64
    class_of: Int64
    values: Int64
    costs: Int64
    sizes: Int64
    choice: Int64
    released: Int64
    left: Int64


class Chains(NamedTuple):
    """Chains of entries by which values get classes through others.

    ``reach`` float64 (steps + 1, v): the least cost per record of those of so many steps to a
    value; ``through`` int64, the same shape: their last entries; ``is_barred`` bool (e,): ends of
    chains that did not help; ``is_moved`` bool (c,): classes that have moved since; ``steps``,
    ``before`` int64 (steps,): entries of one chain, and what their classes released before.
    """

    reach: Float64
    through: Int64
    is_barred: NDArray[np.bool_]
    is_moved: NDArray[np.bool_]
    steps: Int64
    before: Int64


@kernel
def count_apart(starts, values, counts, levels):
    """Costs of entries: records of the class times the levels at which their value is another.

    Parameters
    ----------
    counts : int64 (e,), records of the class that have the value
    levels : int64 (l, v), the node of each value at each level; of plain values one level

    Returns
    -------
    int64 (e,)
    """
    costs = np.zeros(values.size, dtype=np.int64)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            for f in range(starts[i], starts[i + 1]):
                for level in range(levels.shape[0]):
                    if levels[level, values[e]] != levels[level, values[f]]:
                        costs[e] += counts[f]
    return costs


@kernel
def count_squares(starts, values, counts, ranks):
    """Costs of entries: squared differences of the ranks int64 (v,), summed over the class."""
    costs = np.zeros(values.size, dtype=np.int64)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            for f in range(starts[i], starts[i + 1]):
                apart = ranks[values[e]] - ranks[values[f]]
                costs[e] += counts[f] * apart * apart
    return costs


@kernel
def choose_cheapest(starts, values, costs, priority):
    """The entry of least cost of each class; of equal ones that of the lowest priority: (c,)."""
    choice = np.empty(starts.size - 1, dtype=np.int64)
    for i in range(choice.size):
        best = starts[i]
        for e in range(starts[i] + 1, starts[i + 1]):
            is_tied = costs[e] == costs[best] and priority[values[e]] < priority[values[best]]
            if costs[e] < costs[best] or is_tied:
                best = e
        choice[i] = best
    return choice


@kernel(borrows=True)
def _release(classes, e):
    """Let the class of an entry release it."""
    i = classes.class_of[e]
    classes.left[0] -= classes.costs[e] - classes.costs[classes.choice[i]]
    classes.released[classes.values[classes.choice[i]]] -= classes.sizes[i]
    classes.released[classes.values[e]] += classes.sizes[i]
    classes.choice[i] = e


@kernel(borrows=True)
def _far(n_records, low, high):
    """Records that are missing from ``low``, or more than ``high``."""
    return max(0, low - n_records) + max(0, n_records - high)


@kernel(borrows=True)
def fill_values(classes, order, low, high, enough):
    """Give values that have too few records classes of those that have too many.

    Parameters
    ----------
    order : int64 (e,), entries, the least additional cost per record first
    enough : records missing and more that need not be mended
    """
    far = 0
    for v in range(low.size):
        far += _far(classes.released[v], low[v], high[v])
    for e in order:
        if far <= enough:
            return
        i = classes.class_of[e]
        given, taken, size = classes.values[classes.choice[i]], classes.values[e], classes.sizes[i]
        more = classes.costs[e] - classes.costs[classes.choice[i]]
        if given == taken or more > classes.left[0]:
            continue
        there, here = classes.released[taken], classes.released[given]
        nearer = (
            _far(there, low[taken], high[taken])
            - _far(there + size, low[taken], high[taken])
            + _far(here, low[given], high[given])
            - _far(here - size, low[given], high[given])
        )
        if nearer > 0:
            _release(classes, e)
            far -= nearer


@kernel
def push_chains(classes, low, enough):
    """Fill what is still short through other values: one gives a class, and gets one itself.

    Each chain is the cheapest per record of at most `MAX_STEPS` (Bellman and Ford, step by step),
    from a value that can give a class to one that is short; those of all such values are followed
    before the next ones are looked for. It ends when ``enough`` records or fewer are short.
    """
    chains = Chains(
        np.empty((MAX_STEPS + 1, low.size)),
        np.empty((MAX_STEPS + 1, low.size), dtype=np.int64),
        np.zeros(classes.values.size, dtype=np.bool_),
        np.zeros(classes.sizes.size, dtype=np.bool_),
        np.empty(MAX_STEPS, dtype=np.int64),
        np.empty(MAX_STEPS, dtype=np.int64),
    )
    n_short, n_tries = _count_short(classes.released, low), 0
    little = 0
    for v in range(low.size):
        little += low[v]
    little //= LITTLE
    while n_short > enough and n_tries < TRIES:
        _reach_values(classes, low, chains)
        n_tries, before = n_tries + 1, n_short
        for wanted in range(low.size):
            if n_short <= enough or classes.released[wanted] >= low[wanted]:
                continue
            n_short = _push_to(classes, wanted, low, n_short, chains)
        if before - n_short > little:
            n_tries = 0


@kernel(borrows=True)
def _push_to(classes, wanted, low, n_short, chains):
    """Follow the shortest chain to a value that helps; records that are short afterwards."""
    for n_steps in range(1, MAX_STEPS + 1):
        if chains.reach[n_steps, wanted] == FAR:
            continue
        if not _trace(classes, chains, n_steps, wanted):
            continue
        left = _push(classes, chains, n_steps, low, n_short)
        if left < n_short:
            for a in range(n_steps):
                chains.is_moved[classes.class_of[chains.steps[a]]] = True
            return left
        chains.is_barred[chains.steps[n_steps - 1]] = True
    return n_short


@kernel
def _reach_values(classes, low, chains):
    """Least costs per record of chains of each number of steps to each value, and last entries."""
    reach = chains.reach
    for v in range(low.size):
        for step in range(MAX_STEPS + 1):
            reach[step, v] = FAR
        if classes.released[v] > low[v]:
            reach[0, v] = 0.0
    for i in range(classes.sizes.size):
        chains.is_moved[i] = False
    spares, links = _find_links(classes, low, chains.is_barred)
    for step in range(1, MAX_STEPS + 1):
        for e in spares if step == 1 else links:
            i = classes.class_of[e]
            given, taken = classes.values[classes.choice[i]], classes.values[e]
            more = classes.costs[e] - classes.costs[classes.choice[i]]
            cost = reach[step - 1, given] + more / classes.sizes[i]
            if cost < reach[step, taken]:
                reach[step, taken] = cost
                chains.through[step, taken] = e


@kernel
def _find_links(classes, low, is_barred):
    """Entries by which one value gives a class to another: the cheapest per record of each pair.

    All of them, where there are fewer than pairs. First those whose value that gives has enough
    without the class, then those of all values.
    """
    n_values = low.size
    by_pair = n_values * n_values <= classes.values.size
    n_kinds = n_values * n_values if by_pair else classes.values.size
    best, least = np.empty((2, n_kinds), dtype=np.int64), np.full((2, n_kinds), FAR)
    for i in range(classes.sizes.size):
        chosen, size = classes.choice[i], classes.sizes[i]
        given, cheapest = classes.values[chosen], classes.costs[chosen]
        first = 0 if classes.released[given] - size >= low[given] else 1
        for e in range(classes.starts[i], classes.starts[i + 1]):
            taken = classes.values[e]
            if given == taken or is_barred[e]:
                continue
            kind = given * n_values + taken if by_pair else e
            cost = (classes.costs[e] - cheapest) / size
            for of_all in range(first, 2):
                if cost < least[of_all, kind]:
                    least[of_all, kind], best[of_all, kind] = cost, e
    n_links = np.zeros(2, dtype=np.int64)
    for of_all in range(2):
        for kind in range(n_kinds):
            if least[of_all, kind] < FAR:
                best[of_all, n_links[of_all]] = best[of_all, kind]
                n_links[of_all] += 1
    return best[0, : n_links[0]], best[1, : n_links[1]]


@kernel(borrows=True)
def _trace(classes, chains, n_steps, wanted):
    """Write down a chain, from the entry that gives first to that which ends at a value.

    Returns whether no class of it has moved since.
    """
    at = wanted
    for step in range(n_steps, 0, -1):
        e = chains.through[step, at]
        if chains.is_moved[classes.class_of[e]]:
            return False
        chains.steps[step - 1] = e
        at = classes.values[classes.choice[classes.class_of[e]]]
    return True


@kernel(borrows=True)
def _push(classes, chains, n_steps, low, n_short):
    """Follow a chain, if no class is in it twice, fewer records are short then, and it is paid for.

    Returns how many are short then.
    """
    chain, before = chains.steps, chains.before
    for a in range(n_steps):
        before[a] = classes.choice[classes.class_of[chain[a]]]
        for b in range(a):
            if before[a] == before[b]:
                return n_short
    for a in range(n_steps):
        _release(classes, chain[a])
    after = _count_short(classes.released, low)
    if after < n_short and classes.left[0] >= 0:
        return after
    for a in range(n_steps):
        _release(classes, before[a])
    return n_short


@kernel(borrows=True)
def _count_short(released, low):
    """Records that values have too few of."""
    n_short = 0
    for v in range(low.size):
        n_short += max(0, low[v] - released[v])
    return n_short


@kernel(borrows=True)
def fit_sizes(classes, by_value, first_of, wanted, low, high):
    """Exchange classes of values that few classes have for ones whose sizes fit better.

    ``by_value`` int64 (e,): entries, value by value, those of value v from ``first_of[v]`` on;
    ``wanted`` int64 (v,): the records of each value that would be exact.
    """
    for v in range(low.size):
        entries = by_value[first_of[v] : first_of[v + 1]]
        is_met = low[v] <= classes.released[v] <= high[v]
        if entries.size > FEW_CLASSES or is_met:
            continue
        into, other = _find_exchange(classes, entries, v, wanted, low, high)
        for e in (into, other):
            if e != NONE:
                _release(classes, e)


@kernel(borrows=True)
def _find_exchange(classes, entries, v, wanted, low, high):
    """An entry to release besides, and one in the place of another: `NONE` where there is none."""
    best_gap, best_cost = abs(classes.released[v] - wanted[v]), 0
    best_into, best_other = NONE, NONE
    for a in range(entries.size + 1):
        into, gained, cost_in = NONE, 0, 0
        if a < entries.size:
            into = entries[a]
            i = classes.class_of[into]
            given, gained = classes.values[classes.choice[i]], classes.sizes[i]
            if given == v or classes.released[given] - gained < min(low[given], wanted[given]):
                continue
            cost_in = classes.costs[into] - classes.costs[classes.choice[i]]
        for b in range(entries.size + 1):
            other, size, cost = NONE, gained, cost_in
            if b < entries.size:
                i = classes.class_of[entries[b]]
                if classes.choice[i] != entries[b]:
                    continue
                other = _find_second(classes, i, high)
                if other == NONE:
                    continue
                size -= classes.sizes[i]
                cost += classes.costs[other] - classes.costs[entries[b]]
            gap = abs(classes.released[v] + size - wanted[v])
            if cost > classes.left[0]:
                continue
            if gap < best_gap or (gap == best_gap and cost < best_cost):
                best_gap, best_cost, best_into, best_other = gap, cost, into, other
    return best_into, best_other


@kernel(borrows=True)
def _find_second(classes, i, high):
    """The cheapest other entry of a class whose value has room for it; or `NONE`."""
    best = NONE
    for e in range(classes.starts[i], classes.starts[i + 1]):
        v = classes.values[e]
        if e == classes.choice[i] or classes.released[v] + classes.sizes[i] > high[v]:
            continue
        if best == NONE or classes.costs[e] < classes.costs[best]:
            best = e
    return best
