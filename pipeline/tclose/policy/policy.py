"""The policy: what a release officer asks for, read from YAML and refused where it is wrong."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from tclose.data.files.input_settings import InputSettings, check_marks
from tclose.errors import PolicyError, UsageError, name_kind
from tclose.methods.method import name_methods
from tclose.model.attributes import ANCESTOR, Attribute
from tclose.model.column_terms import UNRELEASED, Role
from tclose.model.setting_fields import WHOLE, Settings
from tclose.policy.as_of_day import NAME_WITH_DATE, fill_as_of, to_day
from tclose.policy.editor_schema import complete_for_editors
from tclose.policy.error_messages import describe_problems
from tclose.policy.method_attributes import (
    check_bucketed,
    check_generalisation,
    check_no_t,
    check_noise_keys,
)
from tclose.policy.person_role import (
    check_changing,
    check_held,
    check_over_time,
    check_person_role,
    check_together,
)
from tclose.policy.sections.about_settings import AboutSettings
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.policy.sections.method_settings import METHOD_FIELD, MethodSettings
from tclose.policy.sections.output_settings import OutputSettings
from tclose.policy.sections.privacy_settings import PrivacySettings
from tclose.policy.sections.suppress_settings import SuppressSettings, check_suppression
from tclose.policy.yaml_loader import override_key, read_document
from tclose.privacy.privacy_model import PrivacyModel

INDEX_OF_DASK = "__null_dask_index__"
SCHEMA_ID = "urn:tclose:schema:Policy:1"


class Policy(Settings):
    """A whole policy. Equal policies ask for the same release."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        json_schema_extra={"pattern": NAME_WITH_DATE},  # of the file, before the day is filled in
        description="Releases are stored below it; may have {as_of}, a day.",
        examples=["discharges", "discharges-{as_of:%Y-%m}"],
    )
    series: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Releases of the same persons that privacy.over_time holds together, under "
        "whatever names; by default those of the name.",
        examples=["panel"],
        exclude_if=lambda series: series is None,
    )
    input: InputSettings
    about: AboutSettings | None = Field(
        default=None,
        description="What people have to know of the data: title, licence, contact and the like.",
        exclude_if=lambda about: about is None,
    )
    unlisted: Literal["drop", "error"] = Field(
        default="error", description="What is done about columns that the policy does not name."
    )
    attributes: dict[str, AttributeSettings] = Field(
        min_length=1,
        description="The role of every column, alone or in a section of its own.",
        examples=[
            {
                "patient_id": "identifier",
                "age": "quasi-identifier",
                "charge": {"role": "confidential", "t": 0.15},
            }
        ],
    )
    unconfirmed: Annotated[
        dict[Role, tuple[str, ...]],
        BeforeValidator(
            lambda value: {} if value is None else value,  # once all of its lines were taken out
            json_schema_input_type=dict[Role, tuple[str, ...]] | None,
        ),
    ] = Field(
        default={},
        description="Columns whose role `tclose init` suggested and nobody has confirmed, by that "
        "role. A run refuses them: read them under attributes, then take them out here.",
        examples=[{"quasi-identifier": ["age", "zip"]}],
        exclude_if=lambda columns: not columns,
    )
    privacy: PrivacySettings
    missing: Literal["error", "drop"] = Field(
        default="error", description="What is done about records without a value that is needed."
    )
    suppress: SuppressSettings | None = Field(
        default=None,
        description="Records that may be left out where that buys much information.",
        examples=[{"at_most": "1%"}],
        exclude_if=lambda settings: settings is None,
    )
    method: MethodSettings = METHOD_FIELD
    output: OutputSettings = OutputSettings()
    engine: EngineSettings = EngineSettings()
    seed: Annotated[int, Field(ge=0, lt=2**63), WHOLE] = Field(
        default=1,
        description="Decides how ties are broken and how refinement groups classes; no secret.",
    )

    @model_validator(mode="after")
    def _check_roles(self) -> "Policy":
        roles = [attribute.role for attribute in self.attributes.values()]
        if Role.QUASI_IDENTIFIER not in roles:
            raise ValueError("attributes: no quasi-identifier; at least one is needed")
        self.privacy.check_attributes(self.confidential, self._noised)
        self._check_joint()
        for name, attribute in self.attributes.items():
            check_noise_keys(name, attribute, self.method)
            check_generalisation(name, attribute, self.method)
            self._check_spelling(name, attribute)
            needs_t = attribute.role is Role.CONFIDENTIAL and attribute.t is None
            needs_t = needs_t and attribute.noise is None and not self.method.require_models([name])
            if needs_t and self.privacy.t is None and not self.privacy.covers(name):
                raise ValueError(
                    f"privacy.t is missing: {name!r} is confidential and has no t; give either, "
                    "or a model of privacy.models, or a t of privacy.joint"
                )
        check_person_role(self.attributes, self.method, self.privacy.models)
        if self.privacy.persons == "together":
            check_together(
                roles,
                is_cut=bool(self.output.partition_by),
                is_held=self.privacy.over_time is not None,
            )
        self._check_names()
        self.output.check_columns(self.attributes)
        if self.method.draws_noise:
            check_no_t(self.method, self.privacy.t)
        if self.method.releases_buckets:
            for name in self.confidential:
                check_bucketed(name, self.attributes[name])
        self._check_series()
        if self.suppress is not None:
            check_suppression(
                roles,
                is_held=self.privacy.over_time is not None,
                draws_noise=self.method.draws_noise,
                is_cut=bool(self.output.partition_by),
            )
        return self

    @model_validator(mode="after")
    def _check_integers(self) -> "Policy":
        """Refuse integers that no reader of the internal manifest has to understand."""
        for place in _find_long_integers(self.model_dump(mode="json"), ""):
            raise ValueError(f"{place}: has an integer beyond 64 bits; take a smaller one")
        return self

    def _check_joint(self) -> None:
        """Refuse combinations that cannot be, and methods that could not hold classes to them."""
        self.privacy.check_joint(self.confidential, self.attributes)
        reason = self.method.without_joint
        if self.privacy.joint and reason:
            *others, last = name_methods(lambda m: m.holds_t and not m.without_joint)
            raise ValueError(
                f"privacy.joint: does not go with {self.method.name}, which {reason}; take "
                f"{', '.join(others)} or {last}"
            )

    def _check_spelling(self, name: str, attribute: AttributeSettings) -> None:
        spelled = attribute.text_format(self.input.text_format)
        try:
            check_marks(spelled.decimal, spelled.thousands)
        except ValueError as error:
            raise ValueError(f"attributes.{name}: {error}") from None

    def _check_series(self) -> None:
        """Refuse what is not held over time, and a series that nothing is held over."""
        if self.privacy.over_time is not None:
            check_over_time(
                [attribute.role for attribute in self.attributes.values()],
                self.method.name,
                is_cut=bool(self.output.partition_by),
                is_joint=bool(self.privacy.joint),
            )
            check_changing(self.resolve_attributes())
            if self.privacy.over_time.departures == "hold":
                check_held(self.resolve_attributes())
        elif self.series is not None:
            raise ValueError(
                "series: goes with privacy.over_time, which holds the releases of a series "
                "together; give that, or take series out"
            )

    def _check_names(self) -> None:
        """Refuse names of released columns that readers take for something else, or skip."""
        for name, attribute in self.attributes.items():
            if name in ("", INDEX_OF_DASK) and attribute.role not in UNRELEASED:
                what = f"{name!r}, which dask takes for an index" if name else "no name"
                raise ValueError(
                    f"attributes: a column of {what}, cannot be released; rename it in the data"
                )

    @property
    def confidential(self) -> tuple[str, ...]:
        """Names of the confidential attributes that are released as they are."""
        pairs = self.attributes.items()
        return tuple(n for n, a in pairs if a.role is Role.CONFIDENTIAL and a.noise is None)

    @property
    def _noised(self) -> tuple[str, ...]:
        """Names of the confidential attributes that are released with noise."""
        return tuple(n for n, a in self.attributes.items() if a.noise is not None)

    @property
    def series_name(self) -> str:
        """The series that the releases are of."""
        return self.name if self.series is None else self.series

    def without_series(self) -> "Policy":
        """Return the policy of a release that stands alone."""
        privacy = self.privacy.model_copy(update={"over_time": None})
        return self.model_copy(update={"privacy": privacy, "series": None})

    def without_suppression(self) -> "Policy":
        """Return the policy of records of which some are without a value, to be left out."""
        if self.suppress is None:
            return self
        return self.model_copy(update={"suppress": None, "missing": "drop"})

    def check_confirmed(self) -> None:
        """Refuse roles that were suggested and that nobody has confirmed.

        Raises
        ------
        PolicyError
        """
        waiting = [f"{len(names):,} {role}" for role, names in self.unconfirmed.items() if names]
        if waiting:
            raise PolicyError(
                f"policy {self.name}: unconfirmed: the roles of its columns are suggestions "
                f"({', '.join(waiting)}); read them under attributes, correct what is wrong, take "
                "each line that is right out of unconfirmed, and run again"
            )

    def require_models(self) -> tuple[PrivacyModel, ...]:
        """Return the unbound requirements of the models and of the method on the attributes."""
        of_method = self.method.require_models(self.confidential)
        return (*self.privacy.require(self.confidential), *of_method)

    def combine_attributes(self) -> tuple[Attribute, ...]:
        """The joint attributes that `privacy.joint` asks for."""
        return self.privacy.combine(self.confidential)

    def resolve_attributes(self) -> tuple[Attribute, ...]:
        """The attributes as values, each confidential one with the t that holds for it."""
        pairs = self.attributes.items()
        resolved = (settings.resolve(name, self.privacy.limit(name)) for name, settings in pairs)
        keeps_shares = not self.method.generalises and self.privacy.over_time is None
        return tuple(
            replace(self._release_groups(self._limit_noise(one)), keeps_shares=keeps_shares)
            for one in resolved
        )

    def _release_groups(self, attribute: Attribute) -> Attribute:
        """The attribute; of grouped values a class releases the group, if it is not told else."""
        if attribute.grouping is None or attribute.aggregate or self.method.generalises:
            return attribute
        return replace(attribute, aggregate=ANCESTOR)

    def _limit_noise(self, attribute: Attribute) -> Attribute:
        """The attribute, its noise with the t that it is held to."""
        if attribute.noise is None:
            return attribute
        limit = self.privacy.limit_noise(attribute.name)
        return replace(attribute, noise=replace(attribute.noise, max_t=limit))


