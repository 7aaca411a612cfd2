"""The public manifest of a release, ``manifest.json``: handed out with the data.

It is checked before anything in it is believed or computed with: `parse_manifest` is the door.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator

from tclose.data.places.untrusted_files import MalformedError, parse_json
from tclose.model.column_terms import Role
from tclose.releases.manifest.figure_sections import About, ReleaseFigures
from tclose.releases.manifest.privacy_sections import NoiseResult, Privacy
from tclose.releases.manifest.sections import (
    ClassesSection,
    Code,
    Count,
    DataFile,
    Document,
    HeldSection,
    InformationLoss,
    LeftOutOverTimeSection,
    LeftOutSection,
    Names,
    Positive,
    RecordComparison,
    Refinement,
    ReleasedColumn,
    RiskSection,
    Section,
    SuppressedSection,
)

FORMAT = 4  # 1 may lack further models, attacks and distances; 2 has no seals; 3 no report
SCHEMA_ID = f"urn:tclose:schema:Manifest:{FORMAT}"
_MOST_TOLD = 3


def _check_date(text: str) -> str:
    date = datetime.fromisoformat(text)
    try:  # dates are compared as moments, and the first and last days have none in some zones
        (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("is not a time in the years 1 to 9999") from None
    return text


def can_name_folders(arrow_type: str) -> bool:
    """Return whether the values of a type can be in the names of folders."""
    from tclose.data.keys import FOLDER_TYPES  # slow to import, and few releases have folders

    return arrow_type in map(str, FOLDER_TYPES)


class Manifest(Section):
    """The public statements of a release: its columns, privacy, classes, loss and files.

    It does not say where the data came from, which seed was used, or, but in whole percent, how
    many records were left out. What has a default is missing where an earlier version made the
    release.
    """

    format: Positive
    """Form of the manifest: a reader of an earlier one does not know what this one says."""
    name: str
    about: About | None = None
    """The publisher's words, where the policy has any."""
    release_id: str
    published_at: Annotated[str, AfterValidator(_check_date)]
    """Time of publication, as in ISO 8601."""
    verdict: str
    """``pass``: nothing else is published."""
    method: str
    privacy: Privacy
    noise: dict[str, NoiseResult] = Field(default_factory=dict)
    """Noise of each attribute that has some, by its name."""
    values: RecordComparison | None = None
    records: Count
    left_out: LeftOutSection | None = None
    """Present if records were left out for a missing value."""
    suppressed: SuppressedSection | None = None
    """Present if records were left out as isolated ones."""
    left_out_over_time: LeftOutOverTimeSection | None = None
    """Present if earlier releases of its series decide what the release may have."""
    held: HeldSection | None = None
    """Present if records of persons who left are held."""
    classes: ClassesSection
    risk: RiskSection | None = None
    information_loss: InformationLoss
    """Losses to three digits."""
    refinement: Refinement | None = None
    figures: ReleaseFigures | None = None
    """Figures that the report is drawn from."""
    partition_by: Names
    """Columns whose values are in the names of folders."""
    columns: list[ReleasedColumn]
    files: list[DataFile]
    code: Code
    documents: list[Document] = Field(default_factory=list)

    @property
    def bucketed(self) -> tuple[str, ...]:
        """Names of the columns that are released as buckets."""
        return tuple(column.name for column in self.columns if column.bucketed)

    @property
    def published(self) -> datetime:
        """The moment of publication."""
        return datetime.fromisoformat(self.published_at)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        types = {column.name: column.type for column in self.columns}
        if len(types) != len(self.columns):
            raise ValueError("columns: one is named twice")
        if types and not all(can_name_folders(types.get(name, "")) for name in self.partition_by):
            raise ValueError("partition_by: names no column whose values can name folders")
        inside = {c.name for c in self.columns if c.role is Role.CONFIDENTIAL or c.noised}
        if inside.intersection(self.partition_by):
            raise ValueError("partition_by: names a confidential column")
        for listed in (self.files, self.documents):
            paths: Sequence[str] = [entry.path for entry in listed]
            if len(set(paths)) != len(paths):
                raise ValueError("a file is listed twice")
        depth = len(self.partition_by) + 1
        if any(file.path.count("/") != depth for file in self.files):
            raise ValueError("files: one is not in a folder for each column of partition_by")
        self._check_values()
        self._check_figures()
        return self

    def _check_figures(self) -> None:
        """See that what has figures has the t that they are drawn against."""
        named = () if self.figures is None else self.figures.attributes
        if not self.privacy.t.keys() >= set(named):
            raise ValueError("figures: attributes that have no t")

    def _check_values(self) -> None:
        """See that the comparison with the input names every column that may be compared."""
        if self.values is None:  # an earlier version compared nothing
            return
        of_records = {c.name for c in self.columns if c.role is not Role.QUASI_IDENTIFIER}
        named = {*self.values.compared, *self.values.left_out}
        if named != of_records or set(self.values.as_buckets) != set(self.bucketed):
            raise ValueError("values: the columns are not those of the release")
        if self.values.records != self.records:
            raise ValueError("values: records differs")


Parsed = TypeVar("Parsed", bound=Section)


def parse_manifest(content: bytes) -> Manifest:
    """The public manifest of these bytes, of a format that this version knows.

    Raises
    ------
    MalformedError
        They are none; names the first keys that are wrong, not what they hold.
    """
    document = parse_json(content)
    written = document.get("format") if isinstance(document, dict) else None
    if type(written) is int and written > FORMAT:
        raise MalformedError(f"is of format {written}; audit it with a later version")
    return _validate(Manifest, document)


def parse_as(kind: type[Parsed], content: bytes) -> Parsed:
    """The manifest, or the part of one, that these bytes are, of any format that has what is read.

    Raises
    ------
    MalformedError
        As `parse_manifest`.
    """
    return _validate(kind, parse_json(content))


def _validate(kind: type[Parsed], document: object) -> Parsed:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        named = [_describe(problem) for problem in problems[:_MOST_TOLD]]
        more = f"; and {len(problems) - _MOST_TOLD:,} more" if len(problems) > _MOST_TOLD else ""
        raise MalformedError(f"is damaged ({'; '.join(named)}{more})") from None


def _describe(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"]))
    reason = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason
