"""Buckets of confidential values, and how far a class is at most that takes so many from each.

The first phase of SABRE (Cao et al. 2011): split buckets greedily until classes that take
records of the buckets in the table's proportions are within t, whichever records they take.

A class Q takes the shares q of the buckets, the table P has the shares p. Let P' have Q's share of
each bucket and, within it, P's values. Then EMD(Q, P) <= EMD(Q, P') + EMD(P', P), of which

- the first is at most the sum over buckets of q times the most that records of the bucket can be
  away from it, which is when all of them have one value (EMD is convex in Q);
- the second is at most the distance between the shares, one bucket's mean value to another's
  (ordered), or exactly that between the nodes of a tree (equal and hierarchical distance).

All of it is kept in integers over one common denominator, so that nothing is rounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from math import lcm

import numpy as np

from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution

MakeBuckets = Callable[[Distribution, Fraction], "SabreBuckets"]
Span = tuple[int, int]
Cut = tuple[tuple[int, int], Span, int]  # (what it adds, the lowest value), the range, where


@dataclass(frozen=True, eq=False)
class SabreBuckets:
    """Buckets of a confidential attribute's values.

    ``of_value`` int64 (m,): bucket of each distinct value; ``counts`` int64 (b,): records of the
    table in each. In units of 1 / ``scale``: ``within`` (b,), the most that records of a bucket can
    be away from it; ``groups`` int64 (g, b), 0 or 1, and ``weights`` (g,): the distance between
    shares q and p of the buckets is the sum of weight * |the group's q - the group's p|.
    """

    of_value: Int64
    counts: Int64
    within: tuple[int, ...]
    groups: Int64
    weights: tuple[int, ...]
    scale: int

    def meet(self, taken: Int64, max_emd: Fraction) -> np.ndarray:
        """Return exactly whether any class with these counts of each bucket is within ``max_emd``.

        ``taken`` int64 (c, b), at least one record in each row; gives bool (c,).
        """
        n_records, sizes = int(self.counts.sum()), taken.sum(axis=1)
        surplus = taken * n_records - sizes[:, None] * self.counts
        between = np.abs(surplus @ self.groups.T).astype(object) @ np.array(self.weights, object)
        within = taken.astype(object) @ np.array(self.within, object) * n_records
        limit = max_emd.numerator * self.scale * n_records
        return np.asarray(
            (between + within) * max_emd.denominator <= sizes.astype(object) * limit, dtype=bool
        )

    def bound(self, taken: Int64) -> Fraction:
        """The most that a class with these records of each bucket, int64 (b,), can be away."""
        n_records, size = int(self.counts.sum()), int(taken.sum())
        surplus = np.abs(self.groups @ (taken * n_records - size * self.counts)).tolist()
        work = sum(w * s for w, s in zip(self.weights, surplus, strict=True))
        work += n_records * sum(w * x for w, x in zip(self.within, taken.tolist(), strict=True))
        return Fraction(work, self.scale * n_records * size)


def ordered_buckets(distribution: Distribution, max_emd: Fraction) -> SabreBuckets:
    """Buckets under the ordered distance: ranges of neighbouring values.

    The cut that lowers the sum of the worst distances most is made first; of equal ones that in the
    bucket of the lowest values, and in it the lowest.
    """
    counts = distribution.counts
    n_values = counts.size
    below = np.concatenate([np.zeros(1, np.int64), distribution.cumulative])
    moments = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts * np.arange(n_values))])
    worst = _OrderedWorst(below, moments)
    limit = max_emd * distribution.n_records * max(n_values - 1, 1)
    starts = _split(n_values, worst, limit)
    sizes, sums = np.diff(below[starts]).tolist(), np.diff(moments[starts]).tolist()
    unit = lcm(*sizes)
    means = [s * (unit // n) for s, n in zip(sums, sizes, strict=True)]
    costs = worst(starts[:-1], starts[1:]).tolist()
    return SabreBuckets(
        np.repeat(np.arange(len(sizes)), np.diff(starts)),
        np.array(sizes, np.int64),
        tuple(c * (unit // n) for c, n in zip(costs, sizes, strict=True)),
        np.tri(len(sizes) - 1, len(sizes), dtype=np.int64),
        tuple(b - a for a, b in pairwise(means)),
        unit * max(n_values - 1, 1),
    )


def equal_buckets(distribution: Distribution, max_emd: Fraction) -> SabreBuckets:
    """Buckets under the equal distance: the commonest values alone, the others together.

    Records of a bucket are farthest away when all have its rarest value. Taking the commonest value
    out of a bucket lowers that most, so it is always done with the one bucket that is left.
    """
    counts = distribution.counts
    by_count = np.argsort(-counts, kind="stable")
    left = np.cumsum(counts[by_count][::-1])[::-1]
    rarest = int(counts[by_count[-1]])
    is_enough = [Fraction(int(n) - rarest, distribution.n_records) <= max_emd for n in left]
    n_alone = is_enough.index(True)
    of_value = np.empty(counts.size, dtype=np.int64)
    of_value[by_count] = np.minimum(np.arange(counts.size), n_alone)
    sizes = np.append(counts[by_count[:n_alone]], left[n_alone])
    unit, last = lcm(*sizes.tolist()), int(left[n_alone])
    return SabreBuckets(
        of_value,
        sizes,
        (*[0] * n_alone, 2 * (last - rarest) * (unit // last)),
        np.eye(sizes.size, dtype=np.int64),
        (unit,) * sizes.size,
        2 * unit,
    )


@dataclass(frozen=True, eq=False)
class _OrderedWorst:
    """Sums over the records of ranges of values of their steps to the farther end.

    ``below``, ``moments`` int64 (m + 1,): records before each value, and sums of their positions.
    """

    below: Int64
    moments: Int64

    def __call__(self, starts: Int64, stops: Int64) -> Int64:
        """Return the sums of values starts..stops-1: int64, as the arguments broadcast."""
        n_records = self.below[stops] - self.below[starts]
        total = self.moments[stops] - self.moments[starts]
        return np.maximum(total - n_records * starts, n_records * (stops - 1) - total)


def _split(n_values: int, worst: _OrderedWorst, limit: Fraction) -> Int64:
    """Find starts of ranges whose worst sums are at most ``limit`` together, and the end.

    Every cut lowers the sum, and single values have none, so it ends.
    """
    zero, end = np.zeros(1, np.int64), np.full(1, n_values)
    total, starts = int(worst(zero, end)[0]), {0, n_values}
    waiting: list[Cut] = []
    _enter_best_cut(waiting, (0, n_values), worst)
    while total > limit:
        (lowered, _), (start, stop), cut = heappop(waiting)
        total += lowered
        starts.add(cut)
        _enter_best_cut(waiting, (start, cut), worst)
        _enter_best_cut(waiting, (cut, stop), worst)
    return np.array(sorted(starts))


def _enter_best_cut(waiting: list[Cut], span: Span, worst: _OrderedWorst) -> None:
    """Enter the cut of a range that lowers its worst sum most, if it has more than one value."""
    start, stop = span
    if stop - start < 2:
        return
    cuts = np.arange(start + 1, stop)
    ends = np.full(cuts.size, start), np.full(cuts.size, stop)
    after = worst(ends[0], cuts) + worst(cuts, ends[1])
    best = int(np.argmin(after))
    lowered = int(after[best]) - int(worst(ends[0][:1], ends[1][:1])[0])
    heappush(waiting, ((lowered, start), span, int(cuts[best])))
