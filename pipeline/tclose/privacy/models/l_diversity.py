"""l-diversity and p-sensitivity of classes, decided without rounding.

Definitions: Li et al. 2007, section 2, after Machanavajjhala et al. *l-Diversity: Privacy Beyond
k-Anonymity*. All models here are monotone under merging: where two classes meet a limit, so does
their union, so merging never undoes what holds and a table that has it as a whole can reach it.
A class without records meets none.
"""

from collections import Counter
from fractions import Fraction
from math import gcd

import numpy as np

from tclose.model.array_types import Float64, Int64
from tclose.privacy.class_counts import ClassCounts, ClassMeasures, require_limit

# Of a float entropy, per value of a class: its terms are at most one, a sum at most log n.
ERROR_PER_VALUE = 8 * np.finfo(np.float64).eps


def check_distinct(counts: ClassCounts, least: int) -> ClassMeasures:
    """Distinct l-diversity: at least l = ``least`` values in each class.

    Li et al. 2007, section 2, item 1.

    The measure is the number of distinct values. Monotone: a union has every value of its parts.

    Raises
    ------
    PolicyError : if ``least`` is below 1
    """
    require_limit("l of distinct l-diversity", least, 1)
    return ClassMeasures(counts.n_distinct.astype(np.float64), counts.n_distinct >= least)


def check_sensitivity(counts: ClassCounts, least_size: int, least_values: int) -> ClassMeasures:
    """p-Sensitive k-anonymity: classes of k = ``least_size`` records with p = ``least_values``.

    Truta and Vinay, *Privacy protection: p-sensitive k-anonymity property* (2006): k-anonymity, and
    at least p distinct values of each confidential attribute in each class. Domingo-Ferrer and
    Soria-Comas 2015, section 2.2, and Soria-Comas et al. 2015, section 2.2, name it without
    defining it. The measure is the number of distinct values. Monotone, since size and distinct
    values are.

    Raises
    ------
    PolicyError : if k or p is below 1, or p above k: a class of k records has no more values
    """
    require_limit("p of p-sensitive k-anonymity", least_values, 1)
    require_limit("k of p-sensitive k-anonymity, as large as p,", least_size, least_values)
    meets = (counts.n_distinct >= least_values) & (counts.sizes >= least_size)
    return ClassMeasures(counts.n_distinct.astype(np.float64), meets)


def check_entropy(counts: ClassCounts, limit: Fraction | int) -> ClassMeasures:
    """Entropy l-diversity: Entropy(E) >= log l, l = ``limit`` (Li et al. 2007, section 2, item 2).

    The measure is exp(Entropy(E)), the number of equally frequent values that would have the same
    entropy; 0 for an empty class. Monotone: entropy is concave, so that of a union is at least the
    weighted mean of its parts'.

    Raises
    ------
    PolicyError : if ``limit`` is below 1
    """
    require_limit("l of entropy l-diversity", limit, 1)
    entropies = class_entropies(counts)
    least = float(np.log(float(limit)))
    margin = ERROR_PER_VALUE * (counts.n_distinct + 8) * (1 + np.log(np.maximum(counts.sizes, 1)))
    margin += ERROR_PER_VALUE * (1 + least)
    meets = entropies >= least
    for i in np.flatnonzero(np.abs(entropies - least) <= margin).tolist():
        meets[i] = reaches_entropy(counts.of_class(i), Fraction(limit))
    is_empty = counts.sizes == 0
    return ClassMeasures(np.where(is_empty, 0.0, np.exp(entropies)), meets & ~is_empty)


def class_entropies(counts: ClassCounts) -> Float64:
    """Entropy of each class in nats: float64 (c,); 0 for an empty class."""
    shares = counts.counts / counts.sizes[counts.class_of]
    terms = -shares * np.log(shares)
    entropies = np.zeros(counts.n_classes)
    np.add.at(entropies, counts.class_of, terms)
    return entropies


def reaches_entropy(counts: list[int], limit: Fraction) -> bool:
    """Return whether a class with these counts has at least entropy log ``limit``, in integers.

    With n the sum of the counts n_i and l = a/b: prod n_i^n_i * a^n <= n^n * b^n. The exponents are
    divided by their common divisor, so equal counts cost nothing; otherwise the numbers have about
    n log2 n bits, and a class of a million records takes seconds: for decisions at the limit alone.
    """
    size, divisor = sum(counts), gcd(*counts)
    if not size:
        return False
    product = 1
    for value, times in Counter(counts).items():
        product *= value ** (value // divisor * times)
    exponent = size // divisor
    return bool(product * limit.numerator**exponent <= (size * limit.denominator) ** exponent)


def check_recursive(counts: ClassCounts, factor: Fraction | int, rank: int) -> ClassMeasures:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m) (Li et al. 2007, section 2, item 3).

    c = ``factor``, l = ``rank``, r_i the records of the i-th most frequent value of the class. The
    measure is r_1 / (r_l + ... + r_m), which has to be below c; infinite where a class has fewer
    than l values. Monotone: r_1 of a union is at most the sum of its parts', its rest at least.

    Raises
    ------
    PolicyError : if l is below 1 or c not above 0
    """
    require_limit("c of recursive (c, l)-diversity", factor, 0, strictly=True)
    require_limit("l of recursive (c, l)-diversity", rank, 1)
    most, rest = _most_and_rest(counts, rank)
    ratios = np.full(counts.n_classes, np.inf)
    np.divide(most, rest, out=ratios, where=rest > 0)
    c = Fraction(factor)
    # As objects: integers without a bound, since c may have any denominator.
    left, right = most.astype(object) * c.denominator, rest.astype(object) * c.numerator
    return ClassMeasures(ratios, (left < right).astype(np.bool_))


def _most_and_rest(counts: ClassCounts, rank: int) -> tuple[Int64, Int64]:
    """Records of the most frequent value of each class, and of those from the ``rank``-th on."""
    class_of = counts.class_of
    descending = counts.counts[np.lexsort((-counts.counts, class_of))]
    ranks = np.arange(class_of.size) - counts.starts[class_of]
    most = np.zeros(counts.n_classes, dtype=np.int64)
    most[class_of[ranks == 0]] = descending[ranks == 0]
    rest = np.zeros(counts.n_classes, dtype=np.int64)
    np.add.at(rest, class_of[ranks >= rank - 1], descending[ranks >= rank - 1])
    return most, rest
