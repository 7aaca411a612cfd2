"""A block of complete classes: its records, its classes, and how records change class."""

from collections import namedtuple

import numpy as np

from tclose.kernels.clustering.algorithm3 import compact_codes
from tclose.kernels.compiler import kernel
from tclose.kernels.emd.ordered_delta import N_RANK_TERMS, SAME, fill_rank_terms
from tclose.kernels.emd.tree_delta import sum_nodes, take_records
from tclose.kernels.refinement.screen import fill_lanes, make_lanes
from tclose.kernels.sequences import largest, stable_order

# The records and classes of a block.
#   values float64 (n, d), levels int32 (n, q)   quasi-identifiers, those of a record adjacent
#   weights float64 (q,)        squared distance of two different levels, see `algorithm3`
#   record_terms float64 (p, n, 3), sums float64 (p, .), limits float64 (p,)   see `ordered_delta`;
#       inf: of an order that only sorts the records
#   members int32 (o, c, cap)   records of each class, ascending in each of the first o confidential
#       attributes; those after them have the same values as these, in order, in another table
#   ranks int32 (o, n)          rank of each record among its class's members
#   rank_terms float64 (p, c, 7, cap + 1)   see `ordered_delta.fill_rank_terms`
#   sizes int64 (c,), totals float64 (c, d)   records of each class, sums of their values
#   counts int32 (c, q, L), squares int64 (c, q)   records of each level, sum of the counts' squares
#   persons int64 (n,), counts_persons   whose each record is, and whether that counts; else of none
#   seconds float64 (c,)        records after the first of each person, where persons count
#   person_bits int64 (c,)      a bit set for each person of a class, of 64 that persons share
#   excess float64 (c,)         distance above the limits, all attributes together, and seconds
#   alike bool (c,)             whether all records of a class have the same quasi-identifiers
#   trees   the attributes whose values are leaves of a tree, see `tree_delta`
#   below int32 (c, nodes), tree_sums float64 (c, u, 3)   records below each node that one of the
#       block is below; sums over all nodes
#   lanes   the classes' quasi-identifiers as `screen` scans them
Block = namedtuple(
    "Block",
    "values levels weights record_terms sums limits members ranks rank_terms sizes totals counts "
    "squares persons counts_persons seconds person_bits excess alike trees below tree_sums lanes",
)

# Room in a class for records that join it.
SPARE = 6
# Less excess than this is none: limits leave more room for the rounding error of running sums.
NO_EXCESS = 1e-12


@kernel
def gather_block(records, by_class, classes):
    """Some classes and their records as a `Block`.

    Parameters
    ----------
    records : values float64 (n, d), levels int32 (n, q), weights, record_terms float64 (p, n, 3),
        sums, limits, trees, persons: as in `Block`, of all records; and o, as there
    by_class : all records class by class, and where each class begins
    classes : int64 (c,)

    Returns
    -------
    block, and which records it has: int64 (n,)
    """
    values, levels, weights, record_terms, sums, limits, trees, persons, n_orders = records
    order, starts = by_class
    sizes = starts[classes + 1] - starts[classes]
    rows = np.empty(sizes.sum(), dtype=np.int64)
    filled = 0
    for c in classes:
        for m in range(starts[c], starts[c + 1]):
            rows[filled] = order[m]
            filled += 1
    own_values = np.empty((rows.size, values.shape[1]))
    own_levels = np.empty((levels.shape[1], rows.size), dtype=np.int32)
    own_terms = np.empty((record_terms.shape[0], rows.size, 3))
    for i in range(rows.size):
        for j in range(values.shape[1]):
            own_values[i, j] = values[rows[i], j]
        for j in range(levels.shape[1]):
            own_levels[j, i] = levels[rows[i], j]
        for a in range(record_terms.shape[0]):
            for j in range(3):
                own_terms[a, i, j] = record_terms[a, rows[i], j]
    counts_persons = persons.size > 0
    own_persons = persons[rows] if counts_persons else persons.copy()
    own_trees = take_records(trees, rows)
    local, n_local = compact_codes(own_levels)
    n_levels, cap = largest(n_local, 1), largest(sizes, 0) + SPARE
    block = Block(
        own_values, np.ascontiguousarray(local.T), weights, own_terms, sums, limits,
        np.zeros((n_orders, sizes.size, cap), dtype=np.int32),
        np.zeros((n_orders, rows.size), dtype=np.int32),
        np.zeros((record_terms.shape[0], sizes.size, N_RANK_TERMS, cap + 1)),
        sizes,
        np.zeros((sizes.size, values.shape[1])),
        np.zeros((sizes.size, levels.shape[1], n_levels), dtype=np.int32),
        np.zeros((sizes.size, levels.shape[1]), dtype=np.int64),
        own_persons,
        counts_persons,
        np.zeros(sizes.size),
        np.zeros(sizes.size, dtype=np.int64),
        np.zeros(sizes.size),
        np.zeros(sizes.size, dtype=np.bool_),
        own_trees,
        np.zeros((sizes.size, own_trees.weights.size), dtype=np.int32),
        np.zeros((sizes.size, trees.limits.size, 3)),
        make_lanes(own_values, weights, n_orders, sizes.size, cap),
    )  # fmt: skip
    _fill_classes(block)
    return block, rows


