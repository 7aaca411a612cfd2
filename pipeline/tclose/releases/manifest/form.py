"""The form of a public manifest: checked before anything in it is believed or computed with.

Keys that are not named here are let through: versions add some. Whatever is read has its type, and
numbers are finite and have at most 64 bits.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tclose.data.keys import FOLDER_TYPES
from tclose.data.places.untrusted_files import MalformedError
from tclose.model import Distance, Kind, Role

_MOST_TOLD = 3
_MOST_CELLS = 50_000_000  # of a taxonomy: its values by its levels
_FOLDER_TYPES = frozenset(map(str, FOLDER_TYPES))


def _check_distinct(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise ValueError("has an entry twice")
    return values


def _check_date(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _check_rows(rows: list[list[str]]) -> list[list[str]]:
    if len(rows) * max(map(len, rows), default=0) > _MOST_CELLS:
        raise ValueError("has too many levels for its values")
    return rows


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0)]
AtMostOne = Annotated[float, Field(ge=0, le=1)]
Names = Annotated[list[str], AfterValidator(_check_distinct)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _K(_Form):
    asked: Positive
    achieved: Count


class _Limit(_Form):
    asked: AtMostOne
    largest_emd: Share
    distance: Annotated[Distance, Field(strict=False)] | None = None
    of: str | None = None


class _Joint(_Form):
    asked: AtMostOne
    largest_emd: Share
    distance: Literal["equal"]
    attributes: Annotated[Names, Field(min_length=2)]


class _Model(_Form):
    name: str
    attribute: str
    asked: dict[str, int | float | Literal["value"] | list[list[str]]]
    reached: float | None
    failing_classes: Count
    holds_for: str = ""
    epsilon: float = 0.0
    epsilon_is_about: str = ""
    epsilon_assumes: list[str] = []


class _Privacy(_Form):
    k: _K
    t: dict[str, _Limit]
    joint: list[_Joint] = []
    models: list[_Model] | None = None


class _Noise(_Form):
    epsilon: Annotated[float, Field(gt=0, le=100)]
    mechanism: str
    low: float | None
    high: float | None
    step: Annotated[float, Field(gt=0)]
    values: list[str | int | float]
    stochastic_t: float
    asked_t: float | None = None

    @model_validator(mode="after")
    def _check_ends(self) -> "_Noise":
        if (self.low is None) != (self.high is None) or (self.low or 0) > (self.high or 0):
            raise ValueError("low and high are no range")
        return self


class _Values(_Form):
    compared: Names
    as_buckets: Names
    left_out: dict[str, str]
    records: Count
    result: Literal["identical"]


class _Classes(_Form):
    n_classes: Count
    smallest: Count
    largest: Count
    mean: Share


class _Loss(_Form):
    total: float
    per_attribute: dict[str, float]


class _Column(_Form):
    name: Annotated[str, Field(min_length=1)]
    role: Annotated[Role, Field(strict=False)]
    kind: Annotated[Kind, Field(strict=False)]
    type: str
    treatment: str
    distance: Annotated[Distance, Field(strict=False)] | None = None
    order: Names | None = None
    taxonomy: Annotated[list[list[str]], AfterValidator(_check_rows)] = []
    generalised: bool = False
    noised: bool = False
    bucketed: bool = False

    @model_validator(mode="after")
    def _check_order(self) -> "_Column":
        is_compared = self.role is Role.CONFIDENTIAL and not self.noised
        if self.kind is Kind.ORDINAL and is_compared and not self.order:
            raise ValueError("is ordinal and has no order")
        return self


class _File(_Form):
    # Readers skip folders and files whose names begin with a dot or an underscore.
    path: Annotated[str, Field(pattern=r"^data/([^/._=][^/=]*=[^/]*/)*part-[0-9]{5,}\.[a-z0-9]+$")]
    rows: Count
    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Document(_Form):
    path: str
    bytes: Count
    sha256: str


class _Code(_Form):
    tclose: str


class _Manifest(_Form):
    format: Positive
    name: str
    release_id: str
    published_at: Annotated[str, AfterValidator(_check_date)]
    verdict: str
    method: str
    privacy: _Privacy
    noise: dict[str, _Noise] = {}
    values: _Values | None = None
    records: Count
    classes: _Classes
    risk: dict[str, Any] | None = None
    information_loss: _Loss
    partition_by: Names
    columns: list[_Column]
    files: list[_File]
    documents: list[_Document] = []
    code: _Code

    @model_validator(mode="after")
    def _check_names(self) -> "_Manifest":
        types = {column.name: column.type for column in self.columns}
        if len(types) != len(self.columns):
            raise ValueError("columns: one is named twice")
        for name in self.partition_by:
            if types and types.get(name) not in _FOLDER_TYPES:
                raise ValueError("partition_by: names no column whose values can name folders")
        for listed in (self.files, self.documents):
            paths: Sequence[str] = [entry.path for entry in listed]
            if len(set(paths)) != len(paths):
                raise ValueError("a file is listed twice")
        depth = len(self.partition_by) + 1
        if any(file.path.count("/") != depth for file in self.files):
            raise ValueError("files: one is not in a folder for each column of partition_by")
        _check_values(self)
        return self


def _check_values(manifest: _Manifest) -> None:
    """See that the comparison with the input is told of every column that may be compared."""
    told = manifest.values
    if told is None:  # an earlier version compared nothing
        return
    of_records = {c.name for c in manifest.columns if c.role is not Role.QUASI_IDENTIFIER}
    bucketed = {column.name for column in manifest.columns if column.bucketed}
    if {*told.compared, *told.left_out} != of_records or set(told.as_buckets) != bucketed:
        raise ValueError("values: the columns are not those of the release")
    if told.records != manifest.records:
        raise ValueError("values: records differs")


def check_form(manifest: Any) -> None:
    """See that a manifest is one.

    Raises
    ------
    MalformedError
        It is not; names the first keys that are wrong, not what they hold.
    """
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        told = [_describe(problem) for problem in problems[:_MOST_TOLD]]
        more = f"; and {len(problems) - _MOST_TOLD:,} more" if len(problems) > _MOST_TOLD else ""
        raise MalformedError(f"is damaged ({'; '.join(told)}{more})") from None


def _describe(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"]))
    reason = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason
