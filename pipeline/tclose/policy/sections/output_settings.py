"""The ``output`` section of a policy: where a release goes, and how it is cut into files."""

from typing import Annotated

from pydantic import Field, SerializeAsAny, field_serializer

from tclose.data.formats.format_registry import DEFAULT_FORMAT
from tclose.data.formats.output_format import OutputFormat
from tclose.model.column_terms import UNRELEASED, Role
from tclose.model.setting_fields import NO_NUL, WHOLE, Folder, Settings
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.security.redaction import redact_place

FOLDER_ROLES = (Role.QUASI_IDENTIFIER, Role.NON_CONFIDENTIAL)


class OutputSettings(Settings):
    """The release's location, and its division into files."""

    path: Folder = Field(
        default="releases",
        description="Folder, or s3://bucket/folder (endpoint and credentials: the environment).",
    )
    format: SerializeAsAny[OutputFormat] = Field(
        default_factory=lambda: OutputFormat.model_validate(DEFAULT_FORMAT),
        json_schema_extra={"default": DEFAULT_FORMAT},
        description="Of the files: a name, or a section of a name and keys.",
    )
    partition_by: tuple[str, ...] = Field(
        default=(),
        description="Non-confidential columns, whose values no class mixes, or quasi-identifiers "
        "by their released values; they become folders.",
        examples=[["year"]],
    )
    rows_per_file: Annotated[int, Field(ge=1), WHOLE] = Field(
        default=1_000_000, description="Records in a file, at most."
    )
    signing_key: str | None = Field(
        default=None,
        min_length=1,
        pattern=NO_NUL,
        description="File of the private key that signs manifests, as `tclose keys` makes it; by "
        "default the one that TCLOSE_SIGNING_KEY names, if any.",
        examples=["tclose-keys/signing-key.pem"],
    )

    @field_serializer("path", when_used="json")
    def _show(self, path: str) -> str:
        return redact_place(path)

    def check_columns(self, attributes: dict[str, AttributeSettings]) -> None:
        """Refuse to make folders of columns that cannot be, or that readers would skip."""
        for name in self.partition_by:
            self._check_folder(name, attributes)
        if len(set(self.partition_by)) != len(self.partition_by):
            raise ValueError("output.partition_by names a column twice")
        if len(self.partition_by) == len(attributes):
            raise ValueError("output.partition_by names every column; none is left for the files")

    def _check_folder(self, name: str, attributes: dict[str, AttributeSettings]) -> None:
        if name.startswith(("_", ".")):
            raise ValueError(
                f"output.partition_by: {name!r} begins with {name[0]!r}, and folders that do "
                "are skipped by pandas, pyarrow and Spark; rename the column in the data"
            )
        alike = [n for n in attributes if n != name and n.lower() == name.lower()]
        if any(attributes[n].role not in UNRELEASED for n in alike):
            raise ValueError(
                f"output.partition_by: {name!r} and {alike[0]!r} differ by case alone, and not "
                "at all to some readers; rename one of them in the data"
            )
        if name not in attributes or attributes[name].role not in FOLDER_ROLES:
            raise ValueError(
                f"output.partition_by: {name!r} has to be a quasi-identifier or a "
                "non-confidential attribute of the policy"
            )
