"""A block of classes of units: records that have to stay together, as those of a person."""

from collections import namedtuple

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.emd.member_distances import PERSONS, ROWS, measure_members

# Units, each a person with her records.
#   starts int64 (u + 1,)       where the records of each unit begin
#   codes int64 (p, n)          confidential values, ascending within a unit
#   sums float64 (u, d)         of the numeric quasi-identifiers
#   levels int32 (q, n), counts int64 (q, n), ends int64 (q, u)   distinct levels of a unit in each
#       nominal column, from its start to its end there, and how many of its records have each
Units = namedtuple("Units", "starts codes sums levels counts ends")

# Classes of a block and their units, by their places in the block.
#   units int64 (v,)            which ones
#   rows int64 (v,), sums float64 (v, d)   records, and sums of their values from the block's middle
#   levels int64 (q, .), firsts int64 (v,)   levels renumbered, from the first entry of each unit on
#   members int64 (c, cap), n_members int64 (c,)   units of each class
#   n_rows int64 (c,), totals float64 (c, d)   records of each class, sums of their values
#   held int64 (c, q, L), squares int64 (c, q)   records of each level, sum of the counts' squares
#   excess float64 (c,)         distance above the limits, all attributes over rows and over persons
#   weights float64 (q,)        squared distance of two different levels
UnitBlock = namedtuple(
    "UnitBlock",
    "units rows sums levels firsts members n_members n_rows totals held squares excess weights",
)

# Room in a class for units that join it.
SPARE_UNITS = 6


@kernel
def gather_units(units, by_class, classes, weights, n_levels):
    """Some classes as a `UnitBlock`, whose excess is not measured yet.

    Parameters
    ----------
    by_class : units class by class, and where each class begins: int64 (u,), (c + 1,)
    classes : int64 (c,)
    """
    order, starts = by_class
    n_members = starts[classes + 1] - starts[classes]
    n_units, n_columns = n_members.sum(), units.sums.shape[1]
    chosen = np.empty(n_units, dtype=np.int64)
    members = np.full((classes.size, n_members.max() + SPARE_UNITS), -1, dtype=np.int64)
    filled = 0
    for c in range(classes.size):
        for m in range(n_members[c]):
            chosen[filled] = order[starts[classes[c]] + m]
            members[c, m] = filled
            filled += 1
    rows = units.starts[chosen + 1] - units.starts[chosen]
    firsts = np.cumsum(rows) - rows
    sums, middle = np.empty((n_units, n_columns)), np.zeros(n_columns)
    for v in range(n_units):
        for j in range(n_columns):
            sums[v, j] = units.sums[chosen[v], j]
            middle[j] += sums[v, j] / rows.sum()
    for v in range(n_units):
        for j in range(n_columns):
            sums[v, j] -= rows[v] * middle[j]
    levels, n_local = _renumber_levels(units, chosen, firsts, rows.sum(), n_levels)
    n_nominal = units.levels.shape[0]
    block = UnitBlock(
        chosen, rows, sums, levels, firsts, members, n_members,
        np.zeros(classes.size, dtype=np.int64),
        np.zeros((classes.size, n_columns)),
        np.zeros((classes.size, n_nominal, n_local), dtype=np.int64),
        np.zeros((classes.size, n_nominal), dtype=np.int64),
        np.zeros(classes.size),
        weights,
    )  # fmt: skip
    for c in range(classes.size):
        for m in range(n_members[c]):
            count_unit(units, block, c, members[c, m], 1)
    return block


@kernel
def _renumber_levels(units, chosen, firsts, n_rows, n_levels):
    """Levels of some units, numbered as they are met: int64 (q, n_rows); how many, at least 1."""
    n_nominal = units.levels.shape[0]
    levels = np.zeros((n_nominal, n_rows), dtype=np.int64)
    place = np.full(n_levels, -1, dtype=np.int64)
    most = 1
    for j in range(n_nominal):
        n_found = 0
        for v in range(chosen.size):
            first = units.starts[chosen[v]]
            for e in range(first, units.ends[j, chosen[v]]):
                level = units.levels[j, e]
                if place[level] < 0:
                    place[level] = n_found
                    n_found += 1
                levels[j, firsts[v] + e - first] = place[level]
        most = max(most, n_found)
        place[:] = -1
    return levels, most


