"""A release beside its originals, a population and other k and t: for the internal report alone."""

from tclose.releases.manifest.internal_manifest import Utility
from tclose.releases.manifest.privacy_sections import PersonsResult
from tclose.releases.manifest.sections import (
    AtMostOne,
    ClassesSection,
    Count,
    Nonnegative,
    Positive,
    Section,
)


class PopulationResult(Section):
    """Persons of a population file who could be in a class, as its own records could (k-map).

    El Emam and Dankar, *Protecting privacy using k-anonymity* (2008): a journalist has the
    population and does not know who is in the data. Shares to three digits.
    """

    persons: Count
    """Persons of the file who can be compared."""
    left_out: Count
    """Persons without a value, or with a category that no record has: they are nobody's double."""
    classes: Positive
    """Classes looked at: all, or drawn at random."""
    of_classes: Positive
    smallest: Count
    """Persons who could be in a class, at least."""
    below_k: Count
    """Classes in which fewer than k persons could be, as the file lacks some of the records."""
    journalist: AtMostOne
    """One of as many as could be in the class that has the fewest."""
    marketer: AtMostOne
    """The mean over the records of these classes."""


class OriginalsResult(Utility):
    """A release beside its originals: figures of the raw data, to be kept inside."""

    attackers: Count
    """Records that were searched for among the released ones."""
    linkage: float
    """The share of them that are linked to their own record."""
    sse: float
    """Information loss per record and quasi-identifier."""
    sse_of: dict[str, float]
    """Information loss of each quasi-identifier."""
    persons: PersonsResult | None = None
    """k and t over persons, where the policy has a column of them."""
    population: PopulationResult | None = None
    """Beside a population file, where one was given."""


class FrontierPoint(Section):
    """A k and a t: what a release with them would be like, or why there can be none."""

    k: Positive
    t: Nonnegative | None
    is_policy: bool
    feasible: bool
    reason: str | None = None
    classes: ClassesSection | None = None
    information_loss: Nonnegative | None = None
    record_linkage_risk: AtMostOne | None = None


class FrontierSection(Section):
    """Releases of the same records with other k and t, none of them published."""

    basis: str
    """The records that it was computed on."""
    caution: str | None
    points: list[FrontierPoint]
