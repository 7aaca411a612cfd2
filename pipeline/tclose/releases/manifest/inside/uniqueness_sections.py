"""The internal manifest's section on records that few columns tell from all others."""

from tclose.releases.manifest.sections import AtMostOne, Count, Nonnegative, Positive, Section


class UniquesOfSize(Section):
    """Minimal sample uniques in sets of one number of columns."""

    size: Positive
    """Columns of a set."""
    sets: Count
    """Of a record and columns that tell it from all others, as no part of them does."""
    records: Count
    """That no smaller set tells from all others."""


class UniquesAfter(Section):
    """The same search in the released rows, which has to find none."""

    rows: Count
    """Looked at: whole classes from the beginning of the release, in its order."""
    sets: Count
    smallest_class: Positive
    """Of all classes, as they were verified."""


class SpecialUniquesSection(Section):
    """Records that few quasi-identifiers tell from all others, before and after (SUDA).

    Elliot, Manning and Ford 2002; shares and probabilities to three digits.
    """

    records: Count
    """Looked at: all, or drawn at random."""
    of: Count
    """Complete records of the input."""
    columns: Positive
    """Quasi-identifiers looked at, those of the most values."""
    of_columns: Positive
    fraction: AtMostOne
    """Of the population that the records looked at are."""
    unique: Count
    """By all of the columns."""
    by_size: list[UniquesOfSize]
    intrusion: AtMostOne | None
    """That who matches a unique with somebody is right (DIS); None without uniques."""
    scores: list[Count]
    """Records by DIS-SUDA: of 0, then up to 0.1, 0.2, ... 1."""
    contributions: dict[str, Nonnegative]
    """The share of all scores in which each column takes part."""
    after: UniquesAfter
