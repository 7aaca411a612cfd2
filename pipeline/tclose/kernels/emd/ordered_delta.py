"""Ordered distance of a class after an exchange of records, in a few operations.

In one dimension the earth mover's distance is the work of moving the class's quantiles to the
table's: the record of rank j among s serves the table's records between the shares j/s and
(j + 1)/s, so EMD = sum_j h_j with h_j the integral of |z_j - Q(u)| over that interval, z a value's
index among the distinct ones divided by m - 1, Q the table's quantile function. With
G(u) = integral of Q up to u, known beforehand at every record and at every j/s, one record costs a
few operations: no search, and no loop over values (Li et al. 2007, section 5.1, in quantiles).
"""

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import first_not_below

# Rows of a class's rank terms, see `fill_rank_terms`.
SAME, UP, DOWN, LESS, LESS_DOWN, MORE, MORE_UP = range(7)
N_RANK_TERMS = 7


@kernel
def compute_record_terms(codes, cumulative, prefix):
    """Compute the terms of each record that `rank_work` needs.

    Parameters
    ----------
    codes : int64 (n,): position of each record's value among the distinct values
    cumulative, prefix : as in `tclose.kernels.emd.ordered.ordered_emd`

    Returns
    -------
    float64 (n, 3): z, the share of the table's records up to it, and G at that share
    """
    record_terms = np.zeros((codes.size, 3))
    n_records = float(cumulative[-1])
    last = max(cumulative.size - 1, 1)
    for i in range(codes.size):
        code = codes[i]
        record_terms[i, 0] = code / last
        record_terms[i, 1] = cumulative[code] / n_records
        record_terms[i, 2] = (code * cumulative[code] - prefix[code]) / n_records / last
    return record_terms


