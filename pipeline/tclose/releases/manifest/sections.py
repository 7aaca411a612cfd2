"""The sections of a manifest: what each says, its types, and what it may hold.

Keys that are not named here are kept and let through: later versions add some. Whatever is read has
its type, and numbers are finite.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tclose.model.column_terms import Distance, Kind, Role

_MOST_CELLS = 50_000_000  # of a taxonomy: its values by its levels


def _check_distinct(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise ValueError("has an entry twice")
    return values


def _check_rows(rows: list[list[str]]) -> list[list[str]]:
    if len(rows) * max(map(len, rows), default=0) > _MOST_CELLS:
        raise ValueError("has too many levels for its values")
    return rows


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Nonnegative = Annotated[float, Field(ge=0)]
# Whole numbers that no float is stay what they are; beyond 64 bits there are none of.
Exact = Annotated[int, Field(ge=-(2**63), lt=2**64)] | float
AtMostOne = Annotated[float, Field(ge=0, le=1)]
Names = Annotated[list[str], AfterValidator(_check_distinct)]
ReadDistance = Annotated[Distance, Field(strict=False)]


class Section(BaseModel):
    """A part of a manifest: strict about types, and open to keys of later versions."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="allow",
        allow_inf_nan=False,
        defer_build=True,
    )

    def to_json(self) -> dict[str, Any]:
        """The section as JSON has it: what was given, in the order of the fields."""
        return self.model_dump(mode="json", exclude_unset=True)

    def unknown_keys(self, place: str = "") -> Iterator[str]:
        """List the section's keys that this version does not know, as in ``privacy.k.more``."""
        before = f"{place}." if place else ""
        yield from (f"{before}{key}" for key in self.model_extra or ())
        for key in type(self).model_fields:
            yield from _unknown_inside(getattr(self, key), f"{before}{key}")


def _unknown_inside(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, Section):
        yield from value.unknown_keys(place)
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _unknown_inside(inner, f"{place}.{key}")


class RecordComparison(Section):
    """Columns in which every released record was found to be one of the input's, and none lost.

    Where records of persons who left are held, some may be those of the release before.
    """

    compared: Names
    as_buckets: Names
    left_out: dict[str, str]
    """Columns that were not compared, and why."""
    records: Count
    result: Literal["identical", "identical or held"]


class ClassesSection(Section):
    """Sizes of the equivalence classes, in records."""

    n_classes: Count
    smallest: Count
    largest: Count
    mean: Nonnegative


class Exposed(Section):
    """Records, and classes, of which an attack learns an attribute."""

    records: Count
    classes: Count


class SkewnessSection(Section):
    """Classes that make a group of values more than ``factor`` times as likely as the table."""

    factor: float
    records: Count
    classes: Count
    largest: float
    mean: float


class Attacks(Section):
    """The risks that attacks learn a confidential attribute."""

    homogeneity: Exposed
    groups: str
    """The groups of values that similarity and skewness are about."""
    similarity: Exposed
    skewness: SkewnessSection


class RiskSection(Section):
    """Discernibility, average class size over k, and attacks."""

    discernibility: Count
    average_class_size: Nonnegative
    attributes: dict[str, Attacks]
    """Risks by confidential attribute."""


class InformationLoss(Section):
    """Squared normalised differences: means over records, and over quasi-identifiers."""

    total: Nonnegative
    per_attribute: dict[str, Nonnegative]


class RoundEntry(Section):
    """A round of the search for less loss, for who makes the release.

    It says of classes that were not kept how far they were, and so whose values are whose.
    """

    loss: float
    largest_emd: float


class Refinement(Section):
    """The search for less loss that was asked for."""

    asked: str | int
    clusters: Count | None = None
    """The clusters, in releases of earlier versions. They are inside now: of several that are
    released alike the rows tell no number, and it would tell whose values are whose."""
    rounds: list[RoundEntry] = Field(default_factory=list)
    """The rounds, in releases of earlier versions. They are inside now: by the distances of classes
    that were not kept an intruder who can search as well would tell whose values are whose."""


