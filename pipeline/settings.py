"""The policy: what a release officer asks for, read from YAML and refused where it is wrong."""

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pipeline.as_of import NAME_WITH_DATE, fill_as_of
from pipeline.engine_settings import EngineSettings
from pipeline.errors import PolicyError, UsageError
from pipeline.model import ANCESTOR, Attribute, Distance, Kind, Noise, Role
from pipeline.privacy_settings import (
    MODELS,
    JointSettings,
    PrivacySettings,
    Scalar,
    Threshold,
    refuse_truth,
)
from pipeline.stages.intervals import build_intervals
from pipeline.stages.methods.method import GENERALISING, QUADRATIC, T_CLOSENESS_FIRST
from pipeline.stages.requirements import Model, Requirement
from pipeline.taxonomy_files import read_rows

NO_NUL = r"^[^\x00]*$"


def _read_off(value: Any) -> Any:
    """YAML reads ``off`` as false; ``on`` says nothing of how long to search."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return value


TimeBudget = Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?(s|min|h)$")]


Taxonomy = Annotated[
    tuple[tuple[str, ...], ...],
    BeforeValidator(read_rows, json_schema_input_type=str | dict[str, Any] | list[list[str]]),
]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class InputSettings(_Settings):
    """Where the microdata are."""

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


Number = Annotated[int | float, BeforeValidator(refuse_truth)]


class IntervalSettings(_Settings):
    """Intervals that numbers are generalised to, level by level."""

    widths: tuple[Number, ...] = Field(
        min_length=1, description="Of the intervals; each a multiple of the one before."
    )
    origin: Number = Field(default=0, description="Where an interval of every level begins.")

    @model_validator(mode="after")
    def _check_widths(self) -> "IntervalSettings":
        try:
            build_intervals(self.widths, self.origin)
        except PolicyError as error:
            raise ValueError(str(error).removeprefix("intervals: ")) from None
        return self


class NoiseSettings(_Settings):
    """Differentially private noise: what can be released comes from here, never from the data."""

    epsilon: Number = Field(ge=1e-6, le=30, description="Of one record's value.")
    low: Number | None = Field(default=None, description="Of numbers: values are moved to it.")
    high: Number | None = Field(default=None, description="Of numbers: values are moved to it")
    step: Number = Field(default=1, gt=0, description="Of numbers: from low to high in steps.")
    values: tuple[str, ...] = Field(default=(), description="Of nominal values: all there can be.")


class AttributeSettings(_Settings):
    """What one column is and how it is treated."""

    role: Role
    type: Kind | None = Field(default=None, description="Inferred where it is not given.")
    order: tuple[Scalar, ...] | None = Field(
        default=None, description="The values of an ordinal attribute, lowest first."
    )
    t: Threshold | None = Field(default=None, description="Overrides privacy.t.")
    distance: Distance | None = Field(
        default=None,
        description="Of a confidential attribute's values: ordered (default), equal (default of "
        "nominal ones), hierarchical (default with a taxonomy).",
    )
    taxonomy: Taxonomy | None = Field(
        default=None,
        description="Of nominal values: a file .yaml or .csv, or nested keys and lists as in "
        "{any: {fruit: [apple, pear]}}.",
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
    aggregate: Literal["mean", "median", "mode", "ancestor"] | None = Field(
        default=None,
        description="numeric and date: mean (default) or median; nominal with a taxonomy: mode "
        "(default) or ancestor, the lowest node above a class's values.",
    )
    round: bool = Field(
        default=True, description="false: an integer quasi-identifier is released as a float."
    )

    @model_validator(mode="before")
    @classmethod
    def _expand_role(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say that an attribute may be its role alone."""
        full = handler.resolve_ref_schema(handler(schema))
        return {"title": "Attribute", "anyOf": [full["properties"]["role"], full]}

    @model_validator(mode="after")
    def _check_consistency(self) -> "AttributeSettings":
        if self.t is not None and self.role is not Role.CONFIDENTIAL:
            raise ValueError("t belongs to confidential attributes only")
        if self.noise is not None and self.role is not Role.CONFIDENTIAL:
            raise ValueError("noise belongs to confidential attributes only")
        if self.noise is not None and self.t is not None:
            raise ValueError("noise gives a t of its own; take t out")
        if self.noise is not None and (self.distance or self.taxonomy or self.subsets_by):
            raise ValueError(
                "noise: no class is held to a distance of such values; take distance, taxonomy and "
                "subsets_by out"
            )
        if self.role is not Role.QUASI_IDENTIFIER and (self.aggregate or not self.round):
            raise ValueError("aggregate and round belong to quasi-identifiers only")
        self._check_intervals()
        self._check_order()
        self._check_distance()
        self._check_aggregate()
        return self

    def _check_intervals(self) -> None:
        if self.intervals is None:
            return
        if self.role is not Role.QUASI_IDENTIFIER:
            raise ValueError("intervals belong to quasi-identifiers only")
        if self.taxonomy:
            raise ValueError("intervals go with numbers, a taxonomy with names; take one of them")
        if self.type not in (None, Kind.NUMERIC):
            raise ValueError("intervals go with type: numeric")

    def _check_distance(self) -> None:
        if self.role is not Role.CONFIDENTIAL and (self.distance or self.subsets_by):
            raise ValueError("distance and subsets_by belong to confidential attributes only")
        if self.taxonomy and self.type not in (None, Kind.NOMINAL):
            raise ValueError("taxonomy goes with type: nominal")
        if self.taxonomy and self.role not in (Role.CONFIDENTIAL, Role.QUASI_IDENTIFIER):
            raise ValueError("taxonomy belongs to quasi-identifiers and confidential attributes")
        if self.distance is Distance.HIERARCHICAL and not self.taxonomy:
            raise ValueError("distance: hierarchical needs a taxonomy")
        if self.subsets_by == "taxonomy" and not self.taxonomy:
            raise ValueError("subsets_by: taxonomy needs a taxonomy")
        if self.distance is Distance.ORDERED and self.type is Kind.NOMINAL:
            raise ValueError("distance: ordered does not go with type: nominal")

    def _check_order(self) -> None:
        if self.type is Kind.ORDINAL and not self.order:
            raise ValueError("type: ordinal needs order: [lowest, ..., highest]")
        if self.order is not None and self.type is not Kind.ORDINAL:
            raise ValueError("order goes with type: ordinal")
        texts = [str(value) for value in self.order or ()]
        if len(set(texts)) != len(texts):
            raise ValueError("order names a value twice")

    def _check_aggregate(self) -> None:
        if self.aggregate == ANCESTOR and not self.taxonomy:
            raise ValueError("aggregate: ancestor needs a taxonomy")
        if self.aggregate is None or self.type is None:
            return
        allowed = AGGREGATES[self.type]
        if self.aggregate not in allowed:
            raise ValueError(f"aggregate of type {self.type} can be {' or '.join(allowed)}")


