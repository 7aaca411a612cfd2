"""SABRE: bucketize the confidential values, redistribute the records to classes.

Cao, Karras, Kalnis, Tan, *SABRE: a Sensitive Attribute Bucketization and REdistribution framework
for t-closeness* (VLDB Journal 20, 2011; Soria-Comas et al. 2015, section 3). It follows the
published description: buckets split greedily while a class in the table's proportions could be
above t (`buckets`); a tree that halves the buckets' sizes while both halves are within t for
certain and have k records; each leaf a class, filled with the nearest neighbours of a seed.

Choices of this implementation, where the description leaves them open or we do otherwise:

- the bound that a half has to meet, and that it is exact (`buckets`);
- buckets that use up t leave nothing for halves that are not quite in proportion, and few halves
  are. So the buckets are also made for smaller shares of t, and the tree with the most leaves is
  taken. ``shares=(Fraction(1),)`` is the description's way;
- an odd bucket's extra record goes to the half that keeps the running sums over the buckets
  halved, which the ordered distance is made of;
- the first seed is the record farthest from the table's average, the next the farthest that is
  left: outlying records find company while there is some, and nothing is drawn at random.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import DataError, InfeasibleError
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.fill_classes import fill_classes
from tclose.methods.sabre.split_buckets import MakeBuckets, SabreBuckets, ordered_buckets
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution

Columns = tuple[Float64, NDArray[np.int32]] | tuple[Float64, NDArray[np.int32], Float64]

# Shares of t that the buckets may use up; what they leave is for sizes that do not divide evenly.
SHARES = tuple(Fraction(eighths, 8) for eighths in range(8, 0, -1))


def partition_sabre(
    scaled: Columns,
    codes: Int64,
    distribution: Distribution,
    *,
    k: int,
    max_emd: Fraction,
    make_buckets: MakeBuckets = ordered_buckets,
    shares: tuple[Fraction, ...] = SHARES,
) -> Int64:
    """Classes of at least k records, each within ``max_emd`` whichever records it was given.

    Parameters
    ----------
    scaled : numeric float64 (d, n), divided by their range, nominal int32 (q, n), and weights
        float64 (q,), as in `tclose.methods.scaling.Scaled`, by default 1 each
    codes : int64 (n,): confidential values as positions in ``distribution``
    distribution : of these very records
    make_buckets : `ordered_buckets`, or another rule, which also decides what distance is meant
    shares : parts of ``max_emd`` that buckets are made for; of equally good ones the first is taken

    Returns
    -------
    int64 (n,): class of each record

    Raises
    ------
    InfeasibleError
        Fewer than k records.
    DataError
        The distribution is not that of the records.
    """
    if codes.size < max(k, 1):
        raise InfeasibleError(
            f"k is {k:,}, but there are {codes.size:,} records; ask for a smaller k"
        )
    if not np.array_equal(np.bincount(codes, minlength=1), distribution.counts):
        raise DataError(
            "the distribution of the confidential attribute is not that of the records; make "
            "classes of the whole table, not of a part"
        )
    tried = [make_buckets(distribution, max_emd * share) for share in shares]
    shared_out = [(b, share_out_buckets(b, k, max_emd)) for b in tried]
    buckets, taken = max(shared_out, key=lambda pair: len(pair[1]))
    numeric, nominal, *weights = scaled
    counted = weights[0] if weights else np.ones(nominal.shape[0])
    members, starts = group_by_label(buckets.of_value[codes], buckets.counts.size)
    seeds = np.argsort(-_distances_to_average(numeric, nominal, counted), kind="stable")
    values, levels = np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T)
    labels: Int64 = fill_classes(values, levels, seeds, members, starts, taken, counted)
    return labels


def share_out_buckets(buckets: SabreBuckets, k: int, max_emd: Fraction) -> Int64:
    """Records of each bucket in each class: int64 (c, b), leaves of the tree from left to right.

    The root, which is the table, is a class at no distance. A node is cut where both halves have k
    records and are within ``max_emd`` for certain. Nodes of a level that are alike are tried once.
    """
    nodes = buckets.counts[None, :]
    is_open = np.ones(1, dtype=bool)
    while is_open.any():
        alike, which = np.unique(nodes[is_open], axis=0, return_inverse=True)
        halves = _halve(alike)
        can_cut = _may_be(buckets, halves[0], k, max_emd) & _may_be(buckets, halves[1], k, max_emd)
        is_cut = np.zeros(is_open.size, dtype=bool)
        is_cut[is_open] = can_cut[which.ravel()]
        place = np.arange(is_open.size) + np.cumsum(is_cut) - is_cut
        grown = np.repeat(nodes, 1 + is_cut, axis=0)
        cut = which.ravel()[can_cut[which.ravel()]]
        grown[place[is_cut]], grown[place[is_cut] + 1] = halves[0][cut], halves[1][cut]
        nodes, is_open = grown, np.repeat(is_cut, 1 + is_cut)
    return nodes


def _halve(nodes: Int64) -> tuple[Int64, Int64]:
    """Both halves of each node: the running sums over its buckets are halved, and rounded down."""
    lower = np.diff(np.cumsum(nodes, axis=1) // 2, axis=1, prepend=0)
    return lower, nodes - lower


def _may_be(buckets: SabreBuckets, nodes: Int64, k: int, max_emd: Fraction) -> NDArray[np.bool_]:
    meets: NDArray[np.bool_] = nodes.sum(axis=1) >= max(k, 1)
    meets[meets] = buckets.meet(nodes[meets], max_emd)
    return meets


def _distances_to_average(
    numeric: Float64, nominal: NDArray[np.int32], weights: Float64
) -> Float64:
    """Squared distances to the means and, of nominal ones, to the commonest code: float64 (n,)."""
    distances = np.zeros(numeric.shape[1])
    for row in numeric:
        distances += (row - row.mean()) ** 2
    for codes, weight in zip(nominal, weights, strict=True):
        distances += weight * (codes != np.argmax(np.bincount(codes)))
    return distances
