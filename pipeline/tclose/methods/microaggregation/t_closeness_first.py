"""t-closeness-first microaggregation: clusters of a record per subset.

Soria-Comas et al. 2015, section 7.
"""

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from tclose.methods.method import BLOCK_CLUSTERS, ClassSizeKey, Method, Refine, Scope
from tclose.methods.method_registry import register_method

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class TClosenessFirst(Method):
    """Clusters within t by construction, in blocks of near records."""

    cuts_by_subsets: ClassVar[bool] = True

    name: Literal["t-closeness-first"] = "t-closeness-first"
    scope: Scope = "blocks"
    block_clusters: int = Field(
        default=BLOCK_CLUSTERS, ge=1, description="Clusters in a block, at most."
    )
    class_size: ClassSizeKey = Field(
        default="auto",
        description="Records in a cluster before refinement: auto leaves refinement half of t to "
        "spend, paper is eq. (3) of t-closeness-first, or a number.",
    )
    refine: Refine = "fast"

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
        """Clusters of each block, and where each block's begin."""
        from tclose.kernels.clustering.algorithm3 import cluster_blocks
        from tclose.kernels.clustering.blocks import cut_blocks
        from tclose.methods.clustering_problem import Clustering

        scaled, cut = problem.scaled, problem.cut
        assert cut is not None
        columns = scaled.numeric, scaled.nominal, scaled.weights
        order, starts, sizes = cut_blocks(
            *columns,
            scaled.n_levels,
            cut.cells,
            cut.subset_starts,
            cut.take,
            cut.n_clusters,
            cut.block_clusters,
        )
        labels = cluster_blocks(*columns, order, starts, sizes, cut.take)
        block_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return Clustering(labels, block_starts=block_starts)
