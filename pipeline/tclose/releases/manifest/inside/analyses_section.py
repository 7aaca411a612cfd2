"""The internal manifest's section on what analysts would find in a release and in the records."""

from pydantic import Field

from tclose.releases.manifest.sections import AtMostOne, Count, Nonnegative, Positive, Section


class RangeCountErrors(Section):
    """Random range counts over the release, beside the same over the records."""

    queries: Count
    """Each has two or three quasi-identifiers and a confidential attribute, if there are."""
    floor: Positive
    """Records that an error is divided by, at least."""
    median_error: Nonnegative
    """Relative."""
    ninth_tenth_error: Nonnegative
    """Relative, that nine tenths of the counts do not exceed."""


class AssociationChanges(Section):
    """Associations of one kind in the release, less those of the records: absolute differences.

    A column of one value is associated with nothing; pairs that have one before are left out.
    """

    pairs: Count
    """Pairs of columns that are compared."""
    mean: Nonnegative | None
    largest: Nonnegative | None
    largest_of: str | None
    """``one and other``."""


class AnalysesSection(Section):
    """Results of analyses of a release and of the records, to three digits."""

    range_counts: RangeCountErrors | None
    """None without quasi-identifiers of several values."""
    not_counted: list[str] = Field(default_factory=list)
    """Confidential attributes that no range count is about: they are released as buckets or bands,
    and the values in these are not at hand."""
    marginals: dict[str, AtMostOne]
    """Total variation of each quasi-identifier's shares: of categories as they are, of generalised
    ones of the commonest, of numbers in parts of about as many records."""
    associations: dict[str, AssociationChanges] = Field(default_factory=dict)
    """Changes by measure: ``correlation`` of two columns with numbers, ``cramers_v`` of two with
    categories, ``correlation_ratio`` of one of each."""
    unchanged: AtMostOne
    """Share of the records that are released with all quasi-identifiers as they are."""
    unchanged_by_column: dict[str, AtMostOne]
    """Share of the records that are released as they are by each quasi-identifier."""
