"""Columns of which measured changes would tell a single record's value, and are not handed out.

A change of a correlation follows from the originals. Where one record has most of a column's
squared deviations from the mean, it follows from that record: the correlation of an outlying
turnover with an income is the income of whose turnover it is, in deviations, over the root of n. So
the dominance rule of official statistics is kept (Hundepool et al., *Statistical Disclosure
Control*, 2012, on magnitude tables), on squares. Of columns with noise no change is handed out:
epsilon bounds what the release says of their values, and not what a figure of the originals does.
"""

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np

from tclose.model.array_types import Float64
from tclose.model.attributes import Column
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.utility import Moments, quiet
from tclose.passes.plan.plan import Plan

# Of a column's squared deviations, that one record may have: of 1,000 normal values the farthest
# has a hundredth.
MOST_OF_SQUARES = 0.05
# Of a correlation, that one record may make up: what the change of one is rounded to.
MOST_OF_CORRELATION = 0.01

# A column by itself, or two of which the correlation is meant.
Columns = frozenset[str]


def find_untold(
    plan: Plan, columns: Sequence[Column], original: Moments, distributions: Sequence[Distribution]
) -> Collection[Columns]:
    """Name the columns with noise, and those of which one record has too much; and pairs of others.

    Parameters
    ----------
    columns : those that are compared, as in ``original``
    distributions : of the confidential attributes
    """
    ends = {e.column.name: (e.low, e.high) for e in plan.encodings}
    for encoding, distribution in zip(plan.confidential, distributions, strict=True):
        ends[encoding.column.name] = tuple(distribution.values[[0, -1]].tolist())
    names = [column.name for column in columns]
    noised = [name for name in names if name not in ends]
    largest = measure_shares(original, [ends.get(name, (np.nan, np.nan)) for name in names])
    shares = dict(zip(names, largest.tolist(), strict=True))
    alone = [name for name in names if not shares[name] <= MOST_OF_SQUARES]
    pairs = [
        (one, other)
        for one, other in combinations(names, 2)
        if not shares[one] * shares[other] <= MOST_OF_CORRELATION**2  # Cauchy and Schwarz
    ]
    return {frozenset([name]) for name in (*alone, *noised)} | set(map(frozenset, pairs))


@quiet
def measure_shares(original: Moments, ends: Sequence[tuple[float, float]]) -> Float64:
    """The share of each column's squares that a record at an end has: float64 (d,).

    0 in a column without a spread; NaN where ends or squares are not known, as of records that
    have no column whole, or squares are beyond floats.
    """
    apart = np.abs(np.array(ends, dtype=np.float64).reshape(-1, 2) - original.means[:, None])
    farthest: Float64 = apart.max(axis=1) ** 2
    squares = np.diagonal(original.products)
    shares = np.full(squares.size, np.nan)
    np.divide(farthest, squares, out=shares, where=np.isfinite(squares) & (squares > 0))
    shares[(squares == 0) & (farthest == 0)] = 0.0
    return shares