@kernel
def table_sums(cumulative, prefix, max_size):
    """G at every j/s: float64 ((max_size + 1) * (max_size + 2) / 2,), row s from s(s+1)/2 on."""
    sums = np.zeros((max_size + 1) * (max_size + 2) // 2)
    n_records = float(cumulative[-1])
    last = max(cumulative.size - 1, 1)
    for size in range(1, max_size + 1):
        row = size * (size + 1) // 2
        for j in range(1, size + 1):
            level = j * n_records / size
            code = min(first_not_below(cumulative, level), cumulative.size - 1)
            below = cumulative[code - 1] if code else 0
            work = code * below - prefix[code] + code * (level - below)
            sums[row + j] = work / n_records / last
    return sums


@kernel(inline="always")
def rank_work(record_terms, a, i, sums, row, j, size):
    """h_j: work of record i as the one of rank j among ``size``, for attribute a.

    ``record_terms`` float64 (p, n, 3), ``sums`` float64 (p, .): of all attributes, as arrays are
    not cut where every nanosecond counts; ``row`` = size (size + 1) / 2.
    """
    z, share = record_terms[a, i, 0], record_terms[a, i, 1]
    step = 1.0 / size
    low, high = j * step, (j + 1) * step
    sum_low, sum_high = sums[a, row + j], sums[a, row + j + 1]
    if share <= low:
        return (sum_high - sum_low) - z * (high - low)
    if share >= high:
        return z * (high - low) - (sum_high - sum_low)
    return z * (2 * share - low - high) - 2 * record_terms[a, i, 2] + sum_low + sum_high


@kernel(inline="always")
def _work_up_to(z, share, doubled, level, sum_at_level):
    """Integral of |z - Q(u)| from 0 to a share ``level``, of one record.

    z - Q is at least 0 up to the share of the table's records that are up to z, and at most 0 after
    it: so the integral is that of z - Q as far as there, and grows by as much as that falls then.

    Parameters
    ----------
    z, share : of ``record_terms``
    doubled : twice the integral of z - Q up to ``share``
    sum_at_level : G at the level, of ``sums``
    """
    signed = z * level - sum_at_level
    return signed if level <= share else doubled - signed


@kernel(borrows=True)
def fill_rank_terms(block, c):
    """Fill the running sums of work that give the distance of class c after any exchange.

    Written to ``block.rank_terms``: entry j of each row is the sum over the ranks below j of the
    work at the same rank, one higher, one lower (among as many as there are); at the same and one
    lower (among one fewer); at the same and one higher (among one more). Neighbouring ranks share
    a level, so the seven works of a record are differences of its work up to ten levels.
    """
    record_terms, rank_terms = block.record_terms, block.rank_terms
    sums, members = block.sums, block.members
    size = block.sizes[c]
    row = size * (size + 1) // 2
    less, more = row - size, row + size + 1
    step, step_of_less, step_of_more = 1.0 / size, 1.0 / max(size - 1, 1), 1.0 / (size + 1)
    for a in range(record_terms.shape[0]):
        of_class = rank_terms[a, c]
        of_class[:, 0] = 0.0
        same, up, down, at_less, less_down, at_more, more_up = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(size):
            i = members[a % members.shape[0], c, j]
            z, share = record_terms[a, i, 0], record_terms[a, i, 1]
            doubled = 2.0 * (z * share - record_terms[a, i, 2])
            low = _work_up_to(z, share, doubled, j * step, sums[a, row + j])
            high = _work_up_to(z, share, doubled, (j + 1) * step, sums[a, row + j + 1])
            of_less = _work_up_to(z, share, doubled, j * step_of_less, sums[a, less + j])
            same += high - low
            if j + 1 < size:
                level = (j + 2) * step
                up += _work_up_to(z, share, doubled, level, sums[a, row + j + 2]) - high
                level = (j + 1) * step_of_less
                after = _work_up_to(z, share, doubled, level, sums[a, less + j + 1])
                at_less += after - of_less
            if j > 0:
                level = (j - 1) * step
                down += low - _work_up_to(z, share, doubled, level, sums[a, row + j - 1])
                level = (j - 1) * step_of_less
                before = _work_up_to(z, share, doubled, level, sums[a, less + j - 1])
                less_down += of_less - before
            low = _work_up_to(z, share, doubled, j * step_of_more, sums[a, more + j])
            high = _work_up_to(z, share, doubled, (j + 1) * step_of_more, sums[a, more + j + 1])
            at_more += high - low
            level = (j + 2) * step_of_more
            more_up += _work_up_to(z, share, doubled, level, sums[a, more + j + 2]) - high
            of_class[SAME, j + 1], of_class[UP, j + 1], of_class[DOWN, j + 1] = same, up, down
            of_class[LESS, j + 1], of_class[LESS_DOWN, j + 1] = at_less, less_down
            of_class[MORE, j + 1], of_class[MORE_UP, j + 1] = at_more, more_up


# The functions below take arrays one by one: taking an array out of a block within a loop counts a
# reference each time, which costs more than the distance does.


@kernel(inline="always")
def distance_after_swap(rank_terms, record_terms, sums, a, c, size, rank, i, at):  # noqa: PLR0913
    """Distance of class c once its record of ``rank`` is replaced by record i.

    ``at``: how many of the class's records come before the new one.
    """
    row = size * (size + 1) // 2
    if at <= rank:
        moved = rank_terms[a, c, UP, rank] - rank_terms[a, c, UP, at]
        kept = rank_terms[a, c, SAME, at] - rank_terms[a, c, SAME, rank + 1]
        new = rank_work(record_terms, a, i, sums, row, at, size)
    else:
        moved = rank_terms[a, c, DOWN, at] - rank_terms[a, c, DOWN, rank + 1]
        kept = rank_terms[a, c, SAME, rank] - rank_terms[a, c, SAME, at]
        new = rank_work(record_terms, a, i, sums, row, at - 1, size)
    return kept + moved + new + rank_terms[a, c, SAME, size]


@kernel(inline="always")
def distance_after_leaving(rank_terms, a, c, size, rank):
    """Distance of class c once its record of ``rank`` has left."""
    moved = rank_terms[a, c, LESS_DOWN, size] - rank_terms[a, c, LESS_DOWN, rank + 1]
    return rank_terms[a, c, LESS, rank] + moved


@kernel(inline="always")
def distance_after_joining(rank_terms, record_terms, sums, a, c, size, i, at):  # noqa: PLR0913
    """Distance of class c once record i has joined after ``at`` of its records."""
    row = (size + 1) * (size + 2) // 2
    new = rank_work(record_terms, a, i, sums, row, at, size + 1)
    moved = rank_terms[a, c, MORE_UP, size] - rank_terms[a, c, MORE_UP, at]
    return rank_terms[a, c, MORE, at] + new + moved
