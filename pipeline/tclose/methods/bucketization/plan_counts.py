"""The number of records of each bucket in each class, decided before the records.

Domingo-Ferrer and Soria-Comas 2015, section 6.2, Table 1.

Condition (i) and (ii) of section 6.2: a class of e records takes at least ceil(e p_i / t) and at
most floor(e p_i t) of bucket i, p_i = b_i / N. Each class emphasises one bucket: it takes the least
of all others. The paper does not say how counts are made whole so that the buckets come out even;
here classes of one size and one emphasis are a *kind*, and a flow between kinds and buckets, with
those limits, finds counts wherever counts exist for these sizes.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np

from tclose.errors import InfeasibleError
from tclose.methods.bucketization.max_flow import fill_between
from tclose.model.array_types import Int64
from tclose.privacy.class_counts import require_limit


def plan_counts(sizes: Int64, k: int, t: Fraction) -> Int64:
    """Counts of every class, int64 (g, b), with as many classes as k, t and the buckets allow.

    The number of classes is (t+1) l with the largest l that works, as in the paper, with the number
    of buckets for t+1; where not even l = 1 works, fewer classes than buckets.

    Parameters
    ----------
    sizes : int64 (b,): records of each bucket, none of them 0

    Raises
    ------
    InfeasibleError
        Fewer than k records; or two classes of k could be made, but none within t.
    """
    require_limit("the ratio", t, 1)
    n_records = int(sizes.sum())
    if n_records < k:
        raise InfeasibleError(f"{n_records:,} records are fewer than k = {k:,}: lower k")
    if n_records < 2 * k:
        return sizes[None, :].astype(np.int64)
    for n_classes in _numbers_of_classes(sizes, k):
        counts = counts_for(sizes, n_classes, t)
        if counts is not None:
            return counts
    raise InfeasibleError(_explain(sizes, k, t))


def _numbers_of_classes(sizes: Int64, k: int) -> Iterator[int]:
    """Descending: multiples of the number of buckets, then what is below it, down to 2.

    A class has at least one record of each bucket, so the smallest bucket limits them.
    """
    most, n_buckets = min(int(sizes.sum()) // k, int(sizes.min())), sizes.size
    yield from range(most // n_buckets * n_buckets, 0, -n_buckets)
    yield from range(min(most, n_buckets - 1), 1, -1)


def class_sizes(n_records: int, n_classes: int) -> Int64:
    """Sizes e_i = ceil(i N / g) - ceil((i - 1) N / g).

    Domingo-Ferrer and Soria-Comas 2015, section 6.2, with g = (t+1) l.
    """
    ends = -(-np.arange(n_classes + 1, dtype=np.int64) * n_records // n_classes)
    return np.diff(ends)


def emphasised_buckets(sizes: Int64, n_classes: int) -> Int64:
    """Bucket that each class emphasises, int64 (g,), evenly mixed; equal buckets take turns.

    Bucket i by a share p_i of the classes: p_i (1 - (1 - p_i)/t) + (1 - p_i) p_i/t is p_i, so the
    counts come out even. In Table 1 all p_i are equal.
    """
    n_records = int(sizes.sum())
    whole, rest = np.divmod(sizes * n_classes, n_records)
    whole[np.argsort(-rest, kind="stable")[: n_classes - int(whole.sum())]] += 1
    buckets = np.repeat(np.arange(sizes.size), whole)
    turn = np.concatenate([np.arange(n) for n in whole])
    return buckets[np.lexsort((buckets, (turn + 0.5) / whole[buckets]))]


def count_limits(size: int, sizes: Int64, t: Fraction) -> list[tuple[int, int]]:
    """Least and most of each bucket in a class of ``size`` records.

    Domingo-Ferrer and Soria-Comas 2015, section 6.2, (ii), (i).
    """
    n_records = int(sizes.sum())
    least = [-(-size * b * t.denominator // (n_records * t.numerator)) for b in sizes.tolist()]
    most = [size * b * t.numerator // (n_records * t.denominator) for b in sizes.tolist()]
    return list(zip(least, most, strict=True))


def counts_for(sizes: Int64, n_classes: int, t: Fraction) -> Int64 | None:
    """Counts int64 (g, b) of this many classes; None: there are none of these sizes within t."""
    n_records = int(sizes.sum())
    limits = {
        size: count_limits(size, sizes, t)
        for size in {n_records // n_classes, -(-n_records // n_classes)}
    }
    if not all(_has_room(size, pairs) for size, pairs in limits.items()):
        return None
    each_size = class_sizes(n_records, n_classes)
    kinds, kind_of, n_of = np.unique(
        np.array([each_size, emphasised_buckets(sizes, n_classes)]),
        axis=1,
        return_inverse=True,
        return_counts=True,
    )
    of_kind = [limits[size] for size in kinds[0].tolist()]
    n_each = n_of.tolist()
    totals = fill_between(
        [size * n for size, n in zip(kinds[0].tolist(), n_each, strict=True)],
        sizes.tolist(),
        [[n * least for least, _ in pairs] for n, pairs in zip(n_each, of_kind, strict=True)],
        [[n * most for _, most in pairs] for n, pairs in zip(n_each, of_kind, strict=True)],
        kinds[1].tolist(),
    )
    return None if totals is None else _assign_counts(totals, kind_of.reshape(-1), n_each)


def _has_room(size: int, pairs: list[tuple[int, int]]) -> bool:
    """Return whether any counts within the limits add up to a class of ``size`` records."""
    possible = all(least <= most for least, most in pairs)
    return possible and sum(p[0] for p in pairs) <= size <= sum(p[1] for p in pairs)


def _assign_counts(totals: list[list[int]], kind_of: Int64, n_each: list[int]) -> Int64:
    """Deal each kind's records out in turn, bucket after bucket.

    Each class of a kind gets the same number of records, and of every bucket the kind's mean,
    rounded down or up; both are within limits that are whole numbers.
    """
    counts = np.empty((kind_of.size, len(totals[0])), dtype=np.int64)
    for kind, n_classes in enumerate(n_each):
        ends = np.concatenate([[0], np.cumsum(totals[kind])])
        turn = np.arange(n_classes)[:, None]
        counts[kind_of == kind] = np.diff((ends - turn + n_classes - 1) // n_classes, axis=1)
    return counts


def _explain(sizes: Int64, k: int, t: Fraction) -> str:
    nearest = nearest_t(sizes, k)
    described = f"{sizes.size} buckets of {int(sizes.min()):,} to {int(sizes.max()):,} records"
    if nearest is None:
        return (
            f"{described}: no ratio allows two classes, since equal values stay in one bucket and "
            "every class needs a record of each; choose fewer buckets or another attribute"
        )
    rounded_up = ceil(nearest * 10**6) / 10**6
    return (
        f"{described}: no two classes of k = {k:,} are within the ratio {float(t):g}; these "
        f"buckets can meet {rounded_up:.6f}: raise the ratio to that, or choose fewer buckets"
    )


def nearest_t(sizes: Int64, k: int) -> Fraction | None:
    """A t that two classes or more can meet, None if there is none.

    The least of the ratios that counts next to proportional ones have, for twice as many classes
    as buckets or fewer: with more, classes are smaller and whole numbers coarser.
    """
    n_records = int(sizes.sum())
    tried = [g for g in _numbers_of_classes(sizes, k) if g <= 2 * sizes.size]
    steps = set()
    for n_classes in tried:
        for size in {n_records // n_classes, -(-n_records // n_classes)}:
            for total in sizes.tolist():
                even = Fraction(size * total, n_records)
                low = max(1, int(even))
                steps |= {max(c / even, even / c) for c in (low, low + 1)}
    ascending = sorted(steps)
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if any(counts_for(sizes, g, ascending[middle]) is not None for g in tried):
            high = middle
        else:
            low = middle + 1
    return ascending[low] if low < len(ascending) else None
