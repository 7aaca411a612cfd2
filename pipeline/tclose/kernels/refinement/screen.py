"""The screen of two classes: which of their exchanges may save loss, in single precision.

With N the squared norm of a record, m the mean of a class of s records, S the records there that
have the record's levels, by weight, and L = 2 x m + S / s the record's *likeness* to that class:

- exchanging x of class a for y of class b saves P(x) + P(y) and (1/a + 1/b) times what x and y
  differ beyond their norms, with P = (1/a + 1/b) N + likeness to the other class - to the own one;
- moving x from a to b saves a / (a - 1) (N - likeness to a) - b / (b + 1) (N - likeness to b), and
  a constant of the two classes.

Few exchanges save anything. So classes are scanned as lanes, numbers that are adjacent and that
the processor computes side by side; what passes the screen is computed in double precision, and
decided by that.
"""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel

# Numbers that are computed side by side: the lanes of a class are a multiple.
WIDTH = 8
# Attributes that are added to sums at a time, as to read and write a sum takes as long as to add to
# it: columns of zeros fill them up. Loops have the four of them written out.
TOGETHER = 4
# Records of a class that are screened together. Of larger ones, whose exchanges save hardly more
# than the parts of both records, one at a time, and only where these may save enough.
MOST_TOGETHER = 64
# Of single precision, and a good deal more than a sum of products errs per term.
ERROR_PER_TERM = 32 * np.finfo(np.float32).eps
# Of a table's positions, as `table_sums` has it: one class of one record serves the whole table.
MEAN_OF_TABLE = 2
# More than sums of positions, which are shares, can err.
ERROR_OF_MEAN = 1e-9

# The classes of a block, a record of a class in the lane that is its rank in the first confidential
# attribute; lanes after the last record have no meaning.
#   values float32 (c, d', lanes), levels int32 (c, q, lanes)   values less the block's mean; d' is
#       d filled up to a multiple of `TOGETHER`
#   norms, likeness float32 (c, lanes)   of each record, N and its likeness to its class
#   means float32 (c, d')   of the classes
#   leaving, joining float32 (c,)   the class's parts of the constant of a move from it and to it
#   reach float32 (c,)      largest norm of a record, not squared
#   positions float64 (c, o, lanes)   of each record's confidential values, as `record_terms` has
#       them, in the orders of `Block`; mean_positions float64 (c, o): of the classes
#   centre float64 (d,)     mean of the block
#   weights float32 (q,)    of levels
Lanes = namedtuple(
    "Lanes",
    "values levels norms likeness means leaving joining reach positions mean_positions centre "
    "weights",
)

# Working arrays of two classes, those of the first class in 0, of the second in 1.
#   parts, moves float32 (2, lanes)   P of each record; what moving it to the other class saves
#   gains float32 (rows, lanes)       of exchanging some records of the first class for each of the
#                                     second: all, or one where there are more than `MOST_TOGETHER`
#   most float32 (lanes,)             what an exchange of each record of the first class may save,
#                                     of those of a class of more than `MOST_TOGETHER`
#   insertion_ranks int32 (2, o, lanes)   records of the other class that precede each record
#   bounds float64 (o, 2)   the least and the most that t may allow: see `bound_shifts` and
#                           `bound_positions`
#   nodes int32 (columns, 2, lanes), changes float32 (columns, 2, 2, lanes)   of each column of
#                           `Trees`, see `tree_screen`; changed float32 (2, lanes): sums of these
#   own, others int32 (2, lanes)      where persons count and a class has more than `MOST_TOGETHER`:
#                           other records of each record's person in its class, and in the other one
Screen = namedtuple(
    "Screen", "parts moves gains most insertion_ranks bounds nodes changes changed own others"
)


@kernel
def make_lanes(values, weights, n_orders, n_classes, cap):
    """Allocate the `Lanes` of a block's classes of up to ``cap`` records.

    ``values``: float64 (n, d), those of the block; ``weights``: float64 (q,); ``n_orders``: o
    """
    n_lanes = fill_up(cap, WIDTH)
    n_numeric, n_nominal = values.shape[1], weights.size
    n_filled = fill_up(n_numeric, TOGETHER)
    centre = np.zeros(n_numeric)
    for i in range(values.shape[0]):
        for j in range(n_numeric):
            centre[j] += values[i, j] / values.shape[0]
    return Lanes(
        np.zeros((n_classes, n_filled, n_lanes), np.float32),
        np.zeros((n_classes, n_nominal, n_lanes), np.int32),
        np.zeros((n_classes, n_lanes), np.float32),
        np.zeros((n_classes, n_lanes), np.float32),
        np.zeros((n_classes, n_filled), np.float32),
        np.zeros(n_classes, np.float32),
        np.zeros(n_classes, np.float32),
        np.zeros(n_classes, np.float32),
        np.zeros((n_classes, n_orders, n_lanes)),
        np.zeros((n_classes, n_orders)),
        centre,
        weights.astype(np.float32),
    )