AGGREGATES: dict[Kind, tuple[str, ...]] = {
    Kind.NUMERIC: ("mean", "median"),
    Kind.DATE: ("mean", "median"),
    Kind.ORDINAL: ("median",),
    Kind.BOOLEAN: ("mode",),
    Kind.NOMINAL: ("mode", ANCESTOR),
}


MethodName = Literal[
    "t-closeness-first",
    "mdav",
    "v-mdav",
    "microaggregate-and-merge",
    "k-anonymity-first",
    "bucketization",
    "dp-confidential",
    "mondrian",
    "incognito",
    "sabre",
]
# Why some methods cannot hold classes to a joint t.
_WITHOUT_JOINT = {
    "k-anonymity-first": "works with the ordered distance",
    "bucketization": "works with one confidential attribute",
    "sabre": "works with one confidential attribute",
    "dp-confidential": "has noise in the place of a t",
}
# Keys that only some methods have.
_METHOD_KEYS = {
    "scope": (T_CLOSENESS_FIRST, "mondrian", *QUADRATIC),
    "block_clusters": (T_CLOSENESS_FIRST,),
    "class_size": (T_CLOSENESS_FIRST,),
    "start": ("microaggregate-and-merge", "dp-confidential"),
    "gamma": ("v-mdav", "microaggregate-and-merge", "dp-confidential"),
    "buckets": ("bucketization",),
    "ratio": ("bucketization",),
    "release": ("bucketization",),
}


