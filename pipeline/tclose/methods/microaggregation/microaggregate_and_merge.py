"""Microaggregation and merging: clusters above t join their nearest.

Soria-Comas et al. 2015, section 5.
"""

from typing import TYPE_CHECKING, Literal

from tclose.methods.method_registry import register_method
from tclose.methods.microaggregation.microaggregation import (
    StartedMicroaggregation,
    microaggregate_blocks,
)
from tclose.model.array_types import Int64

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class MicroaggregateAndMerge(StartedMicroaggregation):
    """Clusters by MDAV or v-MDAV, merged until none is above t."""

    name: Literal["microaggregate-and-merge"] = "microaggregate-and-merge"

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Clusters within t."""
        from tclose.methods.clustering_problem import Clustering

        return Clustering(merge_clusters(problem, microaggregate_blocks(problem, self.vmdav_gamma)))


def merge_clusters(problem: "ClusteringProblem", labels: Int64) -> Int64:
    """Labels (n,) of clusters that are merged until none is above t."""
    from tclose.kernels.clustering.algorithm1 import merge_by_excess

    if not problem.distributions:
        return labels
    scaled = problem.scaled
    return merge_by_excess(
        scaled.numeric, scaled.nominal, labels, problem.excess_of, scaled.weights
    )
