"""The frozen values that travel between passes. Arrays in them are never written to."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose import column_terms

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Role = column_terms.Role
Kind = column_terms.Kind
Distance = column_terms.Distance


# The aggregate that releases the lowest node of a taxonomy above a class's values.
ANCESTOR = "ancestor"


@dataclass(frozen=True)
class Noise:
    """Noise on a confidential attribute: its epsilon, and what a policy lets it be released as.

    ``low``, ``high``, ``step``: of numbers; ``values``: of nominal ones; ``max_t``: the stochastic
    t that the policy holds it to, if to any.
    """

    epsilon: Fraction
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction = Fraction(1)
    values: tuple[str, ...] = ()
    max_t: Fraction | None = None


@dataclass(frozen=True)
class Attribute:
    """A column as the policy names it; ``kind``, ``aggregate``, ``distance`` None: to be inferred.

    ``taxonomy``: of nominal values, each with the names above it up to the root's;
    ``by_frequency``: whether subsets follow the commonness of the values rather than the taxonomy;
    ``intervals``: widths and origin of the intervals that numbers are generalised to, as texts;
    ``combines``: of a joint attribute the names of those whose combinations are its values.
    """

    name: str
    role: Role
    kind: Kind | None = None
    order: tuple[str, ...] = ()
    max_emd: Fraction | None = None
    aggregate: str | None = None
    rounded: bool = True
    distance: Distance | None = None
    taxonomy: tuple[tuple[str, ...], ...] = ()
    by_frequency: bool = False
    intervals: tuple[tuple[str, ...], str] | None = None
    noise: Noise | None = None
    combines: tuple[str, ...] = ()


@dataclass(frozen=True)
class InputFile:
    """One file of the input: its name within the input, and what identifies its content."""

    path: str
    name: str
    format: str
    n_bytes: int
    sha256: str
    stamp: str


@dataclass(frozen=True)
class Partition:
    """A physical piece of the input that one task reads.

    Parquet: rows ``start`` to ``stop`` of row group ``row_group``. CSV: the bytes from ``start`` to
    ``stop``, which hold whole records (``row_group`` is -1). ``first_position`` is the position of
    its first record in the whole input, ``stamp`` what its file looked like when it was digested.
    ``batch_rows``: of Parquet, how many rows are decoded at a time.
    """

    path: str
    name: str
    format: str
    row_group: int
    start: int
    stop: int
    n_records: int
    first_position: int
    stamp: str
    batch_rows: int = 65_536


@dataclass(frozen=True)
class Column:
    """An attribute that is read, with the type that it has in the data."""

    attribute: Attribute
    kind: Kind
    type: pa.DataType

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @property
    def role(self) -> Role:
        """The column's role."""
        return self.attribute.role

    @property
    def is_held_to_t(self) -> bool:
        """True if classes are held to a distance in it; those of values with noise are not."""
        return self.role is Role.CONFIDENTIAL and self.attribute.noise is None

    @property
    def is_joint(self) -> bool:
        """True if its values are combinations of other columns', held to a t and never released."""
        return bool(self.attribute.combines)

    @property
    def distance(self) -> Distance:
        """The distance of a confidential attribute's values."""
        if self.attribute.distance is not None:
            return self.attribute.distance
        if self.kind is not Kind.NOMINAL:
            return Distance.ORDERED
        return Distance.HIERARCHICAL if self.attribute.taxonomy else Distance.EQUAL

    @property
    def aggregate(self) -> str:
        """The aggregate that replaces a cluster's values: mean, median, mode or ancestor."""
        if self.attribute.aggregate is not None:
            return self.attribute.aggregate
        by_kind = {Kind.NUMERIC: "mean", Kind.DATE: "mean", Kind.ORDINAL: "median"}
        return by_kind.get(self.kind, "mode")


@dataclass(frozen=True, eq=False)
class TreeMetric:
    """A tree over the values of an attribute, and how many records of the table are below a node.

    ``paths`` int64 (m, depth): nodes from each value's leaf up to the root, then -1. ``numerators``
    int64 (nodes,): weights of the edges above the nodes in parts of ``denominator``, the root's 0;
    no two values are farther apart than 1. ``below`` int64 (nodes,), the root's the whole table.
    """

    paths: Int64
    numerators: Int64
    denominator: int
    below: Int64

    @property
    def weights(self) -> Float64:
        """The weights as floats: float64 (nodes,)."""
        return self.numerators / self.denominator


@dataclass(frozen=True, eq=False)
class Distribution:
    """A confidential attribute in the whole table, over its distinct values in ascending order.

    ``cumulative`` (m,): records with a value up to each; ``prefix`` (m + 1,): sums of
    ``cumulative``, so that the work over a span of values is a difference. ``metric``: how far
    values are from each other, where that is not by their order.
    """

    values: NDArray[np.int64] | Float64
    cumulative: Int64
    prefix: Int64
    metric: TreeMetric | None = None

    @property
    def n_records(self) -> int:
        """Records in the table."""
        return int(self.cumulative[-1])

    @property
    def counts(self) -> Int64:
        """Records of each distinct value."""
        return np.diff(self.cumulative, prepend=0)


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
class Verdict:
    """The result of verification: exact k, exact distances, and whether every record is present."""

    k: int
    n_records: int
    sizes: ClassSizes
    attributes: tuple[AttributeResult, ...] = ()
    failures: tuple[Failure, ...] = field(default=())
    models: tuple[ModelResult, ...] = ()
    risks: tuple[RiskResult, ...] = ()
    discernibility: int = 0

    @property
    def passed(self) -> bool:
        """True if the table may be published."""
        return not self.failures
