"""t-Closeness in the ratio distance by bucketization.

Domingo-Ferrer and Soria-Comas 2015, section 6.

The confidential attribute is replaced by buckets of neighbouring values, and classes are made whose
share of every bucket is within a factor t of the table's, either way (Definition 4). As the paper
has it: t+1 buckets, cut at the ranks floor(i N/(t+1) + 1/2); classes of the sizes of section 6.2,
each emphasising one bucket. Our choices, where it is silent:

- t need not be whole: floor(t) + 1 buckets, the most that a class can emphasise, since that takes
  buckets of N/(t+1) records or more (section 6.1). Another number can be asked for; Figure 2 has
  three buckets at t = 1.5.
- Equal values stay in one bucket, or its label would not be true: a cut goes to the nearest rank
  between two different values (the lower of two equally near), and cuts that meet are one.
- Which class emphasises which bucket is chosen where the class is: see
  `fill_buckets.fill_block`; counts: see `plan_counts`.
- A class is within t when no ratio is above it (Definition 1, conditions (i) and (ii)).

A union of classes that are within t is within t: the share of a bucket in it lies between theirs.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import PolicyError, VerificationError
from tclose.kernels.clustering.fill_buckets import cut_class_ranges, fill_blocks
from tclose.methods.bucketization.plan_counts import plan_counts
from tclose.methods.clustering_problem import group_classes
from tclose.model.array_types import Float64, Int64
from tclose.privacy.class_counts import count_by_class, require_limit
from tclose.privacy.models.ratio_closeness import check_ratio

# Classes that are filled from one another's records; the time to fill grows with it.
BLOCK_CLASSES = 64


@dataclass(frozen=True)
class RatioDemand:
    """The ratio limit that classes are held to; ``n_buckets`` None: as many as t allows."""

    k: int
    t: Fraction
    n_buckets: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be met."""
        require_limit("the ratio", self.t, 1)
        if self.k < 1:
            raise PolicyError(f"k is {self.k}: give a k of 1 or more")
        if self.n_buckets is not None and self.n_buckets < 2:
            raise PolicyError("n_buckets: one bucket would say nothing; give 2 or more")

    @property
    def wanted_buckets(self) -> int:
        """Buckets asked for; by default floor(t) + 1.

        Domingo-Ferrer and Soria-Comas 2015, section 6.1.
        """
        return int(self.t) + 1 if self.n_buckets is None else self.n_buckets


def fill_from_buckets(
    numeric: Float64,
    nominal: NDArray[np.int32],
    buckets: Int64,
    sizes: Int64,
    demand: RatioDemand,
    weights: Float64 | None = None,
    heights: Int64 | None = None,
) -> Int64:
    """Classes of at least k records whose buckets are within the ratio t of the table's.

    Parameters
    ----------
    numeric : float64 (d, n): quasi-identifiers divided by their range
    nominal : int32 (q, n): category codes
    buckets : int64 (n,): bucket of each record
    sizes : int64 (b,): records of each bucket
    weights, heights : float64 (q,), int64 (q,): as in `Scaled`; by default 1 each

    Returns
    -------
    Class of each record, int64 (n,)

    Raises
    ------
    InfeasibleError
        No such classes; the message names a t that can be met.
    """
    planned = plan_counts(sizes, demand.k, demand.t)
    weighed = np.ones(nominal.shape[0]) if weights is None else weights
    high = np.ones(nominal.shape[0], np.int64) if heights is None else heights
    labels = _place_records((numeric, nominal, weighed, high), buckets, planned)
    order, starts = group_classes(labels)
    counted = count_by_class(starts, buckets[order])
    n_violating = check_ratio(counted, sizes, demand.t).n_failing
    if n_violating or int(counted.sizes.min()) < demand.k:
        raise VerificationError(f"{n_violating:,} classes were built above t = {demand.t}")
    return labels


def _place_records(
    columns: tuple[Float64, NDArray[np.int32], Float64, Int64], buckets: Int64, counts: Int64
) -> Int64:
    """Class of each record, int64 (n,), with ``counts`` (g, b) of each bucket."""
    numeric, nominal, weights, heights = columns
    by_bucket = np.argsort(buckets, kind="stable")
    numeric = np.ascontiguousarray(numeric[:, by_bucket])
    nominal = np.ascontiguousarray(nominal[:, by_bucket])
    cumulative = np.zeros((counts.shape[0] + 1, counts.shape[1]), dtype=np.int64)
    np.cumsum(counts, axis=0, out=cumulative[1:])
    starts = np.concatenate([[0], np.cumsum(cumulative[-1])[:-1]]).astype(np.int64)
    n_levels = int(nominal.max(initial=0)) + 1
    order, edges = cut_class_ranges(
        numeric, nominal, n_levels, starts, cumulative, BLOCK_CLASSES, weights, heights
    )
    labels = np.empty(buckets.size, dtype=np.int64)
    labels[by_bucket] = fill_blocks(numeric, nominal, starts, cumulative, order, edges, weights)
    return labels
