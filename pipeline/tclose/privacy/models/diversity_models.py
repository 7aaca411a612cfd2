"""The l-diversities and p-sensitive k-anonymity as models of a policy."""

from fractions import Fraction
from math import floor, isfinite
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from tclose.model.array_types import Int64
from tclose.model.setting_fields import Factor, Many, refuse_truth
from tclose.privacy.class_counts import ClassCounts, ClassMeasures
from tclose.privacy.model_registry import register_model
from tclose.privacy.models.l_diversity import (
    check_distinct,
    check_entropy,
    check_recursive,
    check_sensitivity,
)
from tclose.privacy.privacy_model import Model, PrivacyModel


@register_model
class DistinctDiversity(Model):
    """At least l different values in each class."""

    larger_is_better: ClassVar[bool] = True
    limit_key: ClassVar[str] = "l"
    is_whole: ClassVar[bool] = True

    name: Literal["distinct-l-diversity"]
    l: Many = Field(  # noqa: E741 (the papers' name)
        description="Different values in a class, at least.", examples=[3]
    )

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, _: Int64) -> ClassMeasures:
        """Different values of each class."""
        return check_distinct(counts, int(requirement.limit))

    @classmethod
    def suggest(cls, _: PrivacyModel, achieved: float) -> str:
        """Say the largest l."""
        return f"it has {int(achieved):,} different values: l can be at most that"


@register_model
class EntropyDiversity(Model):
    """Entropy of each class at least log l."""

    larger_is_better: ClassVar[bool] = True
    limit_key: ClassVar[str] = "l"

    name: Literal["entropy-l-diversity"]
    l: Factor = Field(  # noqa: E741
        description="Its logarithm is the entropy of a class, at least.", examples=[2.5]
    )

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, _: Int64) -> ClassMeasures:
        """The number of equally frequent values with the entropy of each class."""
        return check_entropy(counts, requirement.limit)

    @classmethod
    def suggest(cls, _: PrivacyModel, achieved: float) -> str:
        """Say the largest l."""
        return f"l can be at most {floor(achieved * 10**6) / 10**6:.6f}"


@register_model
class RecursiveDiversity(Model):
    """The commonest value of each class less than c times as common as those from the l-th on."""

    limit_key: ClassVar[str] = "c"
    count_key: ClassVar[str] = "l"

    name: Literal["recursive-cl-diversity"]
    c: Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(refuse_truth)] = Field(
        description="How many times as common the commonest value may be, less than.", examples=[3]
    )
    l: Many = Field(  # noqa: E741
        description="Rank of the value from which the others are counted.", examples=[2]
    )

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, _: Int64) -> ClassMeasures:
        """Records of the commonest value over those from the l-th on, of each class."""
        return check_recursive(counts, requirement.limit, requirement.count)

    @classmethod
    def suggest(cls, requirement: PrivacyModel, achieved: float) -> str:
        """Say the bound of c, or that l is too large."""
        if not isfinite(achieved):
            return f"it has fewer than {requirement.count} different values: lower l"
        return f"with l = {requirement.count}, c has to be above {achieved:.6f}"


@register_model
class PSensitivity(Model):
    """At least p different values in each class of k records."""

    larger_is_better: ClassVar[bool] = True
    limit_key: ClassVar[str] = "p"
    count_key: ClassVar[str] = "k"
    is_whole: ClassVar[bool] = True

    name: Literal["p-sensitive-k-anonymity"]
    p: Many = Field(description="Different values in a class, at least.", examples=[2])

    def check_k(self, k: int) -> None:
        """Refuse a p above k."""
        if self.p > k:
            raise ValueError(
                f"models: p = {self.p} of {self.name} is above k = {k}; a class of k records has "
                f"no more values: raise k, or lower p to {k}"
            )

    def require(self, attribute: str, k: int) -> PrivacyModel:
        """Return the requirement on one attribute, for classes of k records."""
        return PrivacyModel(self.name, attribute, Fraction(self.p), max(k, self.p))

    @classmethod
    def measure(cls, requirement: PrivacyModel, counts: ClassCounts, _: Int64) -> ClassMeasures:
        """Different values of each class."""
        return check_sensitivity(counts, requirement.count, int(requirement.limit))

    @classmethod
    def suggest(cls, _: PrivacyModel, achieved: float) -> str:
        """Say the largest p."""
        return f"it has {int(achieved):,} different values: p can be at most that"
