"""(n, t)-closeness as a model of a policy: decided on the classes of the whole table."""

from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from tclose.errors import PolicyError
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.model.setting_fields import Many, Threshold
from tclose.privacy.class_counts import ClassMeasures
from tclose.privacy.model_registry import register_model
from tclose.privacy.privacy_model import Model, PrivacyModel


@register_model
class NTCloseness(Model):
    """Each class within t of some n records that contain it."""

    needs_table: ClassVar[bool] = True
    count_key: ClassVar[str] = "n"

    name: Literal["n-t-closeness"]
    n: Many = Field(description="Records of the superset, at least.", examples=[1000])
    t: Threshold = Field(description="Distance of a class to it, at most.", examples=[0.15])

    @classmethod
    def describe_parameters(cls, requirement: PrivacyModel) -> dict[str, Any]:
        """Its n and t."""
        return {"n": requirement.count, "t": float(requirement.limit)}

    @classmethod
    def limit_distance(cls, requirement: PrivacyModel, /) -> Fraction | None:
        """Its t: the whole table is a superset of n records, and the model is not monotone."""
        return requirement.limit

    @classmethod
    def check_size(cls, requirement: PrivacyModel, n_records: int, /) -> None:
        """Refuse an n that no set of records has."""
        if requirement.count > n_records:
            raise PolicyError(
                f"privacy.models: n = {requirement.count} of {requirement.model} is more than the "
                f"{n_records:,} records there are; lower it to {n_records} at most"
            )

    @classmethod
    def measure_table(
        cls,
        requirement: PrivacyModel,
        centres: Float64,
        starts: Int64,
        codes: Int64,
        distribution: Distribution,
    ) -> ClassMeasures:
        """Distance of each class to the nearest of its supersets with n records."""
        from tclose.privacy.models.n_t_closeness import check_supersets, grow_class_tree

        tree = grow_class_tree(centres, np.diff(starts), requirement.count)
        return check_supersets(
            starts,
            codes,
            distribution.counts,
            tree,
            requirement.count,
            requirement.limit,
            distribution.metric,
        )
