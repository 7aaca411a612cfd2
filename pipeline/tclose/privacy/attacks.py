"""Attribute disclosure: confidential values that an observer learns from the released classes.

Homogeneity (Li et al. 2007, section 2, Example 1), skewness (section 3) and similarity (sections 3
and 6). Results of ranges of classes merge. Linkage of records to persons is in `linkage`.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Int64
from tclose.privacy.class_counts import ClassCounts, require_limit
from tclose.privacy.models.ratio_closeness import RATIO_ERROR, exact_ratios, raising_factors


@dataclass(frozen=True)
class Exposure:
    """Records and classes that an attack succeeds on, and all there are."""

    exposed_records: int
    exposed_classes: int
    n_records: int
    n_classes: int

    def merge(self, other: "Exposure") -> "Exposure":
        """The exposure of both ranges."""
        return Exposure(
            self.exposed_records + other.exposed_records,
            self.exposed_classes + other.exposed_classes,
            self.n_records + other.n_records,
            self.n_classes + other.n_classes,
        )


@dataclass(frozen=True)
class Skewness:
    """The factors by which classes raise the probability of some value over that in the table.

    ``exposure``: of classes that raise one by more than the factor asked for. ``largest``: factor
    of any class; ``total``: sum over the records of the largest factor of their class.
    """

    exposure: Exposure
    largest: float
    total: float

    @property
    def mean(self) -> float:
        """Mean over the records of the largest factor of their class; NaN without records."""
        return self.total / self.exposure.n_records if self.exposure.n_records else float("nan")

    def merge(self, other: "Skewness") -> "Skewness":
        """The skewness of both ranges."""
        return Skewness(
            self.exposure.merge(other.exposure),
            float(np.maximum(self.largest, other.largest)),
            self.total + other.total,
        )


def measure_homogeneity(counts: ClassCounts) -> Exposure:
    """Records in classes with one confidential value: who is in one is known to have it.

    Li et al. 2007, section 2, Example 1. Of `ClassCounts.grouped` counts it measures similarity:
    records in classes whose values all lie in one group (section 3, Example 3, and section 6).
    Merging classes never exposes more records or classes.
    """
    return _exposure(counts, counts.n_distinct == 1)


def measure_skewness(counts: ClassCounts, table: Int64, factor: Fraction | int) -> Skewness:
    """Factors by which classes raise the probability of a value over that in the table.

    Li et al. 2007, section 3, Skewness Attack: a class with 49 positives of 50 raises 1 % to 98 %.
    For groups of values give `ClassCounts.grouped` and `group_table`. Merging classes never raises
    the largest factor, the total or the number of exposed classes; that of exposed records it may,
    since the union of a small exposed class and a large one may be exposed.

    Parameters
    ----------
    table : int64 (m,): records of each value in the whole table
    factor : classes that raise a value by more are exposed; decided without rounding

    Raises
    ------
    PolicyError : if ``factor`` is below 1, which every class reaches
    DataError : if a class has more records of a value than the table
    """
    require_limit("the factor of skewness", factor, 1)
    factors = raising_factors(counts, table)
    exposed = factors > float(factor)
    near = np.abs(factors - float(factor)) <= RATIO_ERROR * float(factor)
    for i in np.flatnonzero(near).tolist():
        exposed[i] = max(exact_ratios(counts, table, i)) > factor
    return Skewness(
        _exposure(counts, exposed),
        float(factors.max(initial=0.0)),
        float(factors @ counts.sizes),
    )


def _exposure(counts: ClassCounts, exposed: NDArray[np.bool_]) -> Exposure:
    return Exposure(
        int(counts.sizes[exposed].sum()),
        int(np.count_nonzero(exposed)),
        int(counts.sizes.sum()),
        counts.n_classes,
    )
