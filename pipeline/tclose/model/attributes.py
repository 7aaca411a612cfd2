"""Columns as a policy names them, and as they are in the data."""

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from tclose.model.column_terms import Distance, Kind, Role, Scale
from tclose.model.grouping import GroupRule
from tclose.model.preparation import Preparation

# The aggregate that releases the lowest node of a taxonomy above a class's values.
ANCESTOR = "ancestor"
# The aggregate that releases values so that all keep their shares of the table.
REPRESENTATIVE = "representative"
# The aggregate that releases the lower of the two middle values, so always one of the class.
LOW_MEDIAN = "low-median"


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
    ``combines``: of a joint attribute the names of those whose combinations are its values;
    ``scale``: of a quasi-identifier, None for the default; ``weight``: of its squared differences;
    ``preparation``: what is done to its values as they are read; ``grouping``: how the taxonomy is
    made of the values, once they are counted; ``keeps_shares``: whether categories are released as
    representatives where no ``aggregate`` is given; ``has_bands``: whether the values that are read
    are bands already, as in a sample of prepared records.
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
    persistent: bool = True
    scale: Scale | None = None
    weight: float = 1.0
    preparation: Preparation | None = None
    grouping: GroupRule | None = None
    keeps_shares: bool = False
    has_bands: bool = False


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
    def limit(self) -> Fraction:
        """The t that classes are held to in it, of a confidential attribute without noise."""
        assert self.attribute.max_emd is not None
        return self.attribute.max_emd

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
        """The aggregate that replaces a cluster's values, as `AttributeSettings` names them."""
        if self.attribute.aggregate is not None:
            return self.attribute.aggregate
        if self.attribute.keeps_shares and self.kind.is_categorical:
            return REPRESENTATIVE
        return self.usual_aggregate

    @property
    def usual_aggregate(self) -> str:
        """The aggregate that is nearest to a cluster's values, whatever other clusters release."""
        by_kind = {Kind.NUMERIC: "mean", Kind.DATE: "mean", Kind.ORDINAL: "median"}
        return by_kind.get(self.kind, "mode")