@kernel(borrows=True)
def fill_lanes(lanes, block, c):
    """Bring the lanes of class c up to date with its members, totals, counts and squares."""
    size, members = block.sizes[c], block.members
    norms, likeness = lanes.norms, lanes.likeness
    fewer, more = 1.0 / max(size - 1, 1), 1.0 / (size + 1)
    leaving, joining, reach = 0.0, 0.0, np.float32(0.0)
    for n in range(size):
        norms[c, n] = likeness[c, n] = 0.0
    for j in range(block.values.shape[1]):
        mean = block.totals[c, j] / size - lanes.centre[j]
        lanes.means[c, j] = mean
        leaving += mean * mean * size * fewer
        joining -= mean * mean * size * more
        twice = np.float32(2.0 * mean)
        for n in range(size):
            value = np.float32(block.values[members[0, c, n], j] - lanes.centre[j])
            lanes.values[c, j, n] = value
            norms[c, n] += value * value
            likeness[c, n] += twice * value
    for j in range(block.levels.shape[1]):
        half, squares = 0.5 * block.weights[j], block.squares[c, j]
        leaving += half * ((squares + 1) * fewer - squares / size)
        joining += half * ((squares + 1) * more - squares / size)
        share = np.float32(block.weights[j] / size)
        for n in range(size):
            level = block.levels[members[0, c, n], j]
            lanes.levels[c, j, n] = level
            likeness[c, n] += share * np.float32(block.counts[c, j, level])
    for n in range(size):
        reach = max(reach, norms[c, n])
    lanes.leaving[c], lanes.joining[c], lanes.reach[c] = leaving, joining, np.sqrt(reach)
    for i in range(members.shape[0]):
        total = 0.0
        for n in range(size):
            position = block.record_terms[i, members[0, c, n], 0]
            lanes.positions[c, i, n] = position
            total += position
        lanes.mean_positions[c, i] = total / size


@kernel
def make_screen(block):
    """Allocate the `Screen` of any two classes of a block."""
    n_lanes, n_orders = block.lanes.norms.shape[1], block.members.shape[0]
    n_columns = block.trees.nodes.shape[1]
    return Screen(
        np.zeros((2, n_lanes), np.float32),
        np.zeros((2, n_lanes), np.float32),
        np.zeros((min(n_lanes, MOST_TOGETHER), n_lanes), np.float32),
        np.zeros(n_lanes, np.float32),
        np.zeros((2, n_orders, n_lanes), np.int32),
        np.zeros((n_orders, 2)),
        np.zeros((n_columns, 2, n_lanes), np.int32),
        np.zeros((n_columns, 2, 2, n_lanes), np.float32),
        np.zeros((2, n_lanes), np.float32),
        np.zeros((2, n_lanes), np.int32),
        np.zeros((2, n_lanes), np.int32),
    )


@kernel(inline="always", borrows=True)
def find_insertion_ranks(block, a, b, insertion_ranks):
    """Count, for each record of classes a and b, the records of the other one that precede it."""
    positions, sizes = block.lanes.positions, block.sizes
    if max(sizes[a], sizes[b]) > MOST_TOGETHER:
        _merge_ranks(block, a, b, insertion_ranks)
        return
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        filled = fill_up(sizes[own], WIDTH)
        for i in range(positions.shape[1]):
            for m in range(filled):
                insertion_ranks[side, i, m] = 0
            for n in range(sizes[other]):
                position = positions[other, i, n]
                for m in range(filled):
                    insertion_ranks[side, i, m] += position <= positions[own, i, m]


@kernel(borrows=True)
def fill_person_counts(block, a, b, screen):
    """Fill ``own`` and ``others`` of all records of classes a and b."""
    persons, members, sizes = block.persons, block.members, block.sizes
    for side in range(2):
        c, other = (a, b) if side == 0 else (b, a)
        for m in range(sizes[c]):
            person, n_own, n_others = persons[members[0, c, m]], 0, 0
            if block.seconds[c] > 0.0:
                for n in range(sizes[c]):
                    n_own += persons[members[0, c, n]] == person
                n_own -= 1
            for n in range(sizes[other]):
                n_others += persons[members[0, other, n]] == person
            screen.own[side, m], screen.others[side, m] = n_own, n_others


