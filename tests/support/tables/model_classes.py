"""Classes as the privacy models take them, drawn at random or taken from the papers' tables."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    starts_of,
)
from tclose.model.array_types import Int64
from tclose.privacy.class_counts import ClassCounts, count_by_class


@dataclass(frozen=True, eq=False)
class Classes:
    """A table class by class: its codes, where classes begin, and records of each value."""

    starts: Int64
    codes: Int64
    table: Int64

    @property
    def counts(self) -> ClassCounts:
        """Counts of values in classes, as the models take them."""
        return count_by_class(self.starts, self.codes)

    @property
    def members(self) -> list[list[int]]:
        """Codes of each class."""
        return [self.codes[a:b].tolist() for a, b in pairwise(self.starts)]

    def merged(self, i: int) -> "Classes":
        """The same table with classes i and i + 1 as one."""
        return Classes(np.delete(self.starts, i + 1), self.codes, self.table)


def classes_of(*members: Sequence[Hashable]) -> Classes:
    """A table of these classes, each given by its values."""
    values = [value for of_class in members for value in of_class]
    distribution, codes = distribution_of(values)
    return Classes(starts_of([len(m) for m in members]), codes, distribution.counts)


@st.composite
def classified(draw: st.DrawFn) -> Classes:
    """Tables of up to 60 records in up to nine classes; of few values, of many, or one rules."""
    values = draw(confidential_values)
    distribution, codes = distribution_of(values)
    return Classes(starts_of(draw(class_sizes(len(values)))), codes, distribution.counts)


# Li et al. 2007, Tables 2, 4 and 5: confidential values by class.
TABLE_2 = classes_of(
    ["heart disease"] * 3,
    ["flu", "heart disease", "cancer"],
    ["heart disease", "cancer", "cancer"],
)
SALARIES_4 = classes_of([3, 4, 5], [6, 11, 8], [7, 9, 10])
SALARIES_5 = classes_of([3, 5, 9], [6, 11, 8], [4, 7, 10])
DISEASES = ("bronchitis", "flu", "gastric ulcer", "gastritis", "pneumonia", "stomach cancer")
STOMACH = np.array([0, 0, 1, 1, 0, 1])  # of each of them, sorted as codes are
DISEASES_4 = classes_of(
    ["gastric ulcer", "gastritis", "stomach cancer"],
    ["gastritis", "flu", "bronchitis"],
    ["bronchitis", "pneumonia", "stomach cancer"],
)
DISEASES_5 = classes_of(
    ["gastric ulcer", "stomach cancer", "pneumonia"],
    ["gastritis", "flu", "bronchitis"],
    ["gastritis", "bronchitis", "stomach cancer"],
)
