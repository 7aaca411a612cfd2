"""The ``privacy`` section of a policy: k, t, joint t, further models, and k and t over time."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from tclose.methods.method import name_methods
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.setting_fields import REAL, Settings, Threshold
from tclose.policy.sections.hold_settings import HoldSettings
from tclose.privacy.privacy_model import Model, PrivacyModel

MADE_WITHIN = Fraction(7, 10)  # the share of t over time that new classes are made within


class JointSettings(Settings):
    """Closeness of several confidential attributes taken as one.

    Domingo-Ferrer and Soria-Comas 2015, section 4.
    """

    attributes: tuple[str, ...] | None = Field(
        default=None,
        min_length=2,
        description="Confidential attributes; all if not given.",
        examples=[["charge", "diagnosis_group"]],
    )
    t: Threshold = Field(
        description="Total variation between combinations of values, at most.", examples=[0.4]
    )

    @field_validator("attributes")
    @classmethod
    def _check_distinct(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is not None and len(set(names)) != len(names):
            raise ValueError("names an attribute twice")
        return names

    def combine(self, confidential: Sequence[str]) -> Attribute:
        """The joint attribute: the combinations are its values, one as far from all others.

        The name is one that reports show. Equal distance: Li et al. 2007, section 8, leaves the
        ground distance of combinations open. This one needs no scale that attributes of several
        kinds would share, and it is the strictest: who is within t by it is by every distance that
        is at most 1, and so is each attribute alone.
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


class OverTimeSettings(Settings):
    """The (k', t')-closeness of the common refinement of the releases of a window."""

    k: int = Field(
        ge=2,
        description="Persons who are in the same classes of all releases of the window, at least.",
        examples=[5],
    )
    t: Threshold = Field(
        description="Earth mover's distance of these persons to the table of each release, at "
        "most; an attribute whose own t is larger is held to that.",
        examples=[0.1],
    )
    window: int = Field(
        default=12,
        ge=2,
        le=1000,
        description="How many releases of the series are held together, the new one among them.",
    )
    churn: Annotated[float, Field(ge=0, le=0.5), REAL] | None = Field(
        default=None,
        description="Share of the persons who leave from one release to the next, for which the "
        "first classes have room; by default what was seen in the window, or 0.02, as always where "
        "cells are dropped or held.",
        exclude_if=lambda churn: churn is None,
    )
    made_within: Annotated[float, Field(gt=0, le=1), REAL] | None = Field(
        default=None,
        description="Share of t that new classes are made within, as room for persons who leave: "
        "0.7 by default. Nearer to 1 less is lost, and more records are left out later, as their "
        "cells have come above t.",
        examples=[0.9],
        exclude_if=lambda share: share is None,
    )
    departures: Literal["report", "unite", "hold", "drop", "refuse"] = Field(
        default="report",
        description="What is done where persons leave who can be found by subtraction: they are "
        "counted; classes are united until k have left each or none; their records are held until "
        "enough have left their cell; what is left of it is left out; or the release is refused.",
    )
    hold: HoldSettings | None = Field(
        default=None,
        description="How many records may be of persons who left, where these are held; a tenth if "
        "not given.",
        examples=[{"at_most": "10%"}],
        exclude_if=lambda settings: settings is None,
    )

    @model_validator(mode="after")
    def _check_hold(self) -> "OverTimeSettings":
        if self.hold is not None and self.departures != "hold":
            raise ValueError(
                "over_time.hold: goes with departures: hold, which holds records of persons who "
                "left; take that, or take hold out"
            )
        return self

    @property
    def most_held(self) -> Fraction | None:
        """The share of the records that may be of persons who left; None if none is held."""
        if self.departures != "hold":
            return None
        return (self.hold or HoldSettings()).share

    @property
    def room(self) -> Fraction:
        """The share of t that new classes are made within."""
        return MADE_WITHIN if self.made_within is None else Fraction(str(self.made_within))

    def limit(self, own: Fraction | None) -> Fraction:
        """The t that an attribute is held to over time, by its own t."""
        t_over_time = Fraction(str(self.t))
        return t_over_time if own is None else max(t_over_time, own)


