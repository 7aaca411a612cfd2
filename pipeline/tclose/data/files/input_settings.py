"""The policy's section on the microdata's location and format."""

from typing import Literal

from pydantic import Field, field_serializer

from tclose.redaction import redact_place
from tclose.setting_fields import NO_NUL, Settings


class InputSettings(Settings):
    """The location and format of the microdata."""

    path: str = Field(
        min_length=1, pattern=NO_NUL, description="File, folder, glob or URL of CSV or Parquet."
    )
    format: Literal["csv", "parquet"] | None = Field(
        default=None, description="By content where it is not given."
    )
    missing_values: tuple[str, ...] = Field(
        default=(), description="Texts that stand for a missing value; an empty CSV field does too."
    )
    delimiter: str = Field(
        default=",", pattern=r"^[\t !#-~]$", description="Of CSV fields: one ASCII character."
    )

    @property
    def shown(self) -> str:
        """The path as it may be shown."""
        return redact_place(self.path)

    @field_serializer("path", when_used="json")
    def _show(self, path: str) -> str:
        """Redact credentials: others store a policy's JSON, in manifests or on Prefect's server."""
        return redact_place(path)
