"""Findings of verification: distances, measures, risks and sizes of classes, and the verdict."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Failure:
    """A reason why a released table does not meet the policy."""

    what: str
    asked: str
    found: str


@dataclass(frozen=True)
class AttributeResult:
    """The achieved distances of one confidential attribute."""

    name: str
    max_emd: Fraction
    largest_emd: float
    n_violating: int


@dataclass(frozen=True)
class Achieved:
    """The extremes of the classes' measures under a further model; two of them merge."""

    n_classes: int = 0
    n_failing: int = 0
    smallest: float = inf
    largest: float = -inf

    def merge(self, other: "Achieved") -> "Achieved":
        """Merge with the measures of other classes; a measure that is not a number stays so."""
        return Achieved(
            self.n_classes + other.n_classes,
            self.n_failing + other.n_failing,
            float(np.minimum(self.smallest, other.smallest)),
            float(np.maximum(self.largest, other.largest)),
        )


@dataclass(frozen=True)
class ModelResult:
    """A further model's parameters for one confidential attribute, and the achieved measures.

    ``parameters``: by name; ``achieved``: the worst measure of a class.
    """

    model: str
    name: str
    parameters: dict[str, Any]
    achieved: float
    n_failing: int


@dataclass(frozen=True)
class RiskResult:
    """Records and classes of which attacks learn a confidential attribute (Li et al. 2007).

    Homogeneity: one value; similarity: values of one group; skewness: a class raises the
    probability of a group by more than ``factor``. ``groups``: which groups these are.
    """

    name: str
    groups: str
    homogeneous_records: int
    homogeneous_classes: int
    similar_records: int
    similar_classes: int
    factor: float
    skewed_records: int
    skewed_classes: int
    largest_factor: float
    mean_factor: float


@dataclass(frozen=True)
class ClassSizes:
    """Sizes of the equivalence classes."""

    n_classes: int = 0
    smallest: int = 0
    largest: int = 0
    mean: float = 0.0


@dataclass(frozen=True)
class PersonAttribute:
    """The largest distance of a class to the table over persons, in one confidential attribute."""

    name: str
    max_emd: Fraction
    largest_emd: float


@dataclass(frozen=True)
class LastingValue:
    """Persons of whom one value of an attribute is left, if all of their records have the same."""

    name: str
    n_told: int


@dataclass(frozen=True)
class ClassTraces:
    """Persons by their classes alone, however many records they have there.

    ``n_alone``, ``n_below_k``: those whose classes nobody else, or fewer than k persons with
    themselves, have.
    """

    n_alone: int
    n_below_k: int
    lasting: tuple[LastingValue, ...] = ()


@dataclass(frozen=True)
class PersonTraces:
    """Persons by the classes that their records are in.

    ``n_several``: those in several classes; ``n_alone``, ``n_below_k``: those whom nobody, or fewer
    than k persons with themselves, have as many records in the same classes as. ``by_classes``: the
    same by their classes alone, of persons who are kept together.
    """

    n_several: int
    n_alone: int
    n_below_k: int
    lasting: tuple[LastingValue, ...] = ()
    by_classes: ClassTraces | None = None


@dataclass(frozen=True)
class PersonVerdict:
    """Persons of the table, and of the classes; each weighs one, however many records she has.

    ``traces``: over all classes of a person; for the internal manifest. ``are_together``: whether
    all records of a person had to be in one class.
    """

    n_persons: int
    smallest: int
    largest: int
    mean: float
    attributes: tuple[PersonAttribute, ...] = ()
    traces: PersonTraces | None = None
    are_together: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result of verification: exact k, exact distances, and whether every record is present.

    ``persons``: where k counts them, and not records.
    """

    k: int
    n_records: int
    sizes: ClassSizes
    attributes: tuple[AttributeResult, ...] = ()
    failures: tuple[Failure, ...] = field(default=())
    models: tuple[ModelResult, ...] = ()
    risks: tuple[RiskResult, ...] = ()
    discernibility: int = 0
    persons: PersonVerdict | None = None

    @property
    def passed(self) -> bool:
        """True if the table may be published."""
        return not self.failures
