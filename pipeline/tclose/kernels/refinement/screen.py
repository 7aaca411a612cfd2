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
# Of single precision, and a good deal more than a sum of products errs per term.
ERROR_PER_TERM = 32 * np.finfo(np.float32).eps

# The classes of a block, a record of a class in the lane that is its rank in the first confidential
# attribute; lanes after the last record have no meaning.
#   values float32 (c, d, lanes), levels int32 (c, q, lanes)   values less the block's mean
#   norms, likeness float32 (c, lanes)   of each record, N and its likeness to its class
#   means float32 (c, d)    of the classes
#   leaving, joining float32 (c,)   the class's parts of the constant of a move from it and to it
#   reach float32 (c,)      largest norm of a record, not squared
#   centre float64 (d,)     mean of the block
#   weights float32 (q,)    of levels
Lanes = namedtuple(
    "Lanes", "values levels norms likeness means leaving joining reach centre weights"
)

# Working arrays of two classes, those of the first class in 0, of the second in 1.
#   parts, moves float32 (2, lanes)   P of each record; what moving it to the other class saves
#   gains float32 (lanes,)            of exchanging one record for each of the second class
#   insertion_ranks int32 (2, lanes, p)   records of the other class that precede each record
Screen = namedtuple("Screen", "parts moves gains insertion_ranks")


@kernel
def make_lanes(values, weights, n_classes, cap):
    """Allocate the `Lanes` of a block's classes of up to ``cap`` records.

    ``values``: float64 (n, d), those of the block; ``weights``: float64 (q,)
    """
    n_lanes = (cap + WIDTH - 1) // WIDTH * WIDTH
    n_numeric, n_nominal = values.shape[1], weights.size
    centre = np.zeros(n_numeric)
    for i in range(values.shape[0]):
        for j in range(n_numeric):
            centre[j] += values[i, j] / values.shape[0]
    return Lanes(
        np.zeros((n_classes, n_numeric, n_lanes), np.float32),
        np.zeros((n_classes, n_nominal, n_lanes), np.int32),
        np.zeros((n_classes, n_lanes), np.float32),
        np.zeros((n_classes, n_lanes), np.float32),
        np.zeros((n_classes, n_numeric), np.float32),
        np.zeros(n_classes, np.float32),
        np.zeros(n_classes, np.float32),
        np.zeros(n_classes, np.float32),
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


@kernel
def make_screen(block):
    """Allocate the `Screen` of any two classes of a block."""
    n_lanes = block.lanes.norms.shape[1]
    return Screen(
        np.zeros((2, n_lanes), np.float32),
        np.zeros((2, n_lanes), np.float32),
        np.zeros(n_lanes, np.float32),
        np.zeros((2, n_lanes, block.limits.size), np.int32),
    )


@kernel(borrows=True)
def find_insertion_ranks(block, a, b, insertion_ranks):
    """Count, for each record of classes a and b, the records of the other one that precede it."""
    members, record_terms, ranks = block.members, block.record_terms, block.ranks
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        for i in range(members.shape[0]):
            before = 0
            for n in range(block.sizes[own]):
                record = members[i, own, n]
                z = record_terms[i, record, 0]
                while (
                    before < block.sizes[other]
                    and record_terms[i, members[i, other, before], 0] <= z
                ):
                    before += 1
                insertion_ranks[side, ranks[0, record], i] = before


@kernel(borrows=True)
def screen_records(lanes, counts, sizes, a, b, screen):
    """Fill ``parts`` and ``moves`` of all records of classes a and b.

    ``counts``, ``sizes``: of the block

    Returns
    -------
    the largest error of what the screen has of these classes
    """
    weight = np.float32(1.0 / sizes[a] + 1.0 / sizes[b])
    parts, moves, norms = screen.parts, screen.moves, lanes.norms
    for side in range(2):
        own, other = (a, b) if side == 0 else (b, a)
        _measure_likeness(lanes, counts, sizes, own, other, parts[side])
        fewer = np.float32(sizes[own] / max(sizes[own] - 1, 1))
        more = np.float32(sizes[other] / (sizes[other] + 1))
        constant = lanes.leaving[own] + lanes.joining[other]
        for first in range(0, sizes[own], WIDTH):
            for n in range(first, first + WIDTH):
                there, here, norm = parts[side, n], lanes.likeness[own, n], norms[own, n]
                moves[side, n] = fewer * (norm - here) - more * (norm - there) + constant
                parts[side, n] = weight * norm + there - here
    n_terms = lanes.values.shape[1] + lanes.levels.shape[1] + 4
    size = (lanes.reach[a] + lanes.reach[b]) ** 2
    for of_levels in lanes.weights:
        size += of_levels
    return ERROR_PER_TERM * n_terms * size


@kernel(borrows=True)
def _measure_likeness(lanes, counts, sizes, own, other, likeness):
    """Fill the likeness float32 (lanes,) of a class's records to another class."""
    values, levels, size = lanes.values, lanes.levels, sizes[own]
    for first in range(0, size, WIDTH):
        for n in range(first, first + WIDTH):
            likeness[n] = 0.0
        for j in range(values.shape[1]):
            twice = np.float32(2.0) * lanes.means[other, j]
            for n in range(first, first + WIDTH):
                likeness[n] += twice * values[own, j, n]
    for j in range(levels.shape[1]):
        share = lanes.weights[j] / np.float32(sizes[other])
        for n in range(size):
            likeness[n] += share * np.float32(counts[other, j, levels[own, j, n]])


@kernel(inline="always", borrows=True)
def screen_exchanges(lanes, a, b, m, sizes, screen, least):
    """Fill ``gains`` with what exchanging record m of class a for each of class b saves.

    Returns
    -------
    how many may save more than ``least``, float32; lanes without a record may be counted, too, and
    numbers that single precision does not hold are
    """
    values, levels, gains, parts = lanes.values, lanes.levels, screen.gains, screen.parts
    weight = np.float32(1.0 / sizes[a] + 1.0 / sizes[b])
    own = parts[0, m]
    for of_levels in lanes.weights:
        own += weight * of_levels
    n_more = 0
    for first in range(0, sizes[b], WIDTH):
        for n in range(first, first + WIDTH):
            gains[n] = own + parts[1, n]
        for j in range(values.shape[1]):
            factor = np.float32(-2.0) * weight * values[a, j, m]
            for n in range(first, first + WIDTH):
                gains[n] += factor * values[b, j, n]
        for j in range(levels.shape[1]):
            level, alike = levels[a, j, m], weight * lanes.weights[j]
            for n in range(first, first + WIDTH):
                gains[n] -= alike * np.float32(levels[b, j, n] == level)
        for n in range(first, first + WIDTH):
            n_more += not gains[n] <= least
    return n_more
