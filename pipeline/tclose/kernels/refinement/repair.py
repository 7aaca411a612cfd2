"""Merging of classes that are above t, with as little loss as possible.

Always the class that is farthest above t takes in another one, as in Algorithm 1 (Soria-Comas et
al. 2015, section 5); which one is another question here. Or each is brought within t in turn. The
distance of a union is at most the larger of the two (Li et al. 2007, Fact 2), so merging always
ends, with one class of all records at the latest.
"""

import numpy as np

from tclose.kernels.aggregate import SMALL_CLASS
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.least_distance import bound_union, sum_ranges
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.reference import distance_to
from tclose.kernels.refinement.near_classes import (
    make_boxes,
    put_below,
    put_on_top,
    rank_partners,
    take_in,
)

# Partners that are tried, nearest first, before one of them is taken on the way to a larger union.
N_PARTNERS = 64
# Of these the first, which are ranked alone before all are: mostly one of them will do.
N_FIRST = 8
# Ways to merge: whether each class is brought within every limit in turn, and as how many records
# a class counts at most in what it costs. Where confidential values depend little on
# quasi-identifiers, in turn half as much is lost as from the farthest on, and otherwise several
# times as much, in a few large classes. Of large natural classes the nearest lose half of what the
# cheapest do.
Way = tuple[bool, float]
WAYS: tuple[Way, ...] = ((False, np.inf), (False, 1.0), (True, np.inf))
# What a partner is taken to cost at least, where it is at the same place.
LEAST_COST = 1e-9
# What share of its limit a class may be away from the table by an attribute to be near it.
NEAR = 0.5
# By which a distance is more than a limit, whatever both are rounded by.
SURELY = 1e-6


@kernel
def _chain_members(labels, n_classes):
    """Records of each class as a chain: first (c,), following (n,), -1 at the end."""
    first = np.full(n_classes, -1, dtype=np.int64)
    following = np.full(labels.size, -1, dtype=np.int64)
    for i in range(labels.size - 1, -1, -1):
        following[i] = first[labels[i]]
        first[labels[i]] = i
    return first, following


@kernel
def _class_centres(numeric, nominal, first, following, sizes):
    """Means of the numeric, commonest codes of the nominal quasi-identifiers: (c, d), (c, q)."""
    centres = np.zeros((sizes.size, numeric.shape[0]))
    levels = np.zeros((sizes.size, nominal.shape[0]), dtype=np.int32)
    for c in range(sizes.size):
        for j in range(nominal.shape[0]):
            levels[c, j] = _commonest(nominal[j], first[c], following, sizes[c])
        i = first[c]
        while i >= 0:
            for j in range(numeric.shape[0]):
                centres[c, j] += numeric[j, i] / sizes[c]
            i = following[i]
    return centres, levels


@kernel
def _sort(members):
    """Sort codes in place, few of them by insertion: most classes are small."""
    if members.size > SMALL_CLASS:
        members.sort()
        return
    for i in range(1, members.size):
        code, j = members[i], i
        while j > 0 and members[j - 1] > code:
            members[j] = members[j - 1]
            j -= 1
        members[j] = code


@kernel
def _commonest(codes, start, following, size):
    members = np.empty(size, dtype=np.int64)
    i, filled = start, 0
    while i >= 0:
        members[filled] = codes[i]
        filled += 1
        i = following[i]
    _sort(members)
    best, longest, run = members[0], 0, 0
    for m in range(size):
        run = run + 1 if m and members[m] == members[m - 1] else 1
        if run > longest:
            best, longest = members[m], run
    return best


@kernel
def _gather_sorted(chains, c, codes):
    """Positions of the values of a class in each attribute, ascending: int64 (p, s)."""
    first, following, sizes = chains
    members = np.empty((codes.shape[0], sizes[c]), dtype=np.int64)
    for a in range(codes.shape[0]):
        i, filled = first[c], 0
        while i >= 0:
            members[a, filled] = codes[a, i]
            filled += 1
            i = following[i]
        _sort(members[a])
    return members