def _find_long_integers(value: Any, place: str) -> Iterator[str]:
    """Keys that have integers which need more than 64 bits, with a sign."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield place
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _find_long_integers(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_long_integers(inner, place)


def load_policy(
    path: str | os.PathLike[str],
    overrides: str | Sequence[str] = (),
    *,
    as_of: date | str | None = None,
) -> Policy:
    """Read a policy file, apply ``key=value`` overrides (one text or several), fill in the day.

    ``as_of``: a date (of a datetime its date), or text as in ``2026-11-01``.

    Raises
    ------
    UsageError
        An override or a day that is none.
    PolicyError
        No such file, no YAML, unknown keys, values out of range; names key and remedy.
    """
    return parse_policy(read_document(path), overrides, source=os.fspath(path), as_of=as_of)


def _list_overrides(overrides: object) -> list[str]:
    if isinstance(overrides, str):
        return [overrides]
    wanted = "has to be texts, as in ['privacy.t=0.05']"
    if not isinstance(overrides, Iterable):
        raise UsageError(f"overrides: {wanted} (given: {name_kind(overrides)})")
    listed = list(overrides)
    for override in listed:
        if not isinstance(override, str):
            raise UsageError(f"overrides: {wanted} (one is {name_kind(override)})")
    return listed


def parse_policy(
    document: Any,
    overrides: str | Sequence[str] = (),
    *,
    source: str = "given",
    as_of: date | str | None = None,
) -> Policy:
    """Check a policy that was read already; ``source`` names it in errors."""
    if not isinstance(document, dict):
        raise PolicyError(f"policy {source}: has to be a mapping of keys; see `tclose schema`")
    for override in _list_overrides(overrides):
        document = override_key(document, override)
    day = to_day(as_of)
    try:
        document = fill_as_of(document, day)
    except PolicyError as error:
        raise PolicyError(f"policy {source}: {error}") from None
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        problems = "\n".join(f"  {line}" for line in describe_problems(error, Policy))
        raise PolicyError(f"policy {source}:\n{problems}") from None


def policy_schema() -> dict[str, Any]:
    """JSON Schema of the policy, for editors; an attribute may be its role alone."""
    return complete_for_editors(Policy.model_json_schema(), SCHEMA_ID)
