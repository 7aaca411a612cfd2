"""The ``hold`` section of ``privacy.over_time``: how many records may be of persons who left."""

from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from tclose.model.setting_fields import Settings
from tclose.policy.sections.suppress_settings import describe_share, read_share

MOST_HELD = 0.5  # more would be the table of another month


class HoldSettings(Settings):
    """Limits on the records of a release that are of persons who are not there any more."""

    at_most: Annotated[
        float,
        Field(gt=0, le=MOST_HELD),
        BeforeValidator(read_share),
        WithJsonSchema(describe_share(MOST_HELD)),
    ] = Field(
        default=0.1,
        description="Share of the records of a release that may be of persons who left; beyond it "
        "the release is refused.",
        examples=["10%", 0.1],
    )

    @property
    def share(self) -> Fraction:
        """The share, exactly as it is written."""
        return Fraction(str(self.at_most))
