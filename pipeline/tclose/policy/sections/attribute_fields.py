"""The keys of a column in a policy, and what each may be."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, model_validator

from tclose.data.files.input_settings import DateFormat, Decimal, Thousands
from tclose.errors import PolicyError
from tclose.methods.generalisation.intervals import build_intervals
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.setting_fields import (
    WHOLE,
    Line,
    Number,
    Scalar,
    Settings,
    Threshold,
    Words,
    refuse_truth,
)
from tclose.policy.taxonomy_files import taxonomy_rows

Taxonomy = Annotated[
    tuple[tuple[str, ...], ...],
    BeforeValidator(taxonomy_rows, json_schema_input_type=str | dict[str, Any] | list[list[str]]),
]


Weight = Annotated[float, Field(ge=1e-6, le=1e6), BeforeValidator(refuse_truth)]


class IntervalSettings(Settings):
    """Intervals that numbers are generalised to, level by level."""

    widths: tuple[Number, ...] = Field(
        min_length=1,
        description="Of the intervals; each a multiple of the one before.",
        examples=[[5, 10, 20]],
    )
    origin: Number = Field(default=0, description="Where an interval of every level begins.")

    @model_validator(mode="after")
    def _check_widths(self) -> "IntervalSettings":
        try:
            build_intervals(self.widths, self.origin)
        except PolicyError as error:
            raise ValueError(str(error).removeprefix("intervals: ")) from None
        return self


class NoiseSettings(Settings):
    """Differentially private noise: what can be released comes from here, never from the data."""

    epsilon: Number = Field(ge=1e-6, le=30, description="Of one record's value.", examples=[1])
    low: Number | None = Field(
        default=None, description="Of numbers: smaller values are moved to it.", examples=[0]
    )
    high: Number | None = Field(
        default=None, description="Of numbers: larger values are moved to it.", examples=[100_000]
    )
    step: Number = Field(default=1, gt=0, description="Of numbers: from low to high in steps.")
    values: tuple[str, ...] = Field(
        default=(),
        description="Of nominal values: all there can be.",
        examples=[["none", "mild", "severe"]],
    )


class PercentileSettings(Settings):
    """A bound that is one of the column's percentiles, which everybody may know."""

    percentile: Number = Field(
        gt=0,
        lt=100,
        description="In percent: the bound is the least value that so many of the column's values "
        "do not exceed, rounded to the multiples of round.",
        examples=[99],
    )
    public: Literal[True] = Field(
        description="Declares that everybody may know the bound: manifest, dictionary and report "
        "name it.",
        examples=[True],
    )


