"""MDAV and v-MDAV: clusters of k near records, or more; confidential values are not looked at."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from tclose.methods.method import Method, Scope
from tclose.methods.method_registry import DEFAULT_METHOD, register_method
from tclose.model.array_types import Int64
from tclose.model.setting_fields import REAL

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem

MERGING = "microaggregate-and-merge"

Gamma = Annotated[float, Field(ge=0, description="Of v-mdav: how freely clusters extend."), REAL]


class Microaggregation(Method):
    """Clusters of near records by MDAV; time grows with the square of the records.

    So a region has 32,768 records at most.
    """

    max_records: ClassVar[int | None] = 32_768
    alternatives: ClassVar[tuple[str, ...]] = (MERGING, DEFAULT_METHOD)

    scope: Scope = "blocks"

    @property
    def vmdav_gamma(self) -> float | None:
        """The gamma of v-MDAV; None for MDAV."""
        return None

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """The clusters."""
        from tclose.methods.clustering_problem import Clustering

        return Clustering(microaggregate_blocks(problem, self.vmdav_gamma))


class StartedMicroaggregation(Microaggregation):
    """A method that begins with MDAV or v-MDAV, as is asked."""

    start: Literal["mdav", "v-mdav"] = Field(
        default="mdav", description="What microaggregate-and-merge and dp-confidential begin with."
    )
    gamma: Gamma = 0.2

    @model_validator(mode="after")
    def _check_gamma(self) -> "StartedMicroaggregation":
        if self.start != "v-mdav" and self.gamma != type(self).model_fields["gamma"].default:
            raise ValueError("gamma goes with start: v-mdav, not with mdav")
        return self

    @property
    def vmdav_gamma(self) -> float | None:
        """The gamma of v-MDAV; None for MDAV."""
        return self.gamma if self.start == "v-mdav" else None


@register_method
class Mdav(Microaggregation):
    """Clusters of k records (Soria-Comas et al. 2015, section 5)."""

    holds_t: ClassVar[bool] = False

    name: Literal["mdav"] = "mdav"


@register_method
class VMdav(Microaggregation):
    """Clusters of k to 2k - 1 records, extended by gamma."""

    holds_t: ClassVar[bool] = False

    name: Literal["v-mdav"] = "v-mdav"
    gamma: Gamma = 0.2

    @property
    def vmdav_gamma(self) -> float | None:
        """The gamma of v-MDAV."""
        return self.gamma


def microaggregate_blocks(problem: "ClusteringProblem", gamma: float | None) -> Int64:
    """Cluster of each record, int64 (n,), by v-MDAV where there is a gamma, by MDAV otherwise."""
    from tclose.kernels.clustering.mdav import mdav, v_mdav

    k, scaled = problem.k, problem.scaled
    if gamma is None:
        return np.asarray(mdav(scaled.numeric, scaled.nominal, k, scaled.weights))
    return np.asarray(v_mdav(scaled.numeric, scaled.nominal, k, gamma, scaled.weights))
