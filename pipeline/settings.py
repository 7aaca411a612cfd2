"""The policy: what a release officer asks for, read from YAML and refused where it is wrong."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from pipeline.as_of import NAME_WITH_DATE, fill_as_of
from pipeline.attribute_settings import AttributeSettings
from pipeline.engine_settings import EngineSettings
from pipeline.errors import PolicyError
from pipeline.method_settings import MethodSettings
from pipeline.model import ANCESTOR, Attribute, Role
from pipeline.policy_files import override_key, read_document
from pipeline.policy_problems import describe_problems
from pipeline.privacy_settings import PrivacySettings
from pipeline.setting_values import NO_NUL, Settings
from pipeline.stages.methods.method import GENERALISING, QUADRATIC, T_CLOSENESS_FIRST
from pipeline.stages.requirements import Model, Requirement


class InputSettings(Settings):
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


# Why some methods cannot hold classes to a joint t.
_WITHOUT_JOINT = {
    "k-anonymity-first": "works with the ordered distance",
    "bucketization": "works with one confidential attribute",
    "sabre": "works with one confidential attribute",
    "dp-confidential": "has noise in the place of a t",
}


class OutputSettings(Settings):
    """Where the release goes and how it is cut into files."""

    path: str = Field(
        default="releases",
        min_length=1,
        pattern=NO_NUL,
        description="Folder, or s3://bucket/folder (endpoint and credentials: the environment).",
    )
    partition_by: tuple[str, ...] = ()
    rows_per_file: int = Field(default=1_000_000, ge=1)


class Policy(Settings):
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
        self.privacy.check_attributes(self.confidential, self._noised)
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

    @property
    def _noised(self) -> tuple[str, ...]:
        """Names of the confidential attributes that are released with noise."""
        return tuple(n for n, a in self.attributes.items() if a.noise is not None)

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

    def resolve_attributes(self) -> tuple[Attribute, ...]:
        """The attributes as values, each confidential one with the t that holds for it."""
        pairs = self.attributes.items()
        resolved = (given.resolve(name, self.privacy.limit(name)) for name, given in pairs)
        return tuple(map(self._limit_noise, resolved))

    def _limit_noise(self, attribute: Attribute) -> Attribute:
        """The attribute, its noise with the t that it is held to."""
        if attribute.noise is None:
            return attribute
        limit = self.privacy.limit_noise(attribute.name)
        return replace(attribute, noise=replace(attribute.noise, max_t=limit))


def load_policy(
    path: str | Path, overrides: Sequence[str] = (), *, as_of: date | None = None
) -> Policy:
    """Read a policy file, apply ``key=value`` overrides, and fill in the day.

    Raises
    ------
    PolicyError
        No such file, no YAML, unknown keys, values out of range; names key and remedy.
    """
    return parse_policy(read_document(path), overrides, source=str(path), as_of=as_of)


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
        document = override_key(document, override)
    try:
        document = fill_as_of(document, as_of)
    except PolicyError as error:
        raise PolicyError(f"policy {source}: {error}") from None
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        problems = "\n".join(f"  {line}" for line in describe_problems(error, Policy))
        raise PolicyError(f"policy {source}:\n{problems}") from None


def policy_schema() -> dict[str, Any]:
    """JSON Schema of the policy, for editors; an attribute may be its role alone."""
    return Policy.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