@kernel
def _fill_classes(block):
    first = 0
    for c in range(block.sizes.size):
        size = block.sizes[c]
        for a in range(block.members.shape[0]):
            values = block.record_terms[a, first : first + size, 0].copy()  # the usual type
            by_value = stable_order(values)
            for m in range(size):
                block.members[a, c, m] = first + by_value[m]
                block.ranks[a, first + by_value[m]] = m
        for i in range(first, first + size):
            for j in range(block.values.shape[1]):
                block.totals[c, j] += block.values[i, j]
            for j in range(block.levels.shape[1]):
                block.counts[c, j, block.levels[i, j]] += 1
            for node in block.trees.nodes[i]:
                if node >= 0:
                    block.below[c, node] += 1
        for j in range(block.levels.shape[1]):
            for count in block.counts[c, j]:
                block.squares[c, j] += np.int64(count) * count
        update_class(block, c)
        first += size


@kernel(borrows=True)
def measure_block(block):
    """Loss of a block as a release has it: squared differences to means, records off the mode.

    Each nominal column has a mode of its own: of a taxonomy, level by level.
    """
    loss = 0.0
    for c in range(block.sizes.size):
        for m in range(block.sizes[c]):
            i = block.members[0, c, m]
            for j in range(block.values.shape[1]):
                loss += (block.values[i, j] - block.totals[c, j] / block.sizes[c]) ** 2
        for j in range(block.levels.shape[1]):
            most = 0
            for count in block.counts[c, j]:
                most = max(most, count)
            loss += block.weights[j] * (block.sizes[c] - most)
    return loss


@kernel(borrows=True)
def exchange(block, a, b, x, y):
    """Let record x go from class a to b and y from b to a; -1: none goes."""
    if x >= 0:
        remove_record(block, a, x)
    if y >= 0:
        remove_record(block, b, y)
        add_record(block, a, y)
    if x >= 0:
        add_record(block, b, x)
    update_class(block, a)
    update_class(block, b)


@kernel(borrows=True)
def remove_record(block, c, x):
    """Take record x out of class c, which has to be updated then."""
    members, ranks = block.members, block.ranks
    for a in range(members.shape[0]):
        for m in range(ranks[a, x], block.sizes[c] - 1):
            moved = members[a, c, m + 1]
            members[a, c, m] = moved
            ranks[a, moved] = m
    block.sizes[c] -= 1
    _count_record(block, c, x, np.int64(-1))  # a plain -1 is a type of its own


