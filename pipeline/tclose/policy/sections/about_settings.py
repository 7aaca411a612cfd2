"""The ``about`` section of a policy: the data in the publisher's words, for people."""

from pydantic import Field

from tclose.model.setting_fields import Line, Settings, Words


class AboutSettings(Settings):
    """The publisher's words on the data: in manifest, dictionary, Data Package and report."""

    title: Line | None = Field(
        default=None, description="Of the data.", examples=["Hospital discharges 2026"]
    )
    description: Words | None = Field(
        default=None,
        description="What the records are, and how they were collected.",
        examples=["Stays that ended in 2026, in all public hospitals, one record for each stay."],
    )
    publisher: Line | None = Field(
        default=None,
        description="Who hands the data out.",
        examples=["Office of Health Statistics"],
    )
    contact: Line | None = Field(
        default=None, description="Where questions go.", examples=["data@example.org"]
    )
    licence: Line | None = Field(
        default=None,
        description="The terms of use: a name as in CC-BY-4.0, or an address.",
        examples=["CC-BY-4.0", "https://example.org/terms"],
    )
    citation: Words | None = Field(
        default=None,
        description="How to cite the data.",
        examples=["Office of Health Statistics (2026): Hospital discharges 2026."],
    )