@kernel(borrows=True)
def count_unit(units, block, c, v, sign):
    """Add unit v to the sums of class c, or take it from them."""
    block.n_rows[c] += sign * block.rows[v]
    for j in range(block.totals.shape[1]):
        block.totals[c, j] += sign * block.sums[v, j]
    u = block.units[v]
    first = units.starts[u]
    for j in range(block.squares.shape[1]):
        for e in range(first, units.ends[j, u]):
            level, count = block.levels[j, block.firsts[v] + e - first], units.counts[j, e]
            there = block.held[c, j, level]
            block.squares[c, j] += count * (count + 2 * sign * there)
            block.held[c, j, level] = there + sign * count


@kernel(borrows=True)
def measure_kept(block):
    """The squared sizes of the records that classes keep: all of it, less the loss of a release."""
    kept = 0.0
    for c in range(block.n_rows.size):
        for j in range(block.totals.shape[1]):
            kept += block.totals[c, j] ** 2 / block.n_rows[c]
        for j in range(block.squares.shape[1]):
            kept += block.weights[j] * block.held[c, j].max()
    return kept


@kernel
def gather_unit_rows(units, block, c):
    """Rows of a class by their values: codes int64 (p, n), and whose, by places in the block."""
    n_attributes, n_rows = units.codes.shape[0], block.n_rows[c]
    codes = np.empty((n_attributes, n_rows), dtype=np.int64)
    owners = np.empty((n_attributes, n_rows), dtype=np.int64)
    found, whose = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    for a in range(n_attributes):
        filled = 0
        for m in range(block.n_members[c]):
            v = block.members[c, m]
            first = units.starts[block.units[v]]
            for i in range(first, first + block.rows[v]):
                found[filled], whose[filled] = units.codes[a, i], v
                filled += 1
        by_code = np.argsort(found, kind="mergesort")
        codes[a], owners[a] = found[by_code], whose[by_code]
    return codes, owners


@kernel(borrows=True)
def measure_excess(units, block, tables, gathered, change, room, most):
    """The excess of a class over its limits, once unit x has left it and y joined it; -1: none.

    Parameters
    ----------
    gathered : from `gather_unit_rows`
    change : x, y, and the persons of the class afterwards
    room : codes int64 (n,), weights float64 (2, n), for all rows afterwards; held, as in
        `measure_members`
    most : what is above it need not be exact
    """
    codes, owners = gathered
    x, y, n_persons = change
    merged, weights, held = room
    n_rows = codes.shape[1]
    n_rows -= block.rows[x] if x >= 0 else 0
    first = units.starts[block.units[y]] if y >= 0 else 0
    last = first + block.rows[y] if y >= 0 else 0
    n_rows += last - first
    excess = 0.0
    for a in range(codes.shape[0]):
        filled, new = 0, first
        for i in range(codes.shape[1] + 1):
            is_end = i == codes.shape[1]
            while new < last and (is_end or units.codes[a, new] < codes[a, i]):
                merged[filled] = units.codes[a, new]
                weights[PERSONS, filled] = 1.0 / (n_persons * block.rows[y])
                filled, new = filled + 1, new + 1
            if not is_end and owners[a, i] != x:
                merged[filled] = codes[a, i]
                weights[PERSONS, filled] = 1.0 / (n_persons * block.rows[owners[a, i]])
                filled += 1
        weights[ROWS, :filled] = 1.0 / n_rows
        for over in (ROWS, PERSONS):
            distance = measure_members(
                tables, a, over, merged[:filled], weights[over, :filled], held
            )
            excess += max(0.0, distance - tables.limits[a, over])
        if excess > most:
            break
    return excess