@kernel(inline="always", borrows=True)
def count_seconds_together(block, a, b, m, n, screen):
    """Count the records after the first of each person in both classes once two are exchanged.

    Those of lanes m and n, after `fill_person_counts`: of large classes, whose persons share bits.
    """
    persons, members, own, others = block.persons, block.members, screen.own, screen.others
    is_one = np.int32(persons[members[0, a, m]] == persons[members[0, b, n]])
    n_gone = (own[0, m] > 0) + (own[1, n] > 0)
    n_come = (others[0, m] > is_one) + (others[1, n] > is_one)
    return block.seconds[a] + block.seconds[b] - n_gone + n_come


@kernel(borrows=True)
def _merge_ranks(block, a, b, insertion_ranks):
    """Count the same by one walk through both classes, in each order."""
    members, ranks, positions = block.members, block.ranks, block.lanes.positions
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        for i in range(members.shape[0]):
            n_before = 0
            for m in range(block.sizes[own]):
                lane = ranks[0, members[i, own, m]]
                while (
                    n_before < block.sizes[other]
                    and positions[other, i, ranks[0, members[i, other, n_before]]]
                    <= positions[own, i, lane]
                ):
                    n_before += 1
                insertion_ranks[side, i, lane] = n_before


@kernel(inline="always", borrows=True)
def screen_records(lanes, counts, sizes, a, b, screen):
    """Fill ``parts`` and ``moves`` of all records of classes a and b.

    ``counts``, ``sizes``: of the block

    Returns
    -------
    the largest error of what the screen has of these classes
    """
    weight = np.float32(1.0 / sizes[a] + 1.0 / sizes[b])
    parts, moves, norms, likeness = screen.parts, screen.moves, lanes.norms, lanes.likeness
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        _measure_likeness(lanes, counts, sizes, own, other, parts[side])
        fewer = np.float32(sizes[own] / max(sizes[own] - 1, 1))
        more = np.float32(sizes[other] / (sizes[other] + 1))
        constant = lanes.leaving[own] + lanes.joining[other]
        for n in range(fill_up(sizes[own], WIDTH)):
            there, here, norm = parts[side, n], likeness[own, n], norms[own, n]
            moves[side, n] = fewer * (norm - here) - more * (norm - there) + constant
            parts[side, n] = weight * norm + there - here
    n_terms = lanes.values.shape[1] + lanes.levels.shape[1] + 4
    size = (lanes.reach[a] + lanes.reach[b]) ** 2
    for of_levels in lanes.weights:
        size += of_levels
    return ERROR_PER_TERM * n_terms * size


@kernel(inline="always", borrows=True)
def _measure_likeness(lanes, counts, sizes, own, other, likeness):
    """Fill the likeness float32 (lanes,) of a class's records to another class."""
    values, levels, size = lanes.values, lanes.levels, sizes[own]
    filled, two, means = fill_up(size, WIDTH), np.float32(2.0), lanes.means
    for n in range(filled):
        likeness[n] = 0.0
    for j in range(0, values.shape[1], TOGETHER):
        first, second = two * means[other, j], two * means[other, j + 1]
        third, fourth = two * means[other, j + 2], two * means[other, j + 3]
        for n in range(filled):
            some = likeness[n] + first * values[own, j, n] + second * values[own, j + 1, n]
            likeness[n] = some + third * values[own, j + 2, n] + fourth * values[own, j + 3, n]
    for j in range(levels.shape[1]):
        share = lanes.weights[j] / np.float32(sizes[other])
        for n in range(size):
            likeness[n] += share * np.float32(counts[other, j, levels[own, j, n]])


@kernel(inline="always", borrows=True)
def screen_exchanges(lanes, a, b, sizes, rows, screen):
    """Fill ``gains`` with what exchanging some records of class a for each of class b saves.

    These are gone through for some attributes after the others: sums of one record would wait for
    each other.

    ``rows``: first of the records, and the end of them
    """
    values, levels, gains, parts = lanes.values, lanes.levels, screen.gains, screen.parts
    weight = np.float32(1.0 / sizes[a] + 1.0 / sizes[b])
    twice, of_all_levels = np.float32(-2.0) * weight, np.float32(0.0)
    for of_levels in lanes.weights:
        of_all_levels += weight * of_levels
    filled, begin = fill_up(sizes[b], WIDTH), rows[0]
    for m in range(begin, rows[1]):
        own = parts[0, m] + of_all_levels
        for n in range(filled):
            gains[m - begin, n] = own + parts[1, n]
    for j in range(0, values.shape[1], TOGETHER):
        for m in range(begin, rows[1]):
            first, second = twice * values[a, j, m], twice * values[a, j + 1, m]
            third, fourth = twice * values[a, j + 2, m], twice * values[a, j + 3, m]
            for n in range(filled):
                some = gains[m - begin, n] + first * values[b, j, n] + second * values[b, j + 1, n]
                some += third * values[b, j + 2, n]
                gains[m - begin, n] = some + fourth * values[b, j + 3, n]
    for j in range(levels.shape[1]):
        alike = weight * lanes.weights[j]
        for m in range(begin, rows[1]):
            level = levels[a, j, m]
            for n in range(filled):
                gains[m - begin, n] -= alike * np.float32(levels[b, j, n] == level)