@kernel
def _merge_sorted(ours, theirs, united):
    """Write two ascending arrays as one."""
    i = j = 0
    for u in range(united.size):
        if j == theirs.size or (i < ours.size and ours[i] <= theirs[j]):
            united[u] = ours[i]
            i += 1
        else:
            united[u] = theirs[j]
            j += 1


@kernel(borrows=True)
def _may_be_close(works, pair, sizes, tables):
    """Return whether the union of a pair of classes can be within every limit, by the bounds."""
    size = sizes[pair[0]] + sizes[pair[1]]
    for a in range(len(tables)):
        if bound_union(works, a, pair, size) > tables[a].limit + SURELY:
            return False
    return True


@kernel
def _is_union_close(ours, theirs, tables):
    """Return whether the union of two classes is surely within every limit.

    ``ours``, ``theirs`` int64 (p, s): positions of their values, ascending.
    """
    size = ours.shape[1] + theirs.shape[1]
    united = np.empty(size, dtype=np.int64)
    for a in range(len(tables)):
        margin = ERROR_PER_STEP * (size * max(1, tables[a].paths.shape[1]) + 8)
        _merge_sorted(ours[a], theirs[a], united)
        if not distance_to(united, tables[a]) <= tables[a].limit - margin:
            return False
    return True


@kernel
def _find_partner(chains, works, boxes, c, references):
    """The first partner whose union with c is close; if there is none, the best on the way, or -1.

    Also whether it is close, and what it costs by the boxes.
    """
    (codes, tables), sizes = references, chains[2]
    costs, partners = np.empty(N_PARTNERS), np.empty(N_PARTNERS, dtype=np.int64)
    ours, tried = np.empty((0, 0), dtype=np.int64), 0  # sorted only where a partner may do
    for most in (N_FIRST, N_PARTNERS):
        n_ranked = rank_partners(boxes, c, costs[:most], partners[:most])
        for p in range(tried, n_ranked):
            other = partners[p]
            if not _may_be_close(works, (c, other), sizes, tables):
                continue
            if ours.size == 0:
                ours = _gather_sorted(chains, c, codes)
            if _is_union_close(ours, _gather_sorted(chains, other, codes), tables):
                return other, True, costs[p]
        tried = n_ranked
        if n_ranked < most:
            break
    if not tried:
        return np.int64(-1), False, 0.0
    best = _find_opposite(works, c, costs[:tried], partners[:tried], sizes, tables)
    return partners[best], False, costs[best]


@kernel(borrows=True)
def _find_opposite(works, c, costs, partners, sizes, tables):
    """Place of the partner with which most is cancelled of what both are off, for what it costs.

    The first where nothing is cancelled.
    """
    best, most = 0, 0.0
    for p in range(partners.size):
        cancelled = _sum_cancelled(works, (c, partners[p]), sizes, tables)
        gained = cancelled / max(costs[p], LEAST_COST)
        if gained > most:
            best, most = p, gained
    return best


@kernel(borrows=True)
def _sum_cancelled(works, pair, sizes, tables):
    """By how much a union is less off than both its classes, over their records: by the bounds.

    Of attributes by which the first class is not near the table: the others ask for nothing.
    """
    c, other = pair
    cancelled = 0.0
    for a in range(len(tables)):
        own = bound_union(works, a, (c, c), 2 * sizes[c])
        if own <= NEAR * tables[a].limit:
            continue
        theirs = bound_union(works, a, (other, other), 2 * sizes[other])
        size = sizes[c] + sizes[other]
        united = bound_union(works, a, pair, size)
        cancelled += sizes[c] * own + sizes[other] * theirs - size * united
    return cancelled


@kernel(borrows=True)
def _sum_excess(works, c, size, tables):
    """By how much a class is above the limits, at least."""
    excess = 0.0
    for a in range(len(tables)):
        excess += max(0.0, bound_union(works, a, (c, c), 2 * size) - tables[a].limit)
    return excess


@kernel
def _join_chains(chains, c, other):
    """Add the records of another class to class c."""
    first, following, sizes = chains
    last = first[other]
    while following[last] >= 0:
        last = following[last]
    following[last] = first[c]
    first[c] = first[other]
    sizes[c] += sizes[other]
    sizes[other] = 0
    first[other] = -1


