"""Ratio closeness and what it says in terms of differential privacy.

Domingo-Ferrer and Soria-Comas 2015.

The distance of two distributions is the largest ratio, either way, of the probabilities that they
give to the same value (Definition 4, Proposition 2): at least 1, and infinite where one has a value
that the other has not. Rare values make it infinite, so values are put into buckets first (section
6): `ClassCounts.grouped` for classes, `group_table` for the table.
"""

from fractions import Fraction
from math import inf, log1p

import numpy as np

from tclose.errors import DataError
from tclose.model.array_types import Float64, Int64
from tclose.privacy.class_counts import ClassCounts, ClassMeasures, require_limit

# Of a float ratio, relative: three divisions, and the limit's own rounding.
RATIO_ERROR = 8 * np.finfo(np.float64).eps

# Proposition 3 holds under these alone; a report that states an epsilon states them with it.
ASSUMPTIONS = (
    """Before the release, all that an observer knows of a person's confidential value is its \
distribution in the whole table, which counts as public.""",
    """After the release, all that the observer knows of it is its distribution in the person's \
class; an observer who knows the values of other persons in that class is not covered.""",
    """Epsilon compares tables of the same distribution that all meet the same limit; how the \
classes were chosen is not covered, so this is not differential privacy of the procedure.""",
    """Epsilon is about the confidential attribute as it was bucketed, so values inside a bucket \
must not be released; several attributes are covered together only if their combination is.""",
    """Quasi-identifiers have no more protection than k-anonymity gives them, and whether a person \
is in the table at all may be seen from them.""",
)


def check_ratio(counts: ClassCounts, table: Int64, limit: Fraction | int) -> ClassMeasures:
    """Ratio closeness: distance of each class to the table at most t = ``limit``.

    Domingo-Ferrer and Soria-Comas 2015, Definition 4 and equation (4) of Proposition 2; "no more
    than t" as in Definition 1. Monotone: the probability of a value in a union lies between those
    in its parts, so the distance of a union is at most the larger of its parts'.

    Parameters
    ----------
    counts : of buckets in classes
    table : int64 (b,): records of each bucket in the whole table

    Raises
    ------
    PolicyError : if ``limit`` is below 1, the distance of equal distributions
    DataError : if a class has more records of a bucket than the table
    """
    require_limit("t of ratio closeness", limit, 1)
    ratios = np.maximum(raising_factors(counts, table), _lowering_factors(counts, table))
    meets = ratios <= float(limit)
    near = np.abs(ratios - float(limit)) <= RATIO_ERROR * float(limit)
    for i in np.flatnonzero(near).tolist():
        meets[i] = exact_ratio(counts, table, i) <= limit
    return ClassMeasures(ratios, meets)


def raising_factors(counts: ClassCounts, table: Int64) -> Float64:
    """Most by which each class raises the probability of a value: float64 (c,); 0 if it is empty.

    Parameters
    ----------
    table : int64 (m,): records of each value in the whole table

    Raises
    ------
    DataError : if a class has more records of a value than the table
    """
    if np.any(counts.counts > table[counts.codes]):
        raise DataError("a class has more records of a value than the table: count the whole table")
    return _largest_by_class(counts, 1 / _lowered(counts, table))


def _lowering_factors(counts: ClassCounts, table: Int64) -> Float64:
    """Most by which each class lowers the probability of a value; infinite where one is missing."""
    factors = _largest_by_class(counts, _lowered(counts, table))
    factors[counts.n_distinct < np.count_nonzero(table)] = inf
    return factors


def _lowered(counts: ClassCounts, table: Int64) -> Float64:
    """Probability in the table over that in the class, of each pair: float64 (p,)."""
    in_class = counts.counts / counts.sizes[counts.class_of]
    in_table = table[counts.codes] / int(table.sum())
    lowered: Float64 = in_table / in_class
    return lowered


def _largest_by_class(counts: ClassCounts, of_pairs: Float64) -> Float64:
    largest = np.zeros(counts.n_classes)
    np.maximum.at(largest, counts.class_of, of_pairs)
    return largest


def exact_ratios(counts: ClassCounts, table: Int64, i: int) -> list[Fraction]:
    """Probability in class ``i`` over that in the table, of each value that the class has."""
    size, n_records = int(counts.sizes[i]), int(table.sum())
    codes = counts.codes[counts.starts[i] : counts.starts[i + 1]]
    in_table = table[codes].tolist()
    pairs = zip(counts.of_class(i), in_table, strict=True)
    return [Fraction(count * n_records, size * total) for count, total in pairs]


def exact_ratio(counts: ClassCounts, table: Int64, i: int) -> Fraction | float:
    """Distance of class ``i`` to the table as a rational number; infinite where a value lacks."""
    ratios = exact_ratios(counts, table, i)
    if len(ratios) < np.count_nonzero(table):
        return inf
    return max(*ratios, 1 / min(ratios))


def epsilon_of_ratio(ratio: Fraction | int) -> float:
    """Epsilon of the differential privacy that a ratio distance gives *under its assumptions*.

    Domingo-Ferrer and Soria-Comas 2015, Proposition 3: exp(epsilon / 2)-closeness gives epsilon, so
    epsilon = 2 log t. It holds for the view on one person's confidential value, and only where
    `ASSUMPTIONS` do: the prior view of an observer is the table's distribution, the posterior view
    that of the class. The number is rounded up.

    Raises
    ------
    PolicyError : if ``ratio`` is below 1
    """
    require_limit("t of ratio closeness", ratio, 1)
    return 2 * log1p(float(ratio - 1)) * (1 + RATIO_ERROR)
