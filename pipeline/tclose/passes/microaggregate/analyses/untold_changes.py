"""Columns of which measured changes would tell a single record's value, and are not handed out.

A change of a correlation follows from the originals. Where one record has most of a column's
squared deviations from the mean, it follows from that record: the correlation of an outlying
turnover with an income is the income of whose turnover it is, in deviations, over the root of n. So
the dominance rule of official statistics is kept (Hundepool et al., *Statistical Disclosure
Control*, 2012, on magnitude tables), on squares. Of columns with noise no change is handed out:
epsilon bounds what the release says of their values, and not what a figure of the originals does.
"""

from collections.abc import Sequence

import numpy as np

from tclose.model.attributes import Column
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.utility import Moments, quiet
from tclose.passes.plan.plan import Plan

# Of the squared deviations, that one record may have: of 1,000 normal values the farthest has a
# hundredth. What 5 % tell is lost in what the places of all other records in their classes do.
MOST_OF_SQUARES = 0.05


def find_untold(
    plan: Plan, columns: Sequence[Column], original: Moments, distributions: Sequence[Distribution]
) -> frozenset[str]:
    """Name the columns with noise, and those of which one record has too much.

    Parameters
    ----------
    columns : those that are compared, as in ``original``
    distributions : of the confidential attributes
    """
    ends = {e.column.name: (e.low, e.high) for e in plan.encodings}
    for encoding, distribution in zip(plan.confidential, distributions, strict=True):
        ends[encoding.column.name] = tuple(distribution.values[[0, -1]].tolist())
    return frozenset(
        name
        for place, name in enumerate(column.name for column in columns)
        if name not in ends or is_dominated(original, place, ends[name])
    )


@quiet
def is_dominated(original: Moments, place: int, ends: tuple[float, float]) -> bool:
    """Return whether a record at an end has more of the squares than one may.

    It has not in a column without a spread, and may have where the squares are beyond floats.
    """
    farthest = np.abs(np.array(ends, dtype=np.float64) - original.means[place]).max()
    squares = original.products[place, place]
    is_within = farthest * farthest <= MOST_OF_SQUARES * squares and np.isfinite(squares)
    return bool(squares != 0 and not is_within)
