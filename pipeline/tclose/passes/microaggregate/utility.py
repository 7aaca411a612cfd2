"""Measures of a release's utility for analysis, in addition to its squared error.

Numeric attributes are compared through `ValueComparison`, which is computed by parts and merged, so
that a large table is never held as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.kernels.aggregate import sum_products
from tclose.model.array_types import Float64, Int64

# Squares of values beyond 1e154 are infinite, and what is made of them NaN: nothing to warn of.
quiet = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class Moments:
    """First and second moments of d attributes over some records; those of two parts merge.

    ``means`` float64 (d,); ``products`` float64 (d, d): sums over the records of the products of
    deviations from ``means``. Sums are of deviations, not of the values, so that values which are
    large compared with their spread lose nothing; what two parts differ by in their means is made
    up for in `merge` (Chan, Golub and LeVeque, *Updating formulae and a pairwise algorithm for
    computing sample variances*, 1979).
    """

    n_records: int
    means: Float64
    products: Float64

    @quiet
    def merge(self, other: "Moments") -> "Moments":
        """The moments of the records of both."""
        n_records = self.n_records + other.n_records
        if not other.n_records or not self.n_records:
            return self if self.n_records else other
        shift = other.means - self.means
        share = other.n_records / n_records
        between = np.outer(shift, shift) * (self.n_records * share)
        return Moments(
            n_records, self.means + shift * share, self.products + other.products + between
        )

    def first(self, n_attributes: int) -> "Moments":
        """The moments of the first attributes alone."""
        products = self.products[:n_attributes, :n_attributes]
        return Moments(self.n_records, self.means[:n_attributes], products)

    @property
    def variances(self) -> Float64:
        """Sample variances, of n - 1: float64 (d,); NaN with fewer than two records."""
        if self.n_records < 2:
            return np.full(self.means.size, np.nan)
        variances: Float64 = np.diagonal(self.products) / (self.n_records - 1)
        return variances

    @property
    @quiet
    def correlations(self) -> Float64:
        """Pearson's correlations: float64 (d, d); NaN with an attribute of one value."""
        spread = np.sqrt(np.diagonal(self.products))
        scale = np.outer(spread, spread)
        correlations = np.full(scale.shape, np.nan)
        np.divide(self.products, scale, out=correlations, where=scale > 0)
        return correlations


@dataclass(frozen=True, eq=False)
class ValueComparison:
    """Numeric attributes of some records compared with what was released for them; parts merge.

    ``differences`` float64 (d,): sums over the records of absolute differences.
    """

    original: Moments
    released: Moments
    differences: Float64

    def first(self, n_attributes: int) -> "ValueComparison":
        """The comparison of the first attributes alone."""
        return ValueComparison(
            self.original.first(n_attributes),
            self.released.first(n_attributes),
            self.differences[:n_attributes],
        )

    def merge(self, other: "ValueComparison") -> "ValueComparison":
        """The comparison of the records of both."""
        return ValueComparison(
            self.original.merge(other.original),
            self.released.merge(other.released),
            self.differences + other.differences,
        )


@dataclass(frozen=True, eq=False)
class Changes:
    """Differences of released attributes from the original ones.

    ``means`` float64 (d,): difference of the means in standard deviations of the original.
    ``variances`` float64 (d,): relative, so -0.1 is a tenth lost. ``correlations`` float64 (d, d):
    differences. NaN where the original has one value, or for correlations where the release has.
    """

    means: Float64
    variances: Float64
    correlations: Float64


@quiet
def compare_records(original: Float64, released: Float64) -> ValueComparison:
    """Compare records with their released values; both float64 (d, n), in the same order."""
    return ValueComparison(
        measure_moments(original),
        measure_moments(released),
        np.abs(original - released).sum(axis=1),
    )


@quiet
def measure_moments(values: Float64) -> Moments:
    """Moments of the attributes of some records, float64 (d, n)."""
    n_attributes, n_records = values.shape
    if not n_records:
        return Moments(0, np.zeros(n_attributes), np.zeros((n_attributes, n_attributes)))
    means: Float64 = values.mean(axis=1)
    deviations = values - means[:, np.newaxis]
    # Of values far from zero the mean is rounded, and all deviations are too large by as much.
    deviations -= deviations.mean(axis=1)[:, np.newaxis]
    # The mean of equal values may miss them by a rounding, which would look like a spread.
    constant = values.min(axis=1) == values.max(axis=1)
    means[constant] = values[constant, 0]
    deviations[constant] = 0.0
    return Moments(n_records, means, sum_products(deviations))


@quiet
def measure_changes(comparison: ValueComparison) -> Changes:
    """Changes in means, variances and correlations from the original to the released values."""
    original, released = comparison.original, comparison.released
    variances = np.where(original.variances > 0, original.variances, np.nan)
    return Changes(
        (released.means - original.means) / np.sqrt(variances),
        released.variances / variances - 1,
        released.correlations - original.correlations,
    )


@quiet
def measure_il1s(comparison: ValueComparison) -> float:
    """IL1s: mean over all values of |x - x'| / (sqrt(2) * standard deviation of x).

    Mateo-Sanz, Sebe and Domingo-Ferrer, *Outlier protection in continuous microdata masking*
    (2004). The papers at hand do not use it. An attribute with one original value adds nothing
    where it is unchanged, and makes the loss infinite where it is not. NaN with fewer than two
    records or without attributes.
    """
    n_records = comparison.original.n_records
    if n_records < 2 or not comparison.differences.size:
        return float("nan")
    scale = np.sqrt(2 * comparison.original.variances)
    losses = np.where(comparison.differences == 0, 0.0, np.inf)
    np.divide(comparison.differences, scale, out=losses, where=scale != 0)
    return float(losses.mean()) / n_records


def measure_discernibility(size_counts: Int64) -> int:
    """Sum over the records of the size of their class.

    Li et al. 2007, section 6, after Bayardo and Agrawal: the sum of the squared sizes of the
    classes.

    Parameters
    ----------
    size_counts : int64 (2, s): class sizes and how many classes have each, as in `ClassChecks`
    """
    return sum(size * size * count for size, count in _as_pairs(size_counts))


def _as_pairs(size_counts: Int64) -> Sequence[tuple[int, int]]:
    """Sizes and counts as integers without a bound: squares of sizes may pass 64 bits."""
    return list(zip(*size_counts.tolist(), strict=True))
