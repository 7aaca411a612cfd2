"""Merging of classes that are above t, with as little loss as possible.

The distance of a union is at most the larger of the two (Li et al. 2007, Fact 2), so
merging always ends, with one class of all records at the latest.
"""

import numpy as np

from tclose.kernels.aggregate import SMALL_CLASS
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.least_distance import bound_union, sum_ranges
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.reference import distance_to
from tclose.kernels.refinement.near_classes import make_boxes, rank_partners, take_in

# Partners that are tried, nearest first, before one of them is taken on the way to a larger union.
N_PARTNERS = 64
# Of these the first, which are ranked alone before all are: mostly one of them will do.
N_FIRST = 8
# What a partner is taken to cost at least, where it is at the same place.
LEAST_COST = 1e-9
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


@kernel
def _unite_sorted(ours, theirs):
    """Ascending rows of two arrays as those of one: int64 (p, s)."""
    united = np.empty((ours.shape[0], ours.shape[1] + theirs.shape[1]), dtype=np.int64)
    for a in range(united.shape[0]):
        _merge_sorted(ours[a], theirs[a], united[a])
    return united


@kernel(borrows=True)
def _may_be_close(distances, works, pair, sizes, tables):
    """Return whether the union of a pair of classes can be within every limit.

    Where values are ordered, its distance is no less than `bound_union`. Elsewhere it is a norm of
    the difference from the table, and at most 1: of a union it is no less than the first one's
    share of its own distance, less the other's share, whatever that is like.
    """
    c, other = pair
    size = sizes[c] + sizes[other]
    for a in range(len(tables)):
        limit = tables[a].limit + SURELY
        if (sizes[c] * distances[a] - sizes[other]) / size > limit:
            return False
        if bound_union(works, a, pair, size) > limit:
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
def _find_partner(chains, works, boxes, c, ours, references):
    """The first partner whose union with c is close; if there is none, the best on the way, or -1.

    Also whether it is close, and the cost. ``ours`` int64 (p, s): positions of the values of c,
    ascending.
    """
    (codes, tables), sizes = references, chains[2]
    costs, partners = np.empty(N_PARTNERS), np.empty(N_PARTNERS, dtype=np.int64)
    distances = np.empty(len(tables))
    for a in range(len(tables)):
        is_tree = tables[a].paths.shape[0] > 0
        distances[a] = distance_to(ours[a], tables[a]) if is_tree else 0.0
    tried = 0
    for most in (N_FIRST, N_PARTNERS):
        n_ranked = rank_partners(boxes, c, costs[:most], partners[:most])
        for p in range(tried, n_ranked):
            other = partners[p]
            if not _may_be_close(distances, works, (c, other), sizes, tables):
                continue
            if _is_union_close(ours, _gather_sorted(chains, other, codes), tables):
                return other, True, costs[p]
        tried = n_ranked
        if n_ranked < most:
            break
    if not tried:
        return np.int64(-1), False, 0.0
    best = _find_nearer(works, c, costs[:tried], partners[:tried], sizes, tables)
    return partners[best], False, costs[best]


@kernel(borrows=True)
def _find_nearer(works, c, costs, partners, sizes, tables):
    """Place of the partner that brings a class nearest to its limits for what it costs.

    The first where distances have no bound, or none brings it nearer.
    """
    best, most, own = 0, 0.0, _sum_excess(works, (c, c), 2 * sizes[c], tables)
    for p in range(partners.size):
        other = partners[p]
        gained = own - _sum_excess(works, (c, other), sizes[c] + sizes[other], tables)
        if gained > most * costs[p]:
            best, most = p, gained / max(costs[p], LEAST_COST)
    return best


@kernel(borrows=True)
def _sum_excess(works, pair, size, tables):
    """By how much a union of two classes is above the limits, at least."""
    excess = 0.0
    for a in range(len(tables)):
        excess += max(0.0, bound_union(works, a, pair, size) - tables[a].limit)
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
    numeric, nominal, weights, labels, sizes, above, references, most_cost
):
    """Merge each class of ``above`` with others until it is within every limit.

    Parameters
    ----------
    numeric, nominal, weights : float64 (d, n), int32 (q, n), float64 (q,): as in clustering
    labels : int64 (n,): class of each record
    sizes : int64 (c,): records of each class
    above : int64 (u,): the classes to repair
    references : the codes int64 (p, n) of the records' values of p confidential attributes, and an
        `EmdReference` for each attribute
    most_cost : float64, of all unions, by the centres of what they unite; with more it is given up

    Returns
    -------
    labels : int64 (n,), renumbered from 0 without gaps
    n_classes : number of classes left, 0 if it was given up
    """
    chains, centres, levels = _find_centres(numeric, nominal, labels, sizes)
    boxes = make_boxes(centres, levels, weights, sizes)
    return _merge(labels, chains, boxes, above, references, most_cost)


@kernel
def _find_centres(numeric, nominal, labels, sizes):
    """The chains of classes, whose sizes will change, and their centres."""
    first, following = _chain_members(labels, sizes.size)
    centres, levels = _class_centres(numeric, nominal, first, following, sizes)
    return (first, following, sizes.copy()), centres, levels


@kernel
def _merge(labels, chains, boxes, above, references, most_cost):
    first, following, sizes = chains
    works = sum_ranges(labels, sizes.size, references)
    cost = 0.0
    for c in above:
        close = sizes[c] == 0
        ours = _gather_sorted(chains, c, references[0])
        while not close:
            other, close, more = _find_partner(chains, works, boxes, c, ours, references)
            if other < 0:
                break
            cost += more
            if cost > most_cost:
                return labels, 0
            ours = _unite_sorted(ours, _gather_sorted(chains, other, references[0]))
            _join_chains(chains, c, other)
            take_in(boxes, c, other)
            works.of_classes[:, c] += works.of_classes[:, other]
    return _renumber(first, following, sizes)


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