@kernel(borrows=True)
def add_record(block, c, x):
    """Put record x into class c, which has to be updated then."""
    members, ranks, record_terms = block.members, block.ranks, block.record_terms
    for a in range(members.shape[0]):
        m = block.sizes[c]
        while m > 0 and record_terms[a, members[a, c, m - 1], 0] > record_terms[a, x, 0]:
            moved = members[a, c, m - 1]
            members[a, c, m] = moved
            ranks[a, moved] = m
            m -= 1
        members[a, c, m] = x
        ranks[a, x] = m
    block.sizes[c] += 1
    _count_record(block, c, x, np.int64(1))


@kernel(borrows=True)
def _count_record(block, c, x, sign):
    values, totals = block.values, block.totals
    for j in range(values.shape[1]):
        totals[c, j] += sign * values[x, j]
    levels, counts, squares = block.levels, block.counts, block.squares
    for j in range(levels.shape[1]):
        level = levels[x, j]
        squares[c, j] += 1 + 2 * sign * counts[c, j, level]
        counts[c, j, level] += sign
    nodes, below = block.trees.nodes, block.below
    for column in range(nodes.shape[1]):
        if nodes[x, column] >= 0:
            below[c, nodes[x, column]] += sign


@kernel(borrows=True)
def update_class(block, c):
    """Bring what is known of a class up to date, after records have joined or left it."""
    if is_held_to_order(block):
        fill_rank_terms(block, c)
    rank_terms, limits = block.rank_terms, block.limits
    excess = 0.0
    for a in range(limits.size):
        excess += max(0.0, rank_terms[a, c, SAME, block.sizes[c]] - limits[a])
    sum_nodes(block.trees, block.below[c], block.sizes[c], block.tree_sums[c])
    for u in range(block.trees.limits.size):
        excess += max(0.0, block.tree_sums[c, u, 0] - block.trees.limits[u])
    if block.counts_persons:
        block.seconds[c] = _note_persons(block, c)
        excess += block.seconds[c]
    block.excess[c] = excess
    block.alike[c] = _is_alike(block, c)
    fill_lanes(block.lanes, block, c)


@kernel(inline="always", borrows=True)
def is_held_to_order(block):
    """Return whether a distance of ordered values has a limit: elsewhere none is computed."""
    for limit in block.limits:  # noqa: SIM110  # `any` of a generator does not compile
        if limit < np.inf:
            return True
    return False


@kernel(borrows=True)
def _note_persons(block, c):
    """Set the bits of the persons of class c; count its records after the first of each person."""
    persons, members = block.persons, block.members
    bits, n_seconds = np.int64(0), 0.0
    for m in range(block.sizes[c]):
        person = persons[members[0, c, m]]
        bit = _bit_of(person)
        if bits & bit:
            for o in range(m):
                if persons[members[0, c, o]] == person:
                    n_seconds += 1.0
                    break
        bits |= bit
    block.person_bits[c] = bits
    return n_seconds


@kernel(inline="always")
def _bit_of(person):
    """The bit of a person, who shares it with a 64th of the others."""
    return np.int64(1) << (person & np.int64(63))


@kernel(borrows=True)
def count_seconds_after(block, c, x, y):
    """Count the same once record x has left class c and record y has joined it; -1: none does."""
    n_seconds = block.seconds[c]
    if x >= 0:
        n_seconds -= _has_person_besides(block, c, x, x)
    if y >= 0:
        n_seconds += _has_person_besides(block, c, y, x)
    return n_seconds


@kernel(borrows=True)
def _has_person_besides(block, c, i, x):
    """Return whether class c has a record of the person of record i, x aside."""
    persons, members = block.persons, block.members
    if not block.person_bits[c] & _bit_of(persons[i]):
        return False
    for m in range(block.sizes[c]):
        other = members[0, c, m]
        if persons[other] == persons[i] and other != x:
            return True
    return False


@kernel(borrows=True)
def _is_alike(block, c):
    values, levels, first = block.values, block.levels, block.members[0, c, 0]
    for m in range(1, block.sizes[c]):
        i = block.members[0, c, m]
        for j in range(values.shape[1]):
            if values[i, j] != values[first, j]:
                return False
        for j in range(levels.shape[1]):
            if levels[i, j] != levels[first, j]:
                return False
    return True
