"""The ratio distance of classes to the table, exactly (papers/001, Definition 4, Proposition 2)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pipeline.errors import DataError, PolicyError
from pipeline.model import Int64


@dataclass(frozen=True)
class RatioCheck:
    """Ratio distances of all classes to the table.

    ``largest``: the largest of them, None where a class lacks a value of the table, which is an
    infinite ratio; ``largest_present``: the largest over the values that a class does have;
    ``n_above``: classes above t; ``n_lacking``: those that lack a value.
    """

    largest: Fraction | None
    largest_present: Fraction
    n_classes: int
    n_above: int
    n_lacking: int


def check_ratio(labels: Int64, codes: Int64, totals: Int64, t: Fraction) -> RatioCheck:
    """Compare each class's shares with the table's: 001, Proposition 2, in integers throughout.

    With buckets for ``codes`` this verifies t-closeness; with the values' own codes it says what
    releasing the values as they are costs: within a bucket the values tell more, and a value
    with fewer records than there are classes has an infinite ratio (section 6).

    Parameters
    ----------
    labels : int64 (n,): class of each record
    codes : int64 (n,): bucket or value of each record
    totals : int64 (m,): records of each bucket or value in the whole table
    t : the limit, at least 1

    Raises
    ------
    DataError
        No records, or a record's code is not one of the table's.
    """
    check_t(t)
    n_records = int(totals.sum())
    if not labels.size or codes.min() < 0 or codes.max() >= totals.size:
        raise DataError("ratio distance: records without a value of the table; check the codes")
    if np.any(totals[codes] == 0):
        raise DataError("ratio distance: the table's counts lack a value that a class has")
    _, classes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    pairs, counts = np.unique(classes * totals.size + codes, return_counts=True)
    class_of, code_of = np.divmod(pairs, totals.size)
    ratios, which = _distinct_ratios(counts, sizes[class_of], totals[code_of], n_records)
    lacking = np.bincount(class_of, minlength=sizes.size) < np.count_nonzero(totals)
    above = lacking.copy()
    above[class_of[np.array([ratio > t for ratio in ratios])[which]]] = True
    largest = max(ratios)
    n_lacking = int(np.count_nonzero(lacking))
    return RatioCheck(
        None if n_lacking else largest,
        largest,
        int(sizes.size),
        int(np.count_nonzero(above)),
        n_lacking,
    )


def _distinct_ratios(
    counts: Int64, sizes: Int64, totals: Int64, n_records: int
) -> tuple[list[Fraction], Int64]:
    """The larger of share in class / share in table and its inverse, once per distinct triple."""
    triples, which = np.unique(np.array([counts, sizes, totals]), axis=1, return_inverse=True)
    found = []
    for count, size, total in triples.T.tolist():
        share = Fraction(count * n_records, size * total)
        found.append(max(share, 1 / share))
    return found, which.reshape(-1)


def check_t(t: Fraction) -> None:
    """Refuse a t below 1: no ratio either way is smaller."""
    if t < 1:
        raise PolicyError(f"t is {t}, but a ratio is never below 1: give a t of 1 or more")
