"""The sections of a manifest on privacy: what was asked, what was achieved, and noise."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tclose.releases.manifest.sections import (
    AtMostOne,
    Count,
    Exact,
    Names,
    Nonnegative,
    Positive,
    ReadDistance,
    Section,
)

AskedValue = int | float | Literal["value"] | list[list[str]]


class KResult(Section):
    """k-anonymity."""

    asked: Positive
    achieved: Count
    """Records of the smallest class."""


class TResult(Section):
    """t-closeness of a confidential attribute."""

    asked: AtMostOne
    largest_emd: Nonnegative
    """The largest distance of a class to the whole table."""
    distance: ReadDistance | None = None
    of: str | None = None
    """``buckets``, where the attribute is released as these."""


class JointResult(Section):
    """t-closeness of the combinations of several confidential attributes' values."""

    attributes: Annotated[Names, Field(min_length=2)]
    asked: AtMostOne
    largest_emd: Nonnegative
    distance: Literal["equal"]


class PrivacyModelResult(Section):
    """A further privacy model, asked of a confidential attribute."""

    name: str
    attribute: str
    asked: dict[str, AskedValue]
    """The parameters that the policy has."""
    reached: float | None
    """The measure of the worst class; none where it has no finite one."""
    failing_classes: Count
    holds_for: str | None = None
    """The subject of the model, if it is not the attribute's values."""
    epsilon: float | None = None
    """Epsilon by Proposition 3 of ratio closeness."""
    epsilon_is_about: str | None = None
    epsilon_assumes: list[str] = Field(default_factory=list)


def format_parameters(parameters: Mapping[str, object]) -> str:
    """Format what a model was asked for."""
    groups = parameters.get("buckets")
    shown = dict(parameters) | (
        {"buckets": f"{len(groups)} groups"} if isinstance(groups, list) else {}
    )
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


class PersonClasses(Section):
    """Distinct persons of the equivalence classes."""

    smallest: Count
    largest: Count
    mean: Nonnegative


class PersonT(Section):
    """t-closeness of a confidential attribute where each person weighs one."""

    asked: AtMostOne
    """No class is farther from the whole table; a person's rows share her weight."""
    largest_emd: Nonnegative | None = None
    """The largest distance, in what stays inside: it depends on which rows are of one person, which
    no file tells, and would give them away where few persons have several."""


class PersonsResult(Section):
    """k and t over persons, each of whom may have several records.

    No released column says whose a record is, so an audit beside the originals alone finds it.
    """

    persons: Positive
    """Persons of the whole table."""
    k: KResult
    """Achieved: persons of the smallest class."""
    t: dict[str, PersonT]
    """Distances by confidential attribute, and by parts of joint ones, with ``with`` between."""
    classes: PersonClasses
    in_several_classes: Count | None = None
    """Persons with records in more than one class, counted where all of a person's had to be in
    one; None: they did not have to be."""


class Privacy(Section):
    """The privacy parameters of the policy, and the achieved measures."""

    k: KResult
    t: dict[str, TResult]
    """Distances by confidential attribute."""
    joint: list[JointResult] = Field(default_factory=list)
    models: list[PrivacyModelResult] | None = None
    """None: made by a version that had no further models."""
    counted: Literal["records", "persons"] | None = None
    """Unit that k counts; None: made by a version that could count records alone."""
    persons: PersonsResult | None = None
    """Present if k counts persons."""

    def reached(self) -> int:
        """What k came to, in the unit that k counts: persons or records of the smallest class."""
        return self.k.achieved if self.persons is None else self.persons.k.achieved

    def limits(self) -> dict[str, TResult | JointResult]:
        """All distances that are held to a t, by attribute or combination."""
        return {**self.t, **{" with ".join(t.attributes): t for t in self.joint}}

    def nearest_to_t(self) -> tuple[str, TResult | JointResult] | None:
        """The attribute or combination whose distance is nearest to its t, and the distance."""
        return max(self.limits().items(), key=lambda i: i[1].largest_emd - i[1].asked, default=None)


class NoiseResult(Section):
    """The differentially private noise on an attribute."""

    epsilon: Annotated[float, Field(gt=0, le=100)]
    mechanism: str
    low: Exact | None
    high: Exact | None
    step: Annotated[Exact, Field(gt=0)]
    values: list[str | int | float]
    """The released values, if they are not the numbers from ``low`` to ``high``."""
    stochastic_t: float
    """The stochastic t that epsilon gives classes of these sizes."""
    asked_t: float | None = None

    @model_validator(mode="after")
    def _check_ends(self) -> "NoiseResult":
        if (self.low is None) != (self.high is None) or (self.low or 0) > (self.high or 0):
            raise ValueError("low and high are no range")
        return self
