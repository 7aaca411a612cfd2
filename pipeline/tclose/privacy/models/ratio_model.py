"""Ratio closeness as a model of a policy, of values or of buckets.

Domingo-Ferrer and Soria-Comas 2015.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, isfinite
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from tclose.model.array_types import Int64
from tclose.model.setting_fields import Factor, Group, refuse_truth
from tclose.privacy.bucket_cuts import MOST_BUCKETS
from tclose.privacy.class_counts import ClassCounts, ClassMeasures, group_table
from tclose.privacy.model_registry import register_model
from tclose.privacy.models.ratio_closeness import ASSUMPTIONS, check_ratio, epsilon_of_ratio
from tclose.privacy.privacy_model import Model, PrivacyModel

RATIO_CLOSENESS = "ratio-closeness"
_BUCKETS_ONLY = (
    "the buckets that classes were made with, not for the values, which are released as they are: "
    "inside a bucket a class may have any of them, so no epsilon of Proposition 3 is claimed; the "
    "distance of classes in the values is measured under t"
)


@register_model
class RatioCloseness(Model):
    """Probabilities of each class at most t times those of the table, and the other way round."""

    wanted: ClassVar[Mapping[str, str]] = {
        "buckets": "has to be a number of ranges from 2 to 1000, or groups of values as in "
        "[[a, b], [c]]"
    }

    name: Literal["ratio-closeness"]
    t: Factor = Field(description="How many times as probable, at most.", examples=[2])
    buckets: (
        Annotated[int, Field(ge=2, le=MOST_BUCKETS), BeforeValidator(refuse_truth)]
        | Annotated[tuple[Group, ...], Field(min_length=2)]
        | None
    ) = Field(
        default=None,
        description="Ranges of the table's values, or groups of values as in [[a, b], [c]]; "
        "each value is its own bucket if not given.",
        examples=[4, [["minor", "moderate"], ["major", "extreme"]]],
    )

    @model_validator(mode="after")
    def _check_groups(self) -> "RatioCloseness":
        groups = self.buckets if isinstance(self.buckets, tuple) else ()
        texts = [str(value) for group in groups for value in group]
        if len(set(texts)) != len(texts):
            raise ValueError("buckets name a value twice")
        return self

    def require(self, attribute: str, _k: int) -> PrivacyModel:
        """Return the requirement on one attribute."""
        raw_buckets = self.buckets or ()
        buckets = (
            raw_buckets
            if isinstance(raw_buckets, int)
            else tuple(tuple(map(str, g)) for g in raw_buckets)
        )
        return PrivacyModel(self.name, attribute, Fraction(str(self.t)), buckets=buckets)

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, table: Int64) -> ClassMeasures:
        """Distance of each class to the table, in buckets if there are any."""
        if requirement.grouping is not None:
            groups = requirement.grouping.of_values(table.size)
            counts, table = counts.grouped(groups), group_table(table, groups)
        return check_ratio(counts, table, requirement.limit)

    @classmethod
    def suggest(cls, _: PrivacyModel, achieved: float) -> str:
        """Say the smallest t, or that buckets are needed."""
        if not isfinite(achieved):
            return "it lacks values that the table has, so no t would do: ask for wider buckets"
        return f"the smallest t that could work is {ceil(achieved * 10**6) / 10**6:.6f}"

    @classmethod
    def describe(cls, parameters: Mapping[str, Any], *, is_bucketed: bool) -> dict[str, Any]:
        """Epsilon, what it is about and what it assumes; or why there is none."""
        if "release" in parameters:
            return {"holds_for": _BUCKETS_ONLY}
        return {
            "epsilon": float(epsilon_of_ratio(Fraction(str(parameters["t"])))),
            "epsilon_is_about": _subject(parameters, is_bucketed),
            "epsilon_assumes": list(ASSUMPTIONS),
        }


def _subject(parameters: Mapping[str, Any], is_bucketed: bool) -> str:
    is_grouped = "buckets" in parameters
    if is_bucketed and is_grouped:
        return (
            "the group that the attribute's bucket is in; the bucket itself is released, and what "
            "it says beyond its group is not covered"
        )
    if is_bucketed:
        return "the bucket that is released in place of the attribute's value"
    if not is_grouped:
        return "the attribute's value"
    return (
        "the bucket that the attribute's value is in; the value itself is released, and what it "
        "says beyond its bucket is not covered"
    )
