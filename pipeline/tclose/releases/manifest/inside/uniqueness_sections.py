"""The internal manifest's section on records that few columns tell from all others."""

from tclose.releases.manifest.sections import AtMostOne, Count, Nonnegative, Positive, Section


class UniquesOfSize(Section):
    """Minimal sample uniques in sets of one number of columns."""

    size: Positive
    """Columns of a set."""
    sets: Count
    """Pairs of a record and columns that tell it from all others, as no part of them does."""
    records: Count
    """Records that no smaller set tells from all others."""


class UniquesAfter(Section):
    """The same search in the released rows, which has to find none."""

    rows: Count
    """Rows looked at: whole classes from the beginning of the release, in its order."""
    sets: Count
    smallest_class: Positive
    """Records of the smallest of all classes, as they were verified."""


class SpecialUniquesSection(Section):
    """Records that few quasi-identifiers tell from all others, before and after (SUDA).

    Elliot, Manning and Ford 2002; shares and probabilities to three digits.
    """

    records: Count
    """Records looked at: all, or drawn at random."""
    of: Count
    """Complete records of the input."""
    columns: Positive
    """Quasi-identifiers looked at, those of the most values."""
    of_columns: Positive
    fraction: AtMostOne
    """Share of the population that the records looked at are."""
    unique: Count
    """Records that are unique by all of the columns."""
    by_size: list[UniquesOfSize]
    intrusion: AtMostOne | None
    """Probability that who matches a unique with somebody is right (DIS); None without uniques."""
    scores: list[Count]
    """Records by DIS-SUDA: of 0, then up to 0.1, 0.2, ... 1."""
    contributions: dict[str, Nonnegative]
    """The share of all scores in which each column takes part."""
    after: UniquesAfter