@kernel(borrows=True)
def bound_gains(lanes, a, b, sizes, screen):
    """Fill ``most`` with what exchanging each record of class a for any of class b may save.

    Their parts, and twice the product of their norms: two records are not farther apart.

    Returns
    -------
    the record that may save most
    """
    parts, most, weight = screen.parts, screen.most, np.float32(1.0 / sizes[a] + 1.0 / sizes[b])
    of_b, strongest = parts[1, 0], np.int64(0)
    for n in range(sizes[b]):
        of_b = max(of_b, parts[1, n])
    for of_level in lanes.weights:
        of_b += weight * of_level
    twice = np.float32(2.0) * weight * lanes.reach[b]
    for m in range(sizes[a]):
        most[m] = parts[0, m] + of_b + twice * np.sqrt(lanes.norms[a, m])
        if most[m] > most[strongest]:
            strongest = np.int64(m)
    return strongest


@kernel(inline="always", borrows=True)
def count_promising(savings, row, first, last, least):
    """Count what may save more than ``least`` in a row of ``gains`` or ``moves``, in some lanes.

    ``least``: float32; numbers that single precision does not hold are counted.
    """
    n_more = 0
    for n in range(first, last):
        n_more += not savings[row, n] <= least
    return n_more


@kernel(inline="always", borrows=True)
def bound_shifts(block, a, b, shifts):
    """Fill ``shifts``: by how much an exchange may change the sum of class a's positions.

    A class's mean position is no farther from the table's than the class's distance: an exchange
    that moves either class's mean by more brings it above a limit, whatever the other records are.
    The least and the most, of each order, by all tables of it.
    """
    means, limits = block.lanes.mean_positions, block.limits
    size_a, size_b = block.sizes[a], block.sizes[b]
    for o in range(shifts.shape[0]):
        shifts[o, 0], shifts[o, 1] = -np.inf, np.inf
        for i in range(o, limits.size, shifts.shape[0]):
            limit, of_table = limits[i] + ERROR_OF_MEAN, block.sums[i, MEAN_OF_TABLE]
            of_a, of_b = means[a, o] - of_table, means[b, o] - of_table
            least = max((-limit - of_a) * size_a, (of_b - limit) * size_b)
            most = min((limit - of_a) * size_a, (of_b + limit) * size_b)
            shifts[o, 0], shifts[o, 1] = max(shifts[o, 0], least), min(shifts[o, 1], most)


@kernel(inline="always", borrows=True)
def bound_positions(block, a, b, positions):
    """Fill ``positions`` with those that a record may have that moves from class a to class b.

    As in `bound_shifts`, the least and the most, of each order, by all tables of it.
    """
    means, limits = block.lanes.mean_positions, block.limits
    size_a, size_b = block.sizes[a], block.sizes[b]
    for o in range(positions.shape[0]):
        of_a, of_b = means[a, o] * size_a, means[b, o] * size_b
        least, most = -np.inf, np.inf
        for i in range(o, limits.size, positions.shape[0]):
            limit, of_table = limits[i] + ERROR_OF_MEAN, block.sums[i, MEAN_OF_TABLE]
            least, most = max(least, of_table - limit), min(most, of_table + limit)
        positions[o, 0] = max(of_a - most * (size_a - 1), least * (size_b + 1) - of_b)
        positions[o, 1] = min(of_a - least * (size_a - 1), most * (size_b + 1) - of_b)


@kernel(inline="always", borrows=True)
def is_shifted_beyond(positions, shifts, a, b, m, n):
    """Return whether exchanging the records of lanes m and n is beyond ``shifts``."""
    for i in range(shifts.shape[0]):
        shift = positions[b, i, n] - positions[a, i, m]
        if shift < shifts[i, 0] or shift > shifts[i, 1]:
            return True
    return False


@kernel(inline="always")
def fill_up(size, width):
    """The next multiple of a width: lanes of a class with those without a record, or columns."""
    return (size + width - 1) // width * width