def merge_classes(  # noqa: PLR0913 (records, their classes, and what these are held to)
    numeric, nominal, weights, labels, sizes, above, references, most_cost, ways=WAYS
):
    """Merge classes of ``above`` with others until each is within every limit.

    In each of some ways; the cheapest result is taken.

    Parameters
    ----------
    numeric, nominal, weights : float64 (d, n), int32 (q, n), float64 (q,): as in clustering
    labels : int64 (n,): class of each record
    sizes : int64 (c,): records of each class
    above : int64 (u,): the classes to repair
    references : the codes int64 (p, n) of the records' values of p confidential attributes, and an
        `EmdReference` for each attribute
    most_cost : float64, of all unions, by the centres of what they unite; with more it is given up
    ways : some of `WAYS`

    Returns
    -------
    labels : int64 (n,), renumbered from 0 without gaps
    n_classes : number of classes left, 0 if it was given up
    way : the one that was taken; the first if it was given up
    """
    merged, n_left, taken = labels, 0, ways[0]
    for way in ways:
        in_turn, most_counted = way
        chains, centres, levels = _find_centres(numeric, nominal, labels, sizes)
        boxes = make_boxes(centres, levels, weights, sizes, most_counted)
        found, n_classes, cost = _merge(
            labels, chains, boxes, above, references, most_cost, in_turn
        )
        if n_classes and (not n_left or cost < most_cost):
            merged, n_left, most_cost, taken = found, n_classes, cost, way
    return merged, n_left, taken


@kernel
def _find_centres(numeric, nominal, labels, sizes):
    """The chains of classes, whose sizes will change, and their centres."""
    first, following = _chain_members(labels, sizes.size)
    centres, levels = _class_centres(numeric, nominal, first, following, sizes)
    return (first, following, sizes.copy()), centres, levels


@kernel
def _merge(labels, chains, boxes, above, references, most_cost, in_turn):
    """Merge; the labels, how many classes are left, 0 if it was given up, and the cost."""
    first, following, sizes = chains
    works, tables = sum_ranges(labels, sizes.size, references), references[1]
    excess, farthest = np.empty(above.size), np.empty(above.size, dtype=np.int64)
    for i in range(above.size):  # of equally far ones the first is on top
        c = above[i]
        far = 0.0 if in_turn else _sum_excess(works, c, sizes[c], tables)
        put_below(excess, farthest, i, far, -c)
    n_above, cost = above.size, 0.0
    while n_above:
        c = -farthest[0]
        close = sizes[c] == 0
        if not close:
            other, close, more = _find_partner(chains, works, boxes, c, references)
            if other < 0:
                break
            cost += _find_cost(more, boxes.most, sizes[c], sizes[other])
            if cost > most_cost:
                return labels, 0, cost
            take_in(boxes, c, other, sizes)
            _join_chains(chains, c, other)
            works.of_classes[:, c] += works.of_classes[:, other]
        if close:
            n_above -= 1
            put_on_top(excess, farthest, n_above, excess[n_above], farthest[n_above])
        else:
            far = np.inf if in_turn else _sum_excess(works, c, sizes[c], tables)
            put_on_top(excess, farthest, n_above, far, -c)
    merged, n_classes = _renumber(first, following, sizes)
    return merged, n_classes, cost


@kernel(inline="always")
def _find_cost(cost, most, size, other_size):
    """What a union costs, of its cost by classes that count as so many records at most."""
    counted, others = min(size, most), min(other_size, most)
    distance = cost * (counted + others) / (counted * others)
    return distance * size * other_size / (size + other_size)


@kernel
def _renumber(first, following, sizes):
    labels = np.empty(following.size, dtype=np.int64)
    n_classes = 0
    for c in range(sizes.size):
        if sizes[c] > 0:
            i = first[c]
            while i >= 0:
                labels[i] = n_classes
                i = following[i]
            n_classes += 1
    return labels, n_classes
