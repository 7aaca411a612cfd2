"""The ``privacy`` section of a policy: k, t, joint t, and further models."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from pipeline.model import Attribute, Distance, Kind, Role
from pipeline.setting_values import Factor, Group, Many, Settings, Threshold, refuse_truth
from pipeline.stages.requirements import Model, Requirement


class _Model(Settings):
    """A model, asked of some confidential attributes."""

    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Confidential attributes; all if not given."
    )


class DistinctSettings(_Model):
    """At least l different values in each class."""

    name: Literal["distinct-l-diversity"]
    l: Many  # noqa: E741 (the papers' name)

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        return Requirement(Model.DISTINCT, attribute, Fraction(self.l))


class EntropySettings(_Model):
    """Entropy of each class at least log l."""

    name: Literal["entropy-l-diversity"]
    l: Factor  # noqa: E741

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        return Requirement(Model.ENTROPY, attribute, Fraction(str(self.l)))


class RecursiveSettings(_Model):
    """The commonest value of each class less than c times as common as those from the l-th on."""

    name: Literal["recursive-cl-diversity"]
    c: Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(refuse_truth)]
    l: Many  # noqa: E741

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        return Requirement(Model.RECURSIVE, attribute, Fraction(str(self.c)), self.l)


class SensitivitySettings(_Model):
    """At least p different values in each class of k records."""

    name: Literal["p-sensitive-k-anonymity"]
    p: Many

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        return Requirement(Model.SENSITIVITY, attribute, Fraction(self.p), self.p)


class SupersetSettings(_Model):
    """Each class within t of some n records that contain it."""

    name: Literal["n-t-closeness"]
    n: Many
    t: Threshold

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        return Requirement(Model.SUPERSETS, attribute, Fraction(str(self.t)), self.n)


class RatioSettings(_Model):
    """Probabilities of each class at most t times those of the table, and the other way round."""

    name: Literal["ratio-closeness"]
    t: Factor
    buckets: (
        Annotated[int, Field(ge=2, le=1000), BeforeValidator(refuse_truth)]
        | Annotated[tuple[Group, ...], Field(min_length=2)]
        | None
    ) = Field(
        default=None,
        description="Stretches of the table's values, or groups of values as in [[a, b], [c]]; "
        "each value is its own bucket if not given.",
    )

    @model_validator(mode="after")
    def _check_groups(self) -> "RatioSettings":
        groups = self.buckets if isinstance(self.buckets, tuple) else ()
        texts = [str(value) for group in groups for value in group]
        if len(set(texts)) != len(texts):
            raise ValueError("buckets name a value twice")
        return self

    def require(self, attribute: str) -> Requirement:
        """What is asked of one attribute."""
        given = self.buckets or ()
        buckets = given if isinstance(given, int) else tuple(tuple(map(str, g)) for g in given)
        return Requirement(Model.RATIO, attribute, Fraction(str(self.t)), buckets=buckets)


class StochasticSettings(_Model):
    """What noise lets an observer learn, by Proposition 1 (papers/001, Definition 3)."""

    name: Literal["stochastic-t-closeness"]
    t: Annotated[float, Field(gt=1, allow_inf_nan=False), BeforeValidator(refuse_truth)]


ModelSettings = (
    DistinctSettings
    | EntropySettings
    | RecursiveSettings
    | SensitivitySettings
    | SupersetSettings
    | RatioSettings
    | StochasticSettings
)
MODELS: dict[str, type[_Model]] = {
    "distinct-l-diversity": DistinctSettings,
    "entropy-l-diversity": EntropySettings,
    "recursive-cl-diversity": RecursiveSettings,
    "p-sensitive-k-anonymity": SensitivitySettings,
    "n-t-closeness": SupersetSettings,
    "ratio-closeness": RatioSettings,
    "stochastic-t-closeness": StochasticSettings,
}


class JointSettings(Settings):
    """Closeness of several confidential attributes taken as one (papers/001, section 4)."""

    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=2, description="Confidential attributes; all if not given."
    )
    t: Threshold = Field(description="Total variation between combinations of values, at most.")

    @field_validator("attributes")
    @classmethod
    def _check_distinct(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is not None and len(set(names)) != len(names):
            raise ValueError("names an attribute twice")
        return names

    def combine(self, confidential: Sequence[str]) -> Attribute:
        """The joint attribute: the combinations are its values, one as far from all others.

        The name is one that reports show. Equal distance: papers/004, section 8, leaves the ground
        distance of combinations open. This one needs no scale that attributes of several kinds
        would share, and it is the strictest: who is within t by it is by every distance that is
        at most 1, and so is each attribute alone.
        """
        names = tuple(confidential if self.attributes is None else self.attributes)
        limit = Fraction(str(self.t))
        return Attribute(
            " with ".join(names),
            Role.CONFIDENTIAL,
            kind=Kind.NOMINAL,
            max_emd=limit,
            distance=Distance.EQUAL,
            combines=names,
        )


class PrivacySettings(Settings):
    """What every equivalence class has to meet."""

    k: int = Field(ge=2, description="Records in a class, at least.")
    t: Threshold | None = Field(
        default=None, description="Earth mover's distance of a class to the table, at most."
    )
    joint: tuple[JointSettings, ...] = Field(
        default=(), description="Closeness of combinations of confidential values."
    )
    models: tuple[Annotated[ModelSettings, Field(discriminator="name")], ...] = Field(
        default=(), description="Further models that every class has to meet."
    )

    @model_validator(mode="after")
    def _check_sensitivity(self) -> "PrivacySettings":
        for model in self.models:
            if isinstance(model, SensitivitySettings) and model.p > self.k:
                raise ValueError(
                    f"models: p = {model.p} of p-sensitive-k-anonymity is above k = {self.k}; a "
                    f"class of k records has no more values: raise k, or lower p to {self.k}"
                )
        return self

    def check_attributes(self, confidential: Sequence[str], noised: Sequence[str]) -> None:
        """Refuse models of what is no confidential attribute of the policy.

        Parameters
        ----------
        confidential : names of those that are released as they are
        noised : of those with noise

        Raises
        ------
        ValueError
        """
        for model in self.models:
            if isinstance(model, StochasticSettings):
                _check_noised(model, noised)
                continue
            if not confidential:
                raise ValueError(f"privacy.models: {model.name} needs a confidential attribute")
            for name in model.attributes or ():
                if name not in confidential:
                    raise ValueError(
                        f"privacy.models: {model.name} of {name!r}, which is no confidential "
                        "attribute of the policy"
                    )

    def check_joint(self, confidential: Sequence[str], columns: Collection[str]) -> None:
        """Refuse combinations of what is no confidential attribute, and of fewer than two.

        Raises
        ------
        ValueError
        """
        names = set(columns)
        for joint in self.joint:
            for name in joint.attributes or ():
                if name not in confidential:
                    raise ValueError(
                        f"privacy.joint: {name!r} is no confidential attribute of the policy that "
                        "is released as it is"
                    )
            made = joint.combine(confidential)
            if len(made.combines) < 2:
                raise ValueError(
                    "privacy.joint: needs two confidential attributes or more; give one its t"
                )
            if made.name in names:
                raise ValueError(f"privacy.joint: {made.name!r} is there already; say it once")
            names.add(made.name)

    def combine(self, confidential: Sequence[str]) -> tuple[Attribute, ...]:
        """The joint attributes that classes are held to as well."""
        return tuple(joint.combine(confidential) for joint in self.joint)

    def covers(self, attribute: str) -> bool:
        """Whether a model or a joint t holds for a confidential attribute."""
        asked = (*self.models, *self.joint)
        return any(m.attributes is None or attribute in m.attributes for m in asked)

    def limit(self, attribute: str) -> Fraction:
        """The t of an attribute without one of its own.

        That of the joint attributes it is part of bounds its own; with models alone it has none.
        """
        if self.t is not None:
            return Fraction(str(self.t))
        held = [j.t for j in self.joint if j.attributes is None or attribute in j.attributes]
        return Fraction(str(min(held, default=1)))

    def limit_noise(self, attribute: str) -> Fraction | None:
        """The stochastic t that an attribute with noise is held to, if to any."""
        asked = [
            Fraction(str(model.t))
            for model in self.models
            if isinstance(model, StochasticSettings)
            and (model.attributes is None or attribute in model.attributes)
        ]
        return min(asked, default=None)

    def require(self, confidential: Sequence[str]) -> tuple[Requirement, ...]:
        """What the models ask of each of these attributes, unbound."""
        return tuple(
            self._with_k(model.require(name))
            for model in self.models
            if not isinstance(model, StochasticSettings)
            for name in confidential
            if model.attributes is None or name in model.attributes
        )

    def _with_k(self, requirement: Requirement) -> Requirement:
        """A requirement that is about k as well with the policy's k."""
        if requirement.model is not Model.SENSITIVITY:
            return requirement
        return replace(requirement, count=max(self.k, requirement.count))


def _check_noised(model: StochasticSettings, noised: Sequence[str]) -> None:
    """Refuse stochastic closeness of what has no noise."""
    others = [name for name in model.attributes or () if name not in noised]
    if others or not noised:
        of = f" of {others[0]!r}, which has none," if others else ""
        raise ValueError(
            f"privacy.models: {model.name}{of} is that of noise; it goes with method.name: "
            "dp-confidential, and with attributes that have noise"
        )
