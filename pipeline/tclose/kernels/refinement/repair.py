"""Merging of classes that are above t, with as little loss as possible.

The distance of a union is at most the larger of the two (Li et al. 2007, Fact 2), so
merging always ends, with one class of all records at the latest.
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.reference import distance_to

# Partners that are tried, nearest first, before the nearest is taken on the way to a larger union.
N_PARTNERS = 64


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
def _commonest(codes, start, following, size):
    members = np.empty(size, dtype=np.int32)
    i, filled = start, 0
    while i >= 0:
        members[filled] = codes[i]
        filled += 1
        i = following[i]
    members.sort()
    best, longest, run = members[0], 0, 0
    for m in range(size):
        run = run + 1 if m and members[m] == members[m - 1] else 1
        if run > longest:
            best, longest = members[m], run
    return best


@kernel
def _merging_costs(centres, levels, weights, sizes, c, costs):
    """Growth of the squared error if class c took in each other class (Ward); inf where none."""
    for other in range(sizes.size):
        if other == c or sizes[other] == 0:
            costs[other] = np.inf
            continue
        distance = 0.0
        for j in range(centres.shape[1]):
            distance += (centres[c, j] - centres[other, j]) ** 2
        for j in range(levels.shape[1]):
            distance += weights[j] if levels[c, j] != levels[other, j] else 0.0
        costs[other] = distance * sizes[c] * sizes[other] / (sizes[c] + sizes[other])


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
        members.sort()
        if not distance_to(members, tables[a]) <= tables[a].limit - margin:
            return False
    return True


@kernel
def _find_partner(chains, c, costs, references):
    """The cheapest class whose union with c is close; if none of the nearest is, the nearest."""
    nearest = np.int64(-1)
    for _ in range(N_PARTNERS):
        other = np.argmin(costs)
        if costs[other] == np.inf:
            break
        if nearest < 0:
            nearest = other
        if _is_union_close(chains, c, other, references):
            return other, True
        costs[other] = np.inf
    return nearest, False


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
    costs = np.empty(sizes.size)
    for c in above:
        close = sizes[c] == 0
        while not close:
            _merging_costs(centres, levels, weights, sizes, c, costs)
            other, close = _find_partner(chains, c, costs, references)
            if other < 0:
                break
            _join_classes(chains, c, other, centres, levels)
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
