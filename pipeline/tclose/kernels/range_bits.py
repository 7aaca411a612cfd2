"""Counts of records by bits: a word for each 64 of them, a bit for each."""

import numpy as np

from tclose.kernels.compiler import kernel

# Of a word, all bits of every other one, two, four, and the lowest one of each eight.
_ONES, _TWOS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_FOURS, _EIGHTHS = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@kernel
def count_met(bits, rows):
    """Count the records that are between both rows of each of four pairs: int64 (q,).

    Parameters
    ----------
    bits : uint64 (r, w), a bit for each record; of each pair that is asked for, one row's bits are
        among the other's
    rows : int64 (q, 4, 2), pairs of rows
    """
    counts = np.empty(rows.shape[0], dtype=np.int64)
    for q in range(rows.shape[0]):
        a, b = bits[rows[q, 0, 0]], bits[rows[q, 0, 1]]
        c, d = bits[rows[q, 1, 0]], bits[rows[q, 1, 1]]
        e, f = bits[rows[q, 2, 0]], bits[rows[q, 2, 1]]
        g, h = bits[rows[q, 3, 0]], bits[rows[q, 3, 1]]
        n_met = np.uint64(0)
        for i in range(bits.shape[1]):
            met = (a[i] ^ b[i]) & (c[i] ^ d[i]) & (e[i] ^ f[i]) & (g[i] ^ h[i])
            # Ones by twos, fours and eights, all of a word at once (Warren 2012, section 5-1).
            met -= (met >> _ONE) & _ONES
            met = (met & _TWOS) + ((met >> _TWO) & _TWOS)
            met = (met + (met >> _FOUR)) & _FOURS
            n_met += (met * _EIGHTHS) >> _TOP
        counts[q] = n_met
    return counts