class PrivacySettings(Settings):
    """The requirements on every equivalence class."""

    k: int = Field(ge=2, description="Records in a class, at least.", examples=[5])
    t: Threshold | None = Field(
        default=None,
        description="Earth mover's distance of a class to the table, at most.",
        examples=[0.15],
    )
    joint: tuple[JointSettings, ...] = Field(
        default=(), description="Closeness of combinations of confidential values."
    )
    models: tuple[SerializeAsAny[Model], ...] = Field(
        default=(), description="Further models that every class has to meet."
    )
    over_time: OverTimeSettings | None = Field(
        default=None,
        description="What the releases of a series are held to together, where persons are in "
        "several.",
        examples=[{"k": 5, "t": 0.1, "window": 12, "departures": "report"}],
        exclude_if=lambda settings: settings is None,
    )
    persons: Literal["apart", "together"] = Field(
        default="apart",
        description="Whether a person's records may be in several classes, over which a value that "
        "lasts can be intersected, or are all in one.",
        examples=["together"],
        exclude_if=lambda persons: persons == "apart",
    )

    @model_validator(mode="after")
    def _check_k(self) -> "PrivacySettings":
        for model in self.models:
            model.check_k(self.k)
        return self

    def check_attributes(self, confidential: Sequence[str], noised: Sequence[str]) -> None:
        """Refuse models of what is not a confidential attribute of the policy.

        Parameters
        ----------
        confidential : names of those that are released as they are
        noised : of those with noise

        Raises
        ------
        ValueError
        """
        for model in self.models:
            if model.of_noise:
                _check_noised(model, noised)
                continue
            if not confidential:
                without = " without noise; take the model out" if noised else ""
                raise ValueError(
                    f"privacy.models: {model.name} needs a confidential attribute{without}"
                )
            for name in model.attributes or ():
                if name not in confidential:
                    raise ValueError(
                        f"privacy.models: {model.name} of {name!r}, which is not a "
                        "confidential attribute of the policy that is released as it is"
                    )

    def check_joint(self, confidential: Sequence[str], columns: Collection[str]) -> None:
        """Refuse combinations of what is not a confidential attribute, and of fewer than two.

        Raises
        ------
        ValueError
        """
        names = set(columns)
        for joint in self.joint:
            for name in joint.attributes or ():
                if name not in confidential:
                    raise ValueError(
                        f"privacy.joint: {name!r} is not a confidential attribute of the policy "
                        "that is released as it is"
                    )
            attribute = joint.combine(confidential)
            if len(attribute.combines) < 2:
                raise ValueError(
                    "privacy.joint: needs two confidential attributes or more; give one its t"
                )
            if attribute.name in names:
                raise ValueError(f"privacy.joint: {attribute.name!r} appears twice; say it once")
            names.add(attribute.name)

    def combine(self, confidential: Sequence[str]) -> tuple[Attribute, ...]:
        """The joint attributes that classes are held to as well."""
        return tuple(joint.combine(confidential) for joint in self.joint)

    def covers(self, attribute: str) -> bool:
        """Return whether a model or a joint t applies to a confidential attribute."""
        held = [*(m.attributes for m in self.models), *(j.attributes for j in self.joint)]
        return any(names is None or attribute in names for names in held)

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
        limits = [
            model.noise_limit
            for model in self.models
            if model.noise_limit is not None
            and (model.attributes is None or attribute in model.attributes)
        ]
        return min(limits, default=None)

    def require(self, confidential: Sequence[str]) -> tuple[PrivacyModel, ...]:
        """Return the unbound requirements of the models on each of these attributes."""
        return tuple(
            model.require(name, self.k)
            for model in self.models
            if not model.of_noise
            for name in confidential
            if model.attributes is None or name in model.attributes
        )


def _check_noised(model: Model, noised: Sequence[str]) -> None:
    """Refuse stochastic closeness of what has no noise."""
    others = [name for name in model.attributes or () if name not in noised]
    if others or not noised:
        of = f" of {others[0]!r}, which has none," if others else ""
        noisy = name_methods(lambda method: method.draws_noise)
        raise ValueError(
            f"privacy.models: {model.name}{of} is that of noise; it goes with method.name: "
            f"{' or '.join(noisy)}, and with attributes that have noise"
        )
