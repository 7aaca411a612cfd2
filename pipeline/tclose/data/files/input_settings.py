"""The policy's section on the microdata's location and format."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_serializer, model_validator

from tclose.data.files.character_sets import UTF8, check_encoding
from tclose.data.files.text_formats import TextFormat, check_date_format, has_separators
from tclose.model.setting_fields import NO_NUL, REAL, Settings
from tclose.security.redaction import redact_place

Decimal = Literal[".", ","]
Thousands = Literal[".", ",", " ", "'"]
DateFormat = Annotated[str, Field(min_length=1), AfterValidator(check_date_format)]


class InputSettings(Settings):
    """The location and format of the microdata."""

    path: str = Field(
        min_length=1,
        pattern=NO_NUL,
        description="File, folder, glob or URL of CSV or Parquet; may have {as_of}, a day.",
        examples=["discharges.csv", "s3://bucket/discharges-{as_of:%Y-%m}/*.parquet"],
    )
    format: Literal["csv", "parquet"] | None = Field(
        default=None, description="By content where it is not given."
    )
    missing_values: tuple[str, ...] = Field(
        default=(),
        description="Texts that stand for a missing value; an empty CSV field does too.",
        examples=[["NA", "?"]],
    )
    delimiter: str = Field(
        default=",", pattern=r"^[\t !#-~]$", description="Of CSV fields: one ASCII character."
    )
    # Unset, they are no part of a policy's JSON, by which releases are named.
    decimal: Decimal = Field(
        default=".", description="Mark in CSV numbers.", exclude_if=lambda mark: mark == "."
    )
    thousands: Thousands | None = Field(
        default=None,
        description="Mark between groups of three digits in CSV numbers; a space also stands for "
        "no-break spaces.",
        exclude_if=lambda mark: mark is None,
    )
    date_format: DateFormat | None = Field(
        default=None,
        description="Of CSV dates, as in %d.%m.%Y (%Y %y %m %d %H %M %S %f); dates in ISO 8601 are "
        "read besides.",
        examples=["%d.%m.%Y", "%m/%d/%Y %H:%M"],
        exclude_if=lambda text: text is None,
    )
    encoding: Annotated[str, AfterValidator(check_encoding)] = Field(
        default=UTF8,
        description="Of CSV: utf-8, utf-16, or a character set of one byte as in cp1252.",
        exclude_if=lambda name: name == UTF8,
    )

    sampling_fraction: Annotated[float, Field(gt=0, le=1), REAL] | None = Field(
        default=None,
        description="Share of the population that these records are, if they are a sample; for "
        "risks in the internal report.",
        examples=[0.05],
        exclude_if=lambda share: share is None,
    )

    @model_validator(mode="after")
    def _check_formats(self) -> "InputSettings":
        check_marks(self.decimal, self.thousands)
        if self.date_format is not None and not has_separators(self.date_format):
            raise ValueError(
                "date_format: without marks between day, month and year any number could be a "
                "date; give it to the columns that hold dates, as attributes.NAME.date_format"
            )
        return self

    @property
    def text_format(self) -> TextFormat:
        """The spelling of numbers and dates in columns that have none of their own."""
        return TextFormat(self.decimal, self.thousands, self.date_format)

    @property
    def shown(self) -> str:
        """The path as it may be shown."""
        return redact_place(self.path)

    @field_serializer("path", when_used="json")
    def _show(self, path: str) -> str:
        """Redact credentials: others store a policy's JSON, in manifests or on Prefect's server."""
        return redact_place(path)


def check_marks(decimal: str, thousands: str | None) -> None:
    """Refuse one mark of two meanings.

    Raises
    ------
    ValueError
    """
    if decimal == thousands:
        raise ValueError(f"decimal and thousands are both {decimal!r}; they have to differ")