class PreparedColumn(Section):
    """The preparation of values as they were read; its numbers are known to everybody."""

    bottom: Exact | None = None
    """Smaller values were set to it."""
    top: Exact | None = None
    """Larger values were set to it."""
    bottom_percentile: Annotated[float, Field(gt=0, lt=100)] | None = None
    """In percent, where the bottom is one of the column's percentiles."""
    top_percentile: Annotated[float, Field(gt=0, lt=100)] | None = None
    """Likewise of the top."""
    multiples_of: Exact | None = None
    """Values were rounded to the nearest of these."""
    bands: list[Exact] = Field(default_factory=list)
    """Ends of the ranges that stand for values, each the first value of the next range."""
    missing: Literal["category", "median", "mode", "class"] | None = None
    """Records without a value have a category of their own, this centre of the others, or the
    aggregate of the others of their class."""
    imputed_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percentage of the records read that got a centre or an aggregate, rounded up; finer figures
    are internal."""


class LeftOutSection(Section):
    """Records that were left out for a missing value, in whole percent of those read, rounded up.

    Finer figures are in the internal manifest alone.
    """

    percent: Annotated[int, Field(ge=1, le=100)]
    by_column: dict[str, Annotated[int, Field(ge=1, le=100)]]
    """Percentages of records without a value, by released column; a record may lack several."""


class SuppressedSection(Section):
    """Records that were left out as isolated ones, in whole percent of complete ones, rounded up.

    A finer figure is in the internal manifest alone. So is nothing about their confidential values:
    how far the table is from one with them would tell those of a few.
    """

    percent: Annotated[int, Field(ge=1, le=100)]


class LeftOutOverTimeSection(Section):
    """Records that a release of a series lacks, in whole percent of complete ones, rounded up.

    At least 1: whether none was left out is told nowhere but in the internal manifest, as are finer
    figures.
    """

    percent: Annotated[int, Field(ge=1, le=100)]


class HeldSection(Section):
    """Records of persons who had left, held from the release before, in whole percent, rounded up.

    Which these are is told nowhere; how many, and for how long, in the internal manifest.
    """

    percent: Annotated[int, Field(ge=0, le=100)]


class ReleasedColumn(Section):
    """A released column: what it is, its type, and how it was treated."""

    name: Annotated[str, Field(min_length=1)]
    role: Annotated[Role, Field(strict=False)]
    kind: Annotated[Kind, Field(strict=False)]
    type: str
    """Type of Arrow, as the files have it."""
    treatment: str
    generalised: bool = False
    noised: bool = False
    bucketed: bool = False
    prepared: PreparedColumn | None = None
    """Preparation of its values before anything was measured, if there was any."""
    distance: ReadDistance | None = None
    """Distance of two values of a confidential attribute, or of one released as an ancestor."""
    loss: str | None = None
    """The measure of its information loss, if that is not the difference."""
    taxonomy: Annotated[list[list[str]], AfterValidator(_check_rows)] = Field(default_factory=list)
    """Each value with the names above it, up to the root's."""
    prefixes: list[Positive] = Field(default_factory=list)
    """Numbers of characters: values that begin with the same ones are a group of its taxonomy."""
    calendar: list[Literal["month", "quarter", "year"]] = Field(default_factory=list)
    """Parts of the calendar: dates of the same one are a group of its taxonomy."""
    order: Names | None = None
    """Ordinal values, lowest first."""
    label: str | None = None
    """Its name for people, as the publisher says; likewise the next two."""
    unit: str | None = None
    description: str | None = None

    @model_validator(mode="after")
    def _check_order(self) -> "ReleasedColumn":
        is_compared = self.role is Role.CONFIDENTIAL and not self.noised
        if self.kind is Kind.ORDINAL and is_compared and not self.order:
            raise ValueError("is ordinal and has no order")
        return self


class DataFile(Section):
    """A file with rows of the release."""

    # Readers skip folders and files whose names begin with a dot or an underscore.
    path: Annotated[str, Field(pattern=r"^data/([^/._=][^/=]*=[^/]*/)*part-[0-9]{5,}\.[a-z0-9]+$")]
    rows: Count
    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Document(Section):
    """A document beside the manifest."""

    path: str
    bytes: Count
    sha256: str


class Code(Section):
    """The version that made the release."""

    tclose: str
