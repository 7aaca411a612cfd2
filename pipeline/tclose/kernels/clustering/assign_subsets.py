"""Global quantile subsets of the confidential attribute: sizes, and who belongs to which.

The records, sorted by confidential value, are cut into K subsets of floor(n/K), the n mod K extra
ones in the central subset or subsets (Soria-Comas et al. 2015, section 7 and Algorithm 3). Records
with one value that straddle a cut are assigned by their position alone: the i-th of c tied records
gets rank (i * stride + shift) mod c, with stride near c/golden ratio and coprime to c.
Neighbours in the input thereby go to far-apart subsets, where identical records can still meet in
one cluster.
"""

from math import gcd

import numpy as np

from tclose.kernels.compiler import kernel
from tclose.kernels.sequences import first_above, first_not_below
from tclose.model.array_types import Int64

GOLDEN = 0.6180339887498949


def subset_sizes(n_records: int, n_subsets: int, n_clusters: int | None = None) -> Int64:
    """Sizes of the subsets, int64 (n_subsets,): all floor(n/K), the remainder in the middle.

    With ``n_clusters`` given, each subset has that many, and the remainder is all other records.
    """
    if n_clusters is None:
        n_clusters = n_records // n_subsets
    sizes = np.full(n_subsets, n_clusters, dtype=np.int64)
    extra = n_records - n_clusters * n_subsets
    middle = n_subsets // 2
    if n_subsets % 2:
        sizes[middle] += extra
    else:
        sizes[middle - 1] += extra - extra // 2
        sizes[middle] += extra // 2
    return sizes


def tie_stride(n_tied: int) -> int:
    """A step coprime to ``n_tied`` that spreads neighbours evenly over 0..n_tied-1."""
    stride = max(1, round(n_tied * GOLDEN))
    while gcd(stride, n_tied) != 1:
        stride += 1
    return stride


@kernel
def assign_subsets(codes, cut_codes, cut_ranks, tie_codes, tie_rule, tie_seen):
    """Subset of each record of a partition.

    Parameters
    ----------
    codes : int64 (n,): value of each record, in input order
    cut_codes, cut_ranks : int64 (K - 1,): the value at which each subset but the first begins, and
        the rank at which it does
    tie_codes : int64 (u,), ascending: the values that straddle a cut
    tie_rule : int64 (u, 4): for each the rank of its first record, number of records, stride, shift
    tie_seen : int64 (u,): how many of its records earlier partitions hold

    Returns
    -------
    int32 (n,), 0 .. K-1
    """
    subsets = np.empty(codes.size, dtype=np.int32)
    seen = tie_seen.copy()
    for i in range(codes.size):
        code = codes[i]
        tie = first_not_below(tie_codes, code)
        if tie < tie_codes.size and tie_codes[tie] == code:
            first, n_tied, stride, shift = tie_rule[tie]
            rank = first + (seen[tie] * stride + shift) % n_tied
            seen[tie] += 1
            subsets[i] = first_above(cut_ranks, rank)
        else:
            subsets[i] = first_above(cut_codes, code)
    return subsets
