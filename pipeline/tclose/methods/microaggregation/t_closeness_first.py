"""t-closeness-first microaggregation: clusters of a record per subset.

Soria-Comas et al. 2015, section 7.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from tclose.methods.method import BLOCK_CLUSTERS, ClassSizeKey, Losses, Method, Refine, Scope
from tclose.methods.method_registry import register_method
from tclose.model.setting_fields import WHOLE

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem
    from tclose.methods.microaggregation.starts import Search


@register_method
class TClosenessFirst(Method):
    """Clusters within t by construction, in blocks of near records."""

    version: ClassVar[int] = 20
    cuts_by_subsets: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    name: Literal["t-closeness-first"] = "t-closeness-first"
    scope: Scope = "blocks"
    block_clusters: Annotated[int, Field(ge=1), WHOLE] = Field(
        default=BLOCK_CLUSTERS, description="Clusters in a block, at most."
    )
    class_size: ClassSizeKey = Field(
        default="auto",
        description="Records in a cluster before refinement: auto leaves refinement half of t to "
        "spend, paper is eq. (3) of t-closeness-first, or a number.",
    )
    refine: Refine = "fast"
    losses: Losses = "relative"

    @model_validator(mode="after")
    def _check_blocks(self) -> "TClosenessFirst":
        if self.is_one_block and self.block_clusters != BLOCK_CLUSTERS:
            raise ValueError("block_clusters goes with scope: blocks, not with scope: table")
        return self

    @property
    def clusters_per_block(self) -> int:
        """Clusters in a block, at most."""
        return self.block_clusters

    @property
    def initial_class_size(self) -> int | str:
        """Records in a cluster before refinement."""
        return self.class_size

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Clusters of each block, and where each block's begin; natural classes after them.

        Near records are together where t allows that. A table that is one block, or whose class
        size the policy says, is clustered as the algorithm was published.
        """
        from tclose.methods.microaggregation.halved_starts import cluster_held
        from tclose.methods.microaggregation.near_starts import cluster_larger
        from tclose.methods.microaggregation.starts import (
            choose_start,
            cluster_balanced,
            cluster_by_subsets,
        )

        assert problem.cut is not None
        plain = cluster_by_subsets(problem.scaled, problem.cut)
        is_printed = self.is_one_block or self.class_size != "auto"
        if is_printed:
            return plain
        start = choose_start(problem, plain, self._search_ahead)
        if not problem.privacy_models.by_class:
            return start
        of_model = problem.privacy_models.by_class[0].attribute
        return replace(
            start,
            larger=partial(cluster_larger, problem),
            balanced=partial(cluster_balanced, problem, attribute=of_model),
            held=partial(cluster_held, problem),
        )

    @property
    def _search_ahead(self) -> "Search":
        """The search that follows a start: one that ends with its time has one start alone."""
        if self.refine in ("off", 0):
            return "off"
        is_long = isinstance(self.refine, int) or self.refine in ("fast", "full")
        return "long" if is_long else "short"
