"""Buckets of neighbouring values, as equally common as equal values allow.

Domingo-Ferrer and Soria-Comas 2015, section 6.

Cuts are at the ranks floor(i N/b + 1/2) (section 6.2). Equal values stay in one bucket, or its
label would not be true: a cut goes to the nearest rank between two different values (the lower of
two equally near), and cuts that meet are one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.errors import InfeasibleError
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


def cut_buckets(distribution: Distribution, n_buckets: int) -> BucketCut:
    """Buckets of as equal size as equal values allow.

    Domingo-Ferrer and Soria-Comas 2015, section 6.2; fewer where cuts meet.

    Raises
    ------
    InfeasibleError
        Fewer than two values occur.
    """
    counts = distribution.counts
    present = np.flatnonzero(counts)
    if present.size < 2:
        raise InfeasibleError(
            "a single value of the confidential attribute cannot be bucketized; leave the column "
            "out, or take another method.name"
        )
    n_records = distribution.n_records
    ends = np.cumsum(counts[present])[:-1]
    ranks = (2 * np.arange(1, n_buckets) * n_records + n_buckets) // (2 * n_buckets)
    above = np.minimum(np.searchsorted(ends, ranks), ends.size - 1)
    below = np.maximum(above - 1, 0)
    is_below = np.abs(ranks - ends[below]) <= np.abs(ends[above] - ranks)
    cuts = np.unique(np.where(is_below, below, above))
    lows, highs = np.append(0, cuts + 1), np.append(cuts, present.size - 1)
    of_code = np.searchsorted(present[lows[1:]], np.arange(counts.size), side="right")
    limits = np.stack([present[lows], present[highs]], axis=1)
    sizes = np.diff(np.concatenate([[0], ends[cuts], [n_records]]))
    return BucketCut(of_code, limits, sizes)


def name_buckets(cut: BucketCut, spell: Callable[[int], str]) -> list[str]:
    """Text that each bucket is released as: "[low, high]", both values of the table.

    Its lowest and its highest value, which are often one person's, are left out: "[.., high]" and
    "[low, ..]".

    Parameters
    ----------
    spell : text of the value with a code, as the input spells it
    """
    texts = [[spell(int(low)), spell(int(high))] for low, high in cut.limits]
    texts[0][0] = texts[-1][1] = OPEN_END
    return [f"[{low}, {high}]" for low, high in texts]
