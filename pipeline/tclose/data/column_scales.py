"""Scales of quasi-identifiers: what differences of their values are divided by.

Losses are told in shares of what a release with one class loses: a number that fills its range
loses a twelfth of its square, a category of many nearly 1, so that a search would give numbers up.

The range is exact. Quartiles, standard deviation, losses of numbers and ranks are those of a sample
of at most `SAMPLE_RECORDS` records, which is all records of a smaller table; position and seed
alone decide which ones, so they are the same however the input is cut.
"""

from dataclasses import dataclass, field
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Float64, Int64
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


@dataclass(frozen=True)
class TableLoss:
    """Means over the records of a table with one class, of which losses are shares.

    ``on_scale``, as a search counts: squared differences on the scale of a number, of which
    outliers count as the ends of a trimmed one, else those alone would decide what all others
    count; of categories half of the mean distance of two records. ``by_range``, as a release loses:
    by the range, of all values; of categories those that are not released.
    """

    on_scale: float
    by_range: float


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


def lose_numbers(by: ColumnScale, offsets: Float64, span: float) -> TableLoss | None:
    """The loss of numbers, dates and ranks; None where all that are sampled are equal.

    Parameters
    ----------
    offsets : float64 (n,): sampled keys less the table's smallest, ascending
    span : the table's range
    """
    if not offsets.size or offsets[0] == offsets[-1]:
        return None
    # The ends of the range are records of the table, whether or not they were sampled.
    by_range = max(_variance(offsets / span), 0.5 / offsets.size)
    if by.kind is Scale.RANGE:
        return TableLoss(by_range, by_range)
    scaled = by.divide(offsets, span)
    if by.kind is Scale.TRIMMED:
        n_left_out = offsets.size // TRIMMED_PARTS
        scaled = np.clip(scaled, scaled[n_left_out], scaled[-1 - n_left_out])
    return TableLoss(_variance(scaled), by_range)


def lose_categories(levels: NDArray[np.int32], counts: Int64) -> TableLoss | None:
    """The loss of categories that release the mode, of levels the mean; None of a column with one.

    Parameters
    ----------
    levels : int32 (H, categories): codes at each level, -1 of none
    counts : int64 (categories,): records of each
    """
    if np.count_nonzero(counts) < 2:
        return None
    of_levels = [np.bincount(codes + 1, counts).astype(np.int64).tolist() for codes in levels]
    total, n_levels = int(counts.sum()), len(of_levels)
    n_alike = sum(n * n for of_nodes in of_levels for n in of_nodes)  # pairs, on all levels
    n_kept = sum(map(max, of_levels))
    return TableLoss((1 - n_alike / (n_levels * total**2)) / 2, 1 - n_kept / (n_levels * total))


def quantile_span(offsets: Float64, parts: int) -> float:
    """Return the span from the first to the last quantile that cuts sorted keys into ``parts``."""
    last = offsets.size - 1
    return float(offsets[last - last // parts] - offsets[last // parts])


def _deviation(offsets: Float64) -> float:
    """Return the standard deviation, of n."""
    largest = float(offsets[-1]) or 1.0  # squares of shares of it stay finite
    return largest * sqrt(_variance(offsets / largest))


def _variance(values: Float64) -> float:
    """The variance, of n, from exact sums: no library decides the last bit."""
    mean = fsum(values.tolist()) / values.size
    return fsum(((values - mean) ** 2).tolist()) / values.size


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
