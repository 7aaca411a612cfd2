"""Merging of classes that are above t, with as little loss as possible.

The distance of a union is at most the larger of the two (Li et al. 2007, Fact 2), so
merging always ends, with one class of all records at the latest.
"""

import numpy as np

from tclose.kernels.aggregate import SMALL_CLASS
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.reference import distance_to
from tclose.kernels.refinement.near_classes import make_boxes, rank_partners, widen_box

# Partners that are tried, nearest first, before the nearest is taken on the way to a larger union.
N_PARTNERS = 64
# Of these the first, which are ranked alone before all are: mostly one of them will do.
N_FIRST = 8
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
    members = np.empty(size, dtype=np.int32)
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
def _measure_class(chains, c, references, distances):
    """Write the distance of a class from the table, of each attribute."""
    first, following, sizes = chains
    codes, tables = references
    members = np.empty(sizes[c], dtype=np.int64)
    for a in range(len(tables)):
        i, filled = first[c], 0
        while i >= 0:
            members[filled] = codes[a, i]
            filled += 1
            i = following[i]
        _sort(members)
        distances[a] = distance_to(members, tables[a])


@kernel(borrows=True)
def _may_be_close(distances, size, other_size, tables):
    """Return whether a union can be within every limit, whatever the other class is like.

    A distance is a norm of the difference from the table, and at most 1: of a union it is no less
    than the one's share of its own distance, less the other's share.
    """
    for a in range(len(tables)):
        least = (size * distances[a] - other_size) / (size + other_size)
        if least > tables[a].limit + SURELY:
            return False
    return True


@kernel
def _is_union_close(chains, c, other, references):
    """Return whether the union of two classes is surely within every limit."""
    first, following, sizes = chains
    codes, tables = references
    size = sizes[c] + sizes[other]
    members = np.empty(size, dtype=np.int64)
    for a in range(len(tables)):
        margin = ERROR_PER_STEP * (size * max(1, tables[a].paths.shape[1]) + 8)
        filled = 0
        for start in (c, other):
            i = first[start]
            while i >= 0:
                members[filled] = codes[a, i]
                filled += 1
                i = following[i]
        _sort(members)
        if not distance_to(members, tables[a]) <= tables[a].limit - margin:
            return False
    return True


@kernel
def _find_partner(chains, boxes, points, c, references):
    """The first partner whose union with c is close; if there is none, the first, or -1."""
    sizes, none = chains[2], np.int64(-1)
    costs, partners = np.empty(N_PARTNERS), np.empty(N_PARTNERS, dtype=np.int64)
    distances = np.empty(len(references[1]))
    _measure_class(chains, c, references, distances)
    tried = 0
    for most in (N_FIRST, N_PARTNERS):
        n_ranked = rank_partners(boxes, points, sizes, c, costs[:most], partners[:most])
        for other in partners[tried:n_ranked]:
            if not _may_be_close(distances, sizes[c], sizes[other], references[1]):
                continue
            if _is_union_close(chains, c, other, references):
                return other, True
        tried = n_ranked
        if n_ranked < most:
            break
    return (partners[0] if tried else none), False


@kernel
def _join_classes(chains, c, other, centres, levels):
    first, following, sizes = chains
    last = first[c]
    while following[last] >= 0:
        last = following[last]
    following[last] = first[other]
    share = sizes[other] / (sizes[c] + sizes[other])
    for j in range(centres.shape[1]):
        centres[c, j] += share * (centres[other, j] - centres[c, j])
    if sizes[other] > sizes[c]:
        levels[c] = levels[other]
    sizes[c] += sizes[other]
    sizes[other] = 0
    first[other] = -1


@kernel
def merge_classes(numeric, nominal, weights, labels, sizes, above, references):
    """Merge each class of ``above`` with others until it is within every limit.

    Parameters
    ----------
    numeric, nominal, weights : float64 (d, n), int32 (q, n), float64 (q,): as in clustering
    labels : int64 (n,): class of each record
    sizes : int64 (c,): records of each class
    above : int64 (u,): the classes to repair
    references : the codes int64 (p, n) of the records' values of p confidential attributes, and an
        `EmdReference` for each attribute

    Returns
    -------
    labels : int64 (n,), renumbered from 0 without gaps
    n_classes : number of classes left
    """
    sizes = sizes.copy()
    first, following = _chain_members(labels, sizes.size)
    centres, levels = _class_centres(numeric, nominal, first, following, sizes)
    chains = (first, following, sizes)
    points = (centres, levels, weights)
    boxes = make_boxes(centres, levels, weights, sizes)
    for c in above:
        close = sizes[c] == 0
        while not close:
            other, close = _find_partner(chains, boxes, points, c, references)
            if other < 0:
                break
            _join_classes(chains, c, other, centres, levels)
            widen_box(boxes, c, centres, levels)
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
