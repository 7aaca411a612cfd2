"""Counts of each value of one confidential attribute in each class, the input of the models.

Classes come record by record: ``starts`` int64 (c + 1,), ``codes`` int64 (n,). Only pairs of class
and value that occur are kept, so the size is at most that of the records, however many values the
table has.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tclose.errors import PolicyError
from tclose.model.array_types import Float64, Int64


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Records of each value in each class, classes in order, values ascending within a class.

    ``sizes`` int64 (c,): records of each class. ``starts`` int64 (c + 1,): where the pairs of each
    class begin. ``codes`` and ``counts`` int64 (p,): the value of each pair and how many records of
    the class have it, at least one.
    """

    sizes: Int64
    starts: Int64
    codes: Int64
    counts: Int64

    @property
    def n_classes(self) -> int:
        """Classes, empty ones among them."""
        return self.sizes.size

    @property
    def n_distinct(self) -> Int64:
        """Distinct values in each class: int64 (c,)."""
        return np.diff(self.starts)

    @property
    def class_of(self) -> Int64:
        """Class of each pair: int64 (p,)."""
        return np.repeat(np.arange(self.n_classes), self.n_distinct)

    def of_class(self, i: int) -> list[int]:
        """Counts of the values in one class, as unbounded integers."""
        return cast(list[int], self.counts[self.starts[i] : self.starts[i + 1]].tolist())

    def grouped(self, groups: Int64) -> "ClassCounts":
        """The counts of groups of values; ``groups`` int64 (m,): the group of each value."""
        return self.regrouped(groups[self.codes])

    def regrouped(self, groups: Int64) -> "ClassCounts":
        """The counts of groups of values; ``groups`` int64 (p,): the group of each pair's value."""
        return _from_pairs(self.sizes, self.class_of, groups, self.counts)


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """Each class's measure under one model, on the scale of its limit, and whether it meets that.

    ``values`` float64 (c,) are for reading; ``meets`` bool (c,) was decided without rounding.
    """

    values: Float64
    meets: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Refuse what is not of each class: one that was not measured would seem to meet the limit.

        Raises
        ------
        ValueError
            The arrays are of other shapes or types, or a measure is NaN.
        """
        are_alike = self.values.shape == self.meets.shape == (self.values.size,)
        if not are_alike or self.meets.dtype != np.bool_ or np.isnan(self.values).any():
            raise ValueError("measures need a number and a truth for each class")

    @property
    def n_failing(self) -> int:
        """Classes that do not meet the limit."""
        return int(np.count_nonzero(~self.meets))


def count_by_class(starts: Int64, codes: Int64) -> ClassCounts:
    """Count the values of each class.

    Parameters
    ----------
    starts : int64 (c + 1,): where each class begins in ``codes``, and where the last one ends
    codes : int64 (n,): positions among the distinct values of the table
    """
    sizes = np.diff(starts)
    members = codes[starts[0] : starts[-1]]
    class_of = np.repeat(np.arange(sizes.size), sizes)
    return _from_pairs(sizes, class_of, members, np.ones(members.size, dtype=np.int64))


def _from_pairs(sizes: Int64, class_of: Int64, codes: Int64, counts: Int64) -> ClassCounts:
    """Counts from pairs in which the same may come more than once; classes are ascending."""
    if not _are_ascending(class_of, codes):
        order = np.lexsort((codes, class_of))
        class_of, codes, counts = class_of[order], codes[order], counts[order]
    changes = np.diff(class_of, prepend=-1) != 0
    changes |= np.diff(codes, prepend=-1) != 0
    first = np.flatnonzero(changes)
    sums = np.add.reduceat(counts, first) if first.size else counts
    n_pairs = np.bincount(class_of[first], minlength=sizes.size)
    starts = np.concatenate([[0], np.cumsum(n_pairs)]).astype(np.int64)
    return ClassCounts(sizes, starts, codes[first], sums)


def _are_ascending(class_of: Int64, codes: Int64) -> bool:
    """Return whether pairs are in order, as those of a release's rows are: sorting costs more."""
    same_class = class_of[1:] == class_of[:-1]
    return not np.any(same_class & (codes[1:] < codes[:-1]))


def group_table(table: Int64, groups: Int64) -> Int64:
    """Records of each group of values in the table: int64 (groups,).

    Parameters
    ----------
    table : int64 (m,): records of each value
    groups : int64 (m,): the group of each value, from 0
    """
    sums = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.add.at(sums, groups, table)
    return sums


def require_limit(name: str, limit: Fraction | int, least: int, strictly: bool = False) -> None:
    """Refuse a limit under which a model has no meaning.

    Raises
    ------
    PolicyError : if it is below ``least``, or equal to it where it has to be above (``strictly``)
    """
    if limit < least or (strictly and limit == least):
        bound = "more than" if strictly else "at least"
        raise PolicyError(f"{name} must be {bound} {least}, not {limit}")
