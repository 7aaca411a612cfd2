"""Sections of the internal manifest and of reports that stay inside: records beside the release.

What analysts would find in both, records that few columns tell from all others, the series that a
release is held in, earlier releases of the same persons, and a motivated intruder.
"""

from typing import Annotated, Literal

from pydantic import Field

from tclose.model.counted_words import count_words
from tclose.releases.manifest.sections import (
    AtMostOne,
    Count,
    Names,
    Nonnegative,
    Positive,
    Section,
)

AttackKind = Literal[
    "linkability", "inference", "singling-out-univariate", "singling-out-multivariate"
]


class CategoryShares(Section):
    """Difference of a quasi-identifier's released shares of categories from the records'.

    Which categories these are is not said: names of rare ones are what a release protects.
    """

    categories: int
    """Categories that the records have."""
    lost: int
    """Categories that no released row has."""
    shrunk: int
    """Categories of at least 2k records that less than nine tenths of them release."""
    grown: int
    """Categories of at least 2k records that more than eleven tenths of them release."""
    total_variation: float
    """Half the sum of the shares' differences."""


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


class SeriesEntry(Section):
    """The place of a release in its series, and what it was verified to hold together with others.

    Releases are counted in the order of their publication.
    """

    series: str
    number: Annotated[int, Field(ge=1)]
    k: Count
    """Persons of a cell, at least: of persons in the same classes of all releases of the window."""
    t: dict[str, float]
    """The t of each confidential attribute that cells meet in every release of the window."""
    window: Annotated[int, Field(ge=2)]
    departures: str
    register_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Digest of ``internal/register.parquet``."""
    releases: list[str] = Field(default_factory=list)
    """The earlier ones of its window, by name and id, oldest first."""


class SeriesSection(SeriesEntry):
    """The measures of a release together with the earlier ones of its window."""

    releases: list[str]
    cells: Count
    """Cells of the persons of this release."""
    smallest_cell: Count
    largest_emd: dict[str, float]
    """Largest distance of a cell to the table of any release of the window that it is in."""
    left_out: Count
    """Records that were not released, as their cells have fewer than k persons or are above a t."""
    newcomers: Count
    """Persons in none of the earlier releases."""
    leavers: Count
    """Persons of the release before who are not in this one."""
    leavers_exposed: Count
    """Leavers whose cell has fewer than k persons or is above a t: they are found by subtraction,
    or by values that last, and that nobody else of their class had."""
    churn: float | None = None
    """Share of the persons that classes have room for, from one release to the next."""
    made_k: Count | None = None
    """Persons that classes are made for, as some leave."""
    leaver_groups_below_k: Count | None = None
    """Groups of 1 to k - 1 persons that subtracting classes from earlier ones finds."""
    smallest_leaver_group: Count | None = None
    """Persons of the smallest group that subtraction finds; 0 if there is none."""
    forgotten: Count = 0
    """Records left out that are of persons who were forgotten on request."""
    stale: Count = 0
    """Records of persons who left, held as the release before had them."""
    stalest: Count = 0
    """Releases that one of them has been held in, at most."""
    most_held: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the records that may be; None where none is held."""


def describe_found(departures: str) -> str:
    """Leavers who are found though their own cell does not hold, by how departures are treated.

    Where classes are united, k of them are found together, and one only by a value of her own.
    """
    return "found by a value that lasts" if departures == "unite" else "found by subtraction"


def explain_left_out(series: SeriesSection) -> str:
    """Records that are left out of a release of a series, and why: in the words of one line."""
    hides = series.departures in ("drop", "hold")
    why = "so that cells hold and nobody who left is found" if hides else "so that cells hold"
    others = series.left_out - series.forgotten
    words = f"{count_words(others, 'record')} {why}"
    if series.forgotten:
        words += f", and {series.forgotten:,} of persons who were forgotten on request"
    return words


class EarlierRelease(Section):
    """An earlier release in the output folder that is about persons of this one.

    What its own internal manifest says of the series is repeated here, so that a report can show
    all releases of a window side by side.
    """

    release: str
    """Its name and id."""
    published_at: str | None = None
    records: Count | None = None
    shared: Count | None = None
    """Persons of this release who are in it, by estimate from sketches; None without a sketch."""
    is_held: bool = False
    """True if this release is held together with it."""
    number: Count | None = None
    """Number of the release in the series; this and what follows are there where it is held."""
    cells: Count | None = None
    smallest_cell: Count | None = None
    left_out: Count | None = None
    stale: Count | None = None
    newcomers: Count | None = None
    leavers: Count | None = None
    leavers_exposed: Count | None = None


class ExposureSection(Section):
    """The persons of this release in earlier ones."""

    persons: Count
    """Persons of this release."""
    earlier: list[EarlierRelease] = Field(default_factory=list)
    """Earlier releases by the time of publication, oldest first."""
    more: Count = 0
    """Earlier releases of these persons that are not listed."""
    largest_share: AtMostOne | None = None
    """Largest share of the persons that one release which is not held has; None without any."""


class IntrusionAttack(Section):
    """One attack of the library: shares of attacks that succeed, and the risk it makes of them."""

    kind: AttackKind
    known: Names
    """Columns whose values the intruder knows, or makes predicates of."""
    secret: Names
    """Columns that are inferred, or that are linked to those known; none where records are singled
    out."""
    attacks: Positive
    predicates: Count | None = None
    """Predicates that hold for one released record and were tried on the originals."""
    rate: AtMostOne
    """Share of the attacks on the originals that succeed."""
    control: AtMostOne | None
    """The same of the hold-out; None where the library has none to compare with."""
    baseline: AtMostOne
    """Share of guesses at random that succeed."""
    risk: AtMostOne
    """Risk that the release adds: (rate - control) / (1 - control), from 0 on."""
    low: AtMostOne
    high: AtMostOne
    """The ends of the interval of 95 %: ``low`` and ``high``."""


class IntrusionSection(Section):
    """Attacks of Anonymeter on a release, with records that are not in it for comparison."""

    library: str
    """Name and version."""
    seed: Count
    records: Positive
    """Number of the originals."""
    held_out: Positive
    """Records that are not in the release."""
    alike: Count
    """Records held out that are like an original in all columns."""
    left_out: Names
    """Released columns that cannot be compared with the originals' values."""
    attacks: list[IntrusionAttack]
