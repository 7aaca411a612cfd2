"""Buckets of neighbouring values, as equally common as equal values allow.

Domingo-Ferrer and Soria-Comas 2015, section 6.

Cuts are at the ranks floor(i N/b + 1/2) (section 6.2). Equal values stay in one bucket, or its
label would not be true: a cut goes to the nearest rank between two different values (the lower of
two equally near), and cuts that meet are one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.errors import InfeasibleError, PolicyError
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution

MOST_BUCKETS = 1000
"""That may be asked of any table; of one of more records as many as it has."""

OPEN_END = ".."
"""Text for the lowest and the highest value of a table; a value of that text is quoted."""


@dataclass(frozen=True, eq=False)
class BucketCut:
    """Buckets of a confidential attribute: sets of values, ascending.

    ``of_code`` int64 (m,): bucket of each value; ``limits`` int64 (b, 2): codes of the lowest and
    the highest value that occurs in each; ``sizes`` int64 (b,): records of each.
    """

    of_code: Int64
    limits: Int64
    sizes: Int64


def cut_buckets(
    distribution: Distribution, n_buckets: int, order: Int64 | None = None
) -> BucketCut:
    """Buckets of as equal size as equal values allow.

    Domingo-Ferrer and Soria-Comas 2015, section 6.2; fewer where cuts meet.

    Parameters
    ----------
    order : int64 (m,): codes in the order by which values are neighbours; None: their own

    Raises
    ------
    InfeasibleError
        Fewer than two values occur.
    """
    order = np.arange(distribution.values.size) if order is None else order
    if not np.array_equal(np.sort(order), np.arange(distribution.values.size)):
        raise PolicyError("the order of the values must name every one of them once")
    counts = distribution.counts[order]
    present = np.flatnonzero(counts)
    if present.size < 2:
        raise InfeasibleError("a single value of the confidential attribute cannot be bucketized")
    n_records = distribution.n_records
    ends = np.cumsum(counts[present])[:-1]
    ranks = (2 * np.arange(1, n_buckets) * n_records + n_buckets) // (2 * n_buckets)
    above = np.minimum(np.searchsorted(ends, ranks), ends.size - 1)
    below = np.maximum(above - 1, 0)
    is_below = np.abs(ranks - ends[below]) <= np.abs(ends[above] - ranks)
    cuts = np.unique(np.where(is_below, below, above))
    lows, highs = np.append(0, cuts + 1), np.append(cuts, present.size - 1)
    of_code = np.empty(order.size, dtype=np.int64)
    of_code[order] = np.searchsorted(present[lows[1:]], np.arange(order.size), side="right")
    limits = np.stack([order[present[lows]], order[present[highs]]], axis=1)
    sizes = np.diff(np.concatenate([[0], ends[cuts], [n_records]]))
    return BucketCut(of_code, limits.astype(np.int64), sizes.astype(np.int64))


def name_buckets(
    cut: BucketCut, spell: Callable[[int], str], *, open_ends: bool = False
) -> list[str]:
    """Text that each bucket is released as: "[low, high]", both values of the table.

    Parameters
    ----------
    spell : text of the value with a code, as the input spells it
    open_ends : leave out the lowest and the highest value of the table, which are often one
        person's: "[.., high]" and "[low, ..]"
    """
    texts = [[spell(int(low)), spell(int(high))] for low, high in cut.limits]
    if open_ends:
        texts[0][0] = texts[-1][1] = OPEN_END
    return [f"[{low}, {high}]" for low, high in texts]