class MethodSettings(_Settings):
    """How classes are made."""

    name: MethodName = "t-closeness-first"
    scope: Literal["blocks", "table"] = Field(
        default="blocks", description="table: one block, as the algorithm is printed; slow."
    )
    block_clusters: int = Field(default=100, ge=1, description="Clusters in a block, at most.")
    class_size: Annotated[
        Annotated[int, Field(ge=2)] | Literal["auto", "paper"], BeforeValidator(refuse_truth)
    ] = Field(
        default="auto",
        description="Records in a cluster before refinement: auto leaves refinement half of t to "
        "spend, paper is eq. (3) of t-closeness-first, or a number.",
    )
    refine: Annotated[
        Annotated[int, Field(ge=0)] | TimeBudget | Literal["off", "fast", "full"],
        BeforeValidator(_read_off),
    ] = Field(
        default="fast",
        description="Search for less loss: off, fast, full, a number of rounds, or a time as in "
        "10min (only then the bytes depend on the machine's speed). Other methods than "
        "t-closeness-first: off unless it is given.",
    )
    start: Literal["mdav", "v-mdav"] = Field(
        default="mdav", description="What microaggregate-and-merge and dp-confidential begin with."
    )
    gamma: float = Field(default=0.2, ge=0, description="Of v-mdav: how freely clusters extend.")
    buckets: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="Of bucketization: how many; as many as ratio allows by default."
    )
    ratio: Annotated[float, Field(gt=1), BeforeValidator(refuse_truth)] | None = Field(
        default=None,
        description="Of bucketization: how many times as common a bucket may be in a class as in "
        "the table, or the other way round, at most.",
    )

    release: Literal["bucket", "value"] = Field(
        default="bucket",
        description="Of bucketization: the confidential attribute is released as its bucket, or as "
        "it is; the ratio then holds for buckets only, and there is no epsilon.",
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_as_printed(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "refine" in value:
            return value
        name = value.get("name", T_CLOSENESS_FIRST)
        return value if name == T_CLOSENESS_FIRST else value | {"refine": "off"}

    @model_validator(mode="after")
    def _check_method(self) -> "MethodSettings":
        given = [key for key in _METHOD_KEYS if not self._is_usual(key)]
        for key in given:
            if self.name not in _METHOD_KEYS[key]:
                names = " or ".join(_METHOD_KEYS[key])
                raise ValueError(f"{key} goes with {names}, not with {self.name}")
        if "gamma" in given and "v-mdav" not in (self.name, self.start):
            raise ValueError("gamma goes with start: v-mdav, not with mdav")
        if "block_clusters" in given and self.scope == "table":
            raise ValueError("block_clusters goes with scope: blocks, not with scope: table")
        if self.name == "bucketization" and self.ratio is None:
            raise ValueError("bucketization needs its ratio, as in ratio: 2")
        if self.name in (*GENERALISING, "bucketization") and self.refine not in ("off", 0):
            raise ValueError(f"refine does not go with {self.name}, take it out")
        return self

    def _is_usual(self, key: str) -> bool:
        """Whether a key asks for nothing but its default."""
        return bool(getattr(self, key) == type(self).model_fields[key].default)


class OutputSettings(_Settings):
    """Where the release goes and how it is cut into files."""

    path: str = Field(default="releases", min_length=1, pattern=NO_NUL)
    partition_by: tuple[str, ...] = ()
    rows_per_file: int = Field(default=1_000_000, ge=1)


class Policy(_Settings):
    """A whole policy. Equal policies ask for the same release."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        json_schema_extra={"pattern": NAME_WITH_DATE},  # of the file, before the day is filled in
    )
    input: InputSettings
    unlisted: Literal["drop", "error"] = "error"
    attributes: dict[str, AttributeSettings] = Field(min_length=1)
    privacy: PrivacySettings
    missing: Literal["error", "drop"] = "error"
    method: MethodSettings = MethodSettings()
    output: OutputSettings = OutputSettings()
    engine: EngineSettings = EngineSettings()
    seed: int = Field(default=1, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _check_roles(self) -> "Policy":
        roles = [attribute.role for attribute in self.attributes.values()]
        if Role.QUASI_IDENTIFIER not in roles:
            raise ValueError("attributes: no quasi-identifier; at least one is needed")
        self.privacy.check_attributes(self.confidential)
        self._check_joint()
        for name, attribute in self.attributes.items():
            self._check_noise(name, attribute)
            self._check_generalisation(name, attribute)
            needs_t = attribute.role is Role.CONFIDENTIAL and attribute.t is None
            needs_t = needs_t and attribute.noise is None and self.method.ratio is None
            if needs_t and self.privacy.t is None and not self.privacy.covers(name):
                raise ValueError(
                    f"privacy.t is missing: {name!r} is confidential and has no t; give either, "
                    "or a model of privacy.models, or a t of privacy.joint"
                )
        self._check_partition_columns()
        return self

    def _check_joint(self) -> None:
        """Refuse combinations that cannot be, and methods that could not hold classes to them."""
        self.privacy.check_joint(self.confidential, self.attributes)
        reason = _WITHOUT_JOINT.get(self.method.name)
        if self.privacy.joint and reason is not None:
            raise ValueError(
                f"privacy.joint: does not go with {self.method.name}, which {reason}; take "
                f"{T_CLOSENESS_FIRST}, microaggregate-and-merge, mondrian or incognito"
            )

    def _check_noise(self, name: str, attribute: AttributeSettings) -> None:
        with_noise = self.method.name == "dp-confidential"
        if attribute.noise is not None and not with_noise:
            raise ValueError(f"attributes.{name}: noise goes with method.name: dp-confidential")
        if with_noise and attribute.role is Role.CONFIDENTIAL and attribute.noise is None:
            raise ValueError(
                f"attributes.{name}: noise is missing; dp-confidential needs its epsilon, and low "
                "and high or values"
            )

    def _check_generalisation(self, name: str, attribute: AttributeSettings) -> None:
        """Refuse keys of how a quasi-identifier is released that the method does not look at."""
        method = self.method.name
        if attribute.intervals is not None and method != "incognito":
            raise ValueError(
                f"attributes.{name}: intervals go with method.name: incognito, not with {method}"
            )
        if method not in GENERALISING:
            return
        if attribute.aggregate == ANCESTOR:
            raise ValueError(
                f"attributes.{name}: {method} releases nodes of a taxonomy of its own accord; take "
                "aggregate: ancestor out"
            )
        if attribute.aggregate or not attribute.round:
            raise ValueError(
                f"attributes.{name}: {method} generalises; aggregate and round go with "
                f"{T_CLOSENESS_FIRST} or bucketization or {' or '.join(QUADRATIC)}"
            )

    def _check_partition_columns(self) -> None:
        allowed = (Role.QUASI_IDENTIFIER, Role.NON_CONFIDENTIAL)
        columns = self.output.partition_by
        for name in columns:
            if name not in self.attributes or self.attributes[name].role not in allowed:
                raise ValueError(
                    f"output.partition_by: {name!r} has to be a quasi-identifier or a "
                    "non-confidential attribute of the policy"
                )
        if len(set(columns)) != len(columns):
            raise ValueError("output.partition_by names a column twice")
        if len(columns) == len(self.attributes):
            raise ValueError("output.partition_by names every column; none is left for the files")

    @property
    def confidential(self) -> tuple[str, ...]:
        """Names of the confidential attributes that are released as they are."""
        pairs = self.attributes.items()
        return tuple(n for n, a in pairs if a.role is Role.CONFIDENTIAL and a.noise is None)

    def require_models(self) -> tuple[Requirement, ...]:
        """What `privacy.models`, and bucketization, ask of the confidential attributes, unbound."""
        asked = self.privacy.require(self.confidential)
        if self.method.ratio is None:
            return asked
        ratio, of_values = Fraction(str(self.method.ratio)), self.method.release == "value"
        buckets = (
            Requirement(Model.RATIO, name, ratio, of_values=of_values) for name in self.confidential
        )
        return (*asked, *buckets)

    def combine_attributes(self) -> tuple[Attribute, ...]:
        """The joint attributes that `privacy.joint` asks for."""
        return self.privacy.combine(self.confidential)

    def check_comparable(self, what: str) -> None:
        """Refuse what compares records with released values where there is no such comparison.

        Raises
        ------
        PolicyError
            ``what`` does not go with the method; says why.
        """
        name = self.method.name
        if name in GENERALISING:
            raise PolicyError(
                f"{what} compares values with values, {name} releases intervals and sets; take a "
                "method that releases aggregates"
            )
        if name == "dp-confidential":
            raise PolicyError(
                f"{what} makes the release again, and {name} would draw its noise again; the "
                "manifest says what noise gives"
            )

    def resolve_attributes(self) -> tuple[Attribute, ...]:
        """The attributes as values, each confidential one with the t that holds for it."""
        return tuple(self._resolve(name, given) for name, given in self.attributes.items())

    def _resolve(self, name: str, given: AttributeSettings) -> Attribute:
        asked = self.privacy.limit(name) if given.t is None else Fraction(str(given.t))
        confidential = given.role is Role.CONFIDENTIAL and given.noise is None
        return Attribute(
            name=name,
            role=given.role,
            kind=Kind.NOMINAL if given.taxonomy else given.type,
            order=tuple(str(value) for value in given.order or ()),
            max_emd=asked if confidential else None,
            aggregate=given.aggregate,
            rounded=given.round,
            distance=given.distance,
            taxonomy=given.taxonomy or (),
            by_frequency=given.subsets_by == "frequency",
            intervals=_interval_texts(given.intervals),
            noise=_exact_noise(given.noise),
        )


def _interval_texts(given: IntervalSettings | None) -> tuple[tuple[str, ...], str] | None:
    """Widths and origin as they were written, 0.1 a tenth."""
    return None if given is None else (tuple(str(w) for w in given.widths), str(given.origin))


def _exact_noise(given: NoiseSettings | None) -> Noise | None:
    """Numbers as they were written, 0.1 a tenth."""
    if given is None:
        return None
    low, high = (None if end is None else Fraction(str(end)) for end in (given.low, given.high))
    return Noise(
        Fraction(str(given.epsilon)), low, high, Fraction(str(given.step)), tuple(given.values)
    )


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error: a column has one role."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                line = key_node.start_mark.line + 1
                raise PolicyError(f"key {key!r} stands twice (line {line}); say it once")
            seen.add(key if isinstance(key, str | int | float | bool) else repr(key))
        return super().construct_mapping(node, deep=deep)


def load_policy(
    path: str | Path, overrides: Sequence[str] = (), *, as_of: date | None = None
) -> Policy:
    """Read a policy file, apply ``key=value`` overrides, and fill in the day.

    Raises
    ------
    PolicyError
        No such file, no YAML, unknown keys, values out of range; names key and remedy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"policy {path}: cannot be read ({_reason(error)})") from None
    try:
        document = _read_yaml(text)
    except PolicyError as error:
        raise PolicyError(f"policy {path}: {error}") from None
    return parse_policy(document, overrides, source=str(path), as_of=as_of)


def _read_yaml(text: str) -> Any:
    """Parse YAML; a scalar that looks like a date but is none is an error of its syntax too."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise PolicyError(f"not valid YAML{where}; mend it") from None


def parse_policy(
    document: Any,
    overrides: Sequence[str] = (),
    *,
    source: str = "given",
    as_of: date | None = None,
) -> Policy:
    """Check a policy that was read already; ``source`` names it in errors."""
    if not isinstance(document, dict):
        raise PolicyError(f"policy {source}: has to be a mapping of keys; see `tclose schema`")
    for override in overrides:
        document = _override(document, override)
    try:
        document = fill_as_of(document, as_of)
    except PolicyError as error:
        raise PolicyError(f"policy {source}: {error}") from None
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        problems = "\n".join(f"  {line}" for line in _describe(error))
        raise PolicyError(f"policy {source}:\n{problems}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text"


_KEY_PART = re.compile(r'"([^"]*)"|([^."]+)')
_KEY = re.compile(r'("[^"]*"|[^."]+)(\.("[^"]*"|[^."]+))*')


def _override(document: dict[str, Any], override: str) -> dict[str, Any]:
    """Apply ``a.b=value``; a part with dots in it stands in double quotes."""
    key, equals, text = override.partition("=")
    parts = [quoted or plain for quoted, plain in _KEY_PART.findall(key)]
    if not equals or not _KEY.fullmatch(key):
        raise UsageError(f"--set {override}: has to be key=value, as in privacy.t=0.05")
    try:
        value = _read_yaml(text)
    except PolicyError as error:
        raise UsageError(f"--set {key}: {error}") from None
    return _replaced(document, parts, value, override)


def _replaced(node: Any, parts: list[str], value: Any, override: str) -> dict[str, Any]:
    if isinstance(node, str):
        node = {"role": node}  # an attribute in its short form
    if not isinstance(node, dict | None):
        raise UsageError(f"--set {override}: {parts[0]!r} has no keys below it")
    node = dict(node or {})
    deeper = len(parts) > 1
    node[parts[0]] = _replaced(node.get(parts[0]), parts[1:], value, override) if deeper else value
    return node


def _describe(error: ValidationError) -> list[str]:
    """One line for each key that is wrong: the key, what it has to be, and what was given."""
    lines: dict[str, None] = {}
    for problem in error.errors():
        location = _strip_branches(tuple(str(part) for part in problem["loc"]))
        message = _say(problem, location)
        lines[f"{'.'.join(location)}: {message}" if location else message] = None
    return list(lines)


def _strip_branches(location: tuple[str, ...]) -> tuple[str, ...]:
    """Without what pydantic puts last: names of union members, and places of items."""
    if location[:2] == ("privacy", "models"):  # a model is known by its name, not by its place
        return (*location[:2], *location[3:5])
    if location[:2] in (("engine", "tls"), ("engine", "kubernetes")):
        return location[:3]
    depth = {"engine": 2, "method": 2, "attributes": 1 if location[-1:] == ("[key]",) else 3}
    return location[: depth.get(location[0], len(location))] if location else ()


def _say(problem: Any, location: tuple[str, ...]) -> str:
    kind, given = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return f"unknown key; allowed: {', '.join(_allowed_keys(location[:-1]))}"
    if kind == "value_error":
        return str(problem["msg"].removeprefix("Value error, "))
    if kind == "missing":
        return "is missing"
    if problem["loc"][-1] == "[key]":
        return f"YAML reads a column name as {given!r}; put it in quotes"
    wanted = _WANTED.get((location[0], *location[2:])) or _WANTED.get(location)
    wanted = wanted or _WANTED_BY_PROBLEM.get(kind)
    message = wanted.format(**problem.get("ctx", {})) if wanted else problem["msg"]
    scalar = isinstance(given, str | int | float | None)
    return f"{message} (given: {given!r})" if scalar else message


_DNS_LABEL = "has to be small letters, digits and '-', beginning with a letter, 40 at most"
# What pydantic says of a key of several types or with a pattern is no help to a release officer.
# Keys of an attribute stand here without its name.
_WANTED: dict[tuple[str, ...], str] = {
    ("name",): "has to be letters, digits, '.', '_' and '-', beginning with one of the first two",
    ("input", "delimiter"): "has to be one ASCII character, not a quote or a line end",
    ("attributes", "taxonomy"): "has to be a file, or nested keys and lists of values",
    ("attributes", "order"): "has to be a list of texts and numbers, lowest first",
    ("method", "class_size"): "has to be auto, paper, or a whole number from 2",
    ("method", "refine"): "has to be off, fast, full, a number of rounds, or a time as in 10min",
    (
        "privacy",
        "models",
        "ratio-closeness",
        "buckets",
    ): "has to be a number of stretches from 2 to 1000, or groups of values as in [[a, b], [c]]",
    ("engine", "scheduler"): "has to be local, kubernetes, or an address as in tls://host:8786",
    ("engine", "cluster"): _DNS_LABEL,
    ("engine", "namespace"): _DNS_LABEL,
    ("engine", "workers"): "has to be a whole number from 1, or auto",
    ("engine", "memory_per_worker"): "has to be a size as in 4GB, or auto",
}
_WANTED_BY_PROBLEM = {
    "string_type": "has to be text; put it in quotes",
    "string_pattern_mismatch": "has to be text without NUL characters",
    "string_too_short": "is empty",
    "string_too_long": "has to be {max_length} long at most",
    "too_short": "is empty",
    "tuple_type": "has to be a list, as in [a, b]",
    "dict_type": "has to be keys and their values",
    "model_type": "has to be keys and their values",
    "int_type": "has to be a whole number",
    "int_parsing": "has to be a whole number",
    "int_from_float": "has to be a whole number",
    "float_type": "has to be a number",
    "float_parsing": "has to be a number",
    "finite_number": "has to be a number",
    "model_attributes_type": "has to be keys and their values, as in {{name: ..., l: 3}}",
    "union_tag_not_found": "each needs a name: " + ", ".join(MODELS),
    "union_tag_invalid": "a name has to be one of " + ", ".join(MODELS),
    "bool_type": "has to be true or false",
    "bool_parsing": "has to be true or false",
    "greater_than": "has to be above {gt:g}",
    "greater_than_equal": "has to be at least {ge}",
    "less_than": "has to be below {lt}",
    "less_than_equal": "has to be at most {le:g}",
    "enum": "has to be {expected}",
    "literal_error": "has to be {expected}",
}


def _allowed_keys(location: tuple[str, ...]) -> list[str]:
    model: Any = Policy
    if location[:2] == ("privacy", "models") and len(location) > 2:
        return sorted(MODELS[location[2]].model_fields)
    if location[:2] == ("privacy", "joint"):
        return sorted(JointSettings.model_fields)
    for part in location:
        if model is AttributeSettings or part not in getattr(model, "model_fields", {}):
            break
        annotation = model.model_fields[part].annotation
        sections = (kind for kind in get_args(annotation) if hasattr(kind, "model_fields"))
        model = AttributeSettings if part == "attributes" else next(sections, annotation)
    return sorted(model.model_fields)


def policy_schema() -> dict[str, Any]:
    """JSON Schema of the policy, for editors; an attribute may be its role alone."""
    return Policy.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