class AttributeFields(Settings):
    """The keys of one column, without what makes them go together."""

    role: Role = Field(
        description="identifier: never read; quasi-identifier: one value for each class; "
        "confidential: as it is, and within t; non-confidential: as it is, without protection; "
        "person: never released, says whose a record is."
    )
    type: Kind | None = Field(default=None, description="Inferred where it is not given.")
    order: tuple[Scalar, ...] | None = Field(
        default=None,
        description="The values of an ordinal attribute, lowest first.",
        examples=[["minor", "moderate", "major", "extreme"]],
    )
    t: Threshold | None = Field(default=None, description="Overrides privacy.t.", examples=[0.15])
    distance: Distance | None = Field(
        default=None,
        description="Of a confidential attribute's values: ordered (default), equal (default of "
        "nominal ones), hierarchical (default with a taxonomy).",
    )
    taxonomy: Taxonomy | None = Field(
        default=None,
        description="Of nominal values: a file .yaml or .csv, or nested keys and lists as in "
        "{any: {fruit: [apple, pear]}}.",
        examples=["taxonomies/zip.yaml", {"any": {"fruit": ["apple", "pear"]}}],
    )
    prefixes: tuple[Annotated[int, Field(ge=1), WHOLE], ...] = Field(
        default=(),
        min_length=1,
        description="Of codes, in place of a taxonomy: values with the same first characters are a "
        "group; numbers of characters.",
        examples=[[2, 3]],
        exclude_if=lambda lengths: not lengths,
    )
    calendar: tuple[Literal["month", "quarter", "year"], ...] = Field(
        default=(),
        min_length=1,
        description="Of dates, likewise: days of the same month, quarter or year are a group.",
        examples=[["month", "year"]],
        exclude_if=lambda parts: not parts,
    )
    intervals: IntervalSettings | None = Field(
        default=None, description="Of numbers: what incognito generalises them to."
    )
    noise: NoiseSettings | None = Field(
        default=None, description="Of a confidential attribute, under dp-confidential."
    )
    subsets_by: Literal["taxonomy", "frequency"] | None = Field(
        default=None,
        description="The order of nominal confidential values in which subsets are cut.",
    )
    persistent: bool = Field(
        default=True,
        description="Of a confidential attribute, with a column of role person: all records of a "
        "person have the same value. false: each has one of its own.",
        exclude_if=lambda persistent: persistent is True,
    )
    aggregate: (
        Literal["mean", "median", "low-median", "mode", "representative", "ancestor"] | None
    ) = Field(
        default=None,
        description="numeric and date: mean (default), median or low-median; nominal, boolean and "
        "ordinal: representative, a value of the class, so that all values keep their shares (as "
        "far as little more loss allows, where it is not given); nominal and boolean: mode; "
        "ordinal: median; nominal with a taxonomy: ancestor, the lowest node above its values.",
    )
    scale: Literal["range", "std", "iqr", "trimmed", "rank"] | None = Field(
        default=None,
        description="Of a quasi-identifier with an order: what its differences are divided by.",
        exclude_if=lambda scale: scale is None,
    )
    weight: Weight = Field(
        default=1,
        description="Of a quasi-identifier's squared differences beside the others'.",
        exclude_if=lambda weight: weight == 1,
    )
    round: StrictBool | Number = Field(
        default=True,
        description="Of a quasi-identifier: false releases integers as floats. Of confidential and "
        "non-confidential numbers: to the nearest multiple of this, before t is measured.",
        examples=[False, 100, 0.5],
    )
    bottom: Number | PercentileSettings | None = Field(
        default=None,
        description="Of confidential and non-confidential numbers: smaller values become this one, "
        "which everybody may know, before t is measured.",
        examples=[0, {"percentile": 1, "public": True}],
        exclude_if=lambda number: number is None,
    )
    top: Number | PercentileSettings | None = Field(
        default=None,
        description="Likewise: larger values become this one.",
        examples=[200_000, {"percentile": 99, "public": True}],
        exclude_if=lambda number: number is None,
    )
    bands: tuple[Number, ...] = Field(
        default=(),
        min_length=1,
        description="Of confidential and non-confidential numbers: ends of the ranges that are "
        "released for values, each the first value of the next range.",
        examples=[[1_000, 5_000, 20_000]],
        exclude_if=lambda ends: not ends,
    )
    missing: Literal["category", "median", "mode", "class"] | None = Field(
        default=None,
        description="Of a quasi-identifier: records without a value are neither refused nor "
        "dropped. category: of nominal and ordinal values, they have the category (missing); "
        "median: of numeric, date and ordinal values, they have the lower median of the others; "
        "mode: of nominal and boolean values, they have the commonest of the others; "
        "class: their class releases the aggregate of the values that its other records have.",
        examples=["category", "median", "class"],
        exclude_if=lambda what: what is None,
    )
    decimal: Decimal | None = Field(
        default=None,
        description="Of this column's CSV numbers; overrides input.decimal.",
        exclude_if=lambda mark: mark is None,
    )
    thousands: Thousands | None = Field(
        default=None,
        description="Of this column's CSV numbers; overrides input.thousands.",
        exclude_if=lambda mark: mark is None,
    )
    date_format: DateFormat | None = Field(
        default=None,
        description="Of this column's CSV dates; overrides input.date_format.",
        examples=["%d.%m.%Y", "%Y%m%d"],
        exclude_if=lambda text: text is None,
    )

    label: Line | None = Field(
        default=None,
        description="Its name for people, in dictionary, Data Package and report.",
        examples=["Charge of the stay"],
        exclude_if=lambda text: text is None,
    )
    unit: Line | None = Field(
        default=None,
        description="The unit of its values, likewise.",
        examples=["euros"],
        exclude_if=lambda text: text is None,
    )
    description: Words | None = Field(
        default=None,
        description="What it says, likewise.",
        examples=["What the hospital charged for the whole stay, before any discount."],
        exclude_if=lambda text: text is None,
    )
