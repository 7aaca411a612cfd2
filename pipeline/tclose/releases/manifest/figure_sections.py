"""The sections of a manifest that its report is drawn from: spreads and shares, to three digits.

Nothing in them is finer than what else the manifest says, and no value of few records is named:
``other values`` stand for those, and ranges have round ends and are open where few records lie.
"""

from typing import Annotated

from pydantic import Field, model_validator

from tclose.releases.manifest.sections import AtMostOne, Count, Section

Text = Annotated[str, Field(min_length=1)]


class About(Section):
    """The publisher's words on the data."""

    title: Text | None = None
    description: Text | None = None
    publisher: Text | None = None
    contact: Text | None = None
    licence: Text | None = None
    citation: Text | None = None


class Shares(Section):
    """Shares of classes or records, by what they have in common."""

    labels: list[str]
    shares: list[AtMostOne]

    @model_validator(mode="after")
    def _check_lengths(self) -> "Shares":
        if len(self.labels) != len(self.shares):
            raise ValueError("has labels without shares")
        return self


class AttributeFigures(Section):
    """A confidential attribute: its values in the table and in the class farthest from it."""

    table: Shares
    """Shares of all records."""
    farthest: Shares
    """Shares of the records of the class farthest from the table, by the same labels."""
    farthest_records: Count
    distances: Annotated[list[AtMostOne], Field(min_length=1)]
    """Shares of the classes by their distance to the table, in equal steps from 0 to t."""


class MeasuredChanges(Section):
    """Effect of aggregation on an analysis of numbers and dates; in tables of 1,000 records on."""

    variances: dict[str, int]
    """Relative changes of the quasi-identifiers' variances, in whole percent."""
    correlations: dict[str, float]
    """Largest change of a correlation of the column with another one, to two decimals."""
    attenuations: dict[str, float] | None = None
    """By how much one of these is weaker than it was, at most; None of releases made before."""
    untold: dict[str, list[str]] = Field(default_factory=dict)
    """Columns with which a column's correlation is not said: there is noise on them, or one record
    makes up too much of it."""


class ReleaseFigures(Section):
    """Figures that the report shows in pictures."""

    class_sizes: Shares
    attributes: dict[str, AttributeFigures]
    """Confidential attributes that are released without noise, by name."""
    changes: MeasuredChanges | None = None
