"""Scales of quasi-identifiers: what differences of their values are divided by.

The range is exact. Quartiles, standard deviation and ranks are those of a sample of at most
`SAMPLE_RECORDS` records, which is all records of a smaller table; position and seed alone decide
which ones, so they are the same however the input is cut.
"""

from dataclasses import dataclass, field
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Float64
from tclose.model.column_terms import Scale

SAMPLE_RECORDS = 65_536
TRIMMED_PARTS = 100  # one of them is left out at each end of a trimmed range
HEAVY_TAILS = 20  # a range of more trimmed ranges is one of outliers
# Spreads from the middle, from which on numbers are as far as that: squares of more would leave no
# digits for what others differ by.
FARTHEST = 10_000
MAX_KNOTS = 1_025  # of ranks; between them they are interpolated


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """Divisors of the keys of a quasi-identifier.

    ``spread``: the divisor, of std, iqr and trimmed; ``middle``: a key in the middle, less the
    smallest one, where an outlier is more than `FARTHEST` spreads away. ``knots`` float64 (m,),
    ascending, and ``ranks`` float64 (m,): of some keys, less the smallest one, the share of the
    records that are below, with half of those that are equal.
    """

    kind: Scale = Scale.RANGE
    spread: float = 0.0
    middle: float | None = None
    knots: Float64 = field(default_factory=lambda: np.empty(0))
    ranks: Float64 = field(default_factory=lambda: np.empty(0))

    def divide(self, offsets: NDArray[np.int64] | Float64, span: float) -> Float64:
        """Keys less the smallest one (n,), on the scale; ``span``: the range."""
        if self.kind is Scale.RANK:
            return np.interp(offsets.astype(np.float64), self.knots, self.ranks)
        spread = span if self.kind is Scale.RANGE else self.spread
        if self.middle is not None:
            return np.clip((offsets - self.middle) / spread, -FARTHEST, FARTHEST)
        return np.asarray(offsets / spread, dtype=np.float64)


RANGE_SCALE = ColumnScale()


def measure_scale(kind: Scale, offsets: Float64, span: float) -> ColumnScale:
    """The scale of a column; the range where the one that is asked for would divide by 0.

    Parameters
    ----------
    offsets : float64 (n,): sampled keys less the table's smallest, ascending
    span : the table's range
    """
    if kind is Scale.RANGE or not offsets.size or not span:
        return RANGE_SCALE
    if kind is Scale.RANK:
        return _rank(offsets, span)
    if kind is Scale.STD:
        spread = _deviation(offsets)
    else:
        spread = quantile_span(offsets, 4 if kind is Scale.IQR else TRIMMED_PARTS)
    if spread <= 0:
        return RANGE_SCALE
    farthest = FARTHEST * spread
    # only outliers count as nearer: quartiles can be nearly equal where a fifth of the keys are not
    is_far = span > farthest >= quantile_span(offsets, TRIMMED_PARTS)
    return ColumnScale(kind, spread, float(offsets[offsets.size // 2]) if is_far else None)


def choose_scale(offsets: Float64, span: float) -> ColumnScale:
    """The scale where the policy names none: the range, or the trimmed one if tails are heavy.

    Tails are heavy where the range is more than 20 times that of the records between the first and
    the last percentile, and these have more than one value. Parameters are those of
    `measure_scale`.
    """
    trimmed = measure_scale(Scale.TRIMMED, offsets, span)
    return trimmed if span > HEAVY_TAILS * trimmed.spread > 0 else RANGE_SCALE


def quantile_span(offsets: Float64, parts: int) -> float:
    """Return the span from the first to the last quantile that cuts sorted keys into ``parts``."""
    last = offsets.size - 1
    return float(offsets[last - last // parts] - offsets[last // parts])


def _deviation(offsets: Float64) -> float:
    """Return the standard deviation, of n, from exact sums: no library decides the last bit."""
    largest = float(offsets[-1]) or 1.0  # squares of shares of it stay finite
    shares = offsets / largest
    mean = fsum(shares.tolist()) / shares.size
    return largest * sqrt(fsum(((shares - mean) ** 2).tolist()) / shares.size)


def _rank(offsets: Float64, span: float) -> ColumnScale:
    values, counts = np.unique(offsets, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / offsets.size
    if values.size > MAX_KNOTS:
        picked = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], MAX_KNOTS)))
        values, ranks = values[picked], ranks[picked]
    below, above = values[:1] > 0, values[-1:] < span  # the ends that the sample has not
    return ColumnScale(
        Scale.RANK,
        knots=np.concatenate([np.zeros(1)[below], values, np.full(1, span)[above]]),
        ranks=np.concatenate([np.zeros(1)[below], ranks, np.ones(1)[above]]),
    )
