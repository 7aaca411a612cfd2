"""k-anonymity-first: clusters of k records, exchanged towards t.

Soria-Comas et al. 2015, section 6.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tclose.data.keys import Encoding
from tclose.errors import PolicyError
from tclose.methods.method import MethodContext
from tclose.methods.method_registry import register_method
from tclose.methods.microaggregation.microaggregate_and_merge import merge_clusters
from tclose.methods.microaggregation.microaggregation import Microaggregation
from tclose.model.array_types import Int64
from tclose.model.column_terms import Distance

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class KAnonymityFirst(Microaggregation):
    """Clusters that take the records which bring them nearer to t."""

    without_joint: ClassVar[str] = "works with the ordered distance"

    name: Literal["k-anonymity-first"] = "k-anonymity-first"

    def check(self, context: MethodContext, /) -> None:
        """Refuse confidential attributes without the ordered distance."""
        _check_ordered(context.confidential)

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """Clusters within t; what exchanges leave above it is merged."""
        from tclose.methods.clustering_problem import Clustering

        if not problem.distributions:
            return super().make_classes(problem)
        _check_ordered(problem.confidential)
        return Clustering(merge_clusters(problem, _cluster(problem)))


def _cluster(problem: "ClusteringProblem") -> Int64:
    from tclose.kernels.clustering.algorithm2 import k_anonymity_first

    targets = (
        problem.codes,
        tuple(np.asarray(d.cumulative) for d in problem.distributions),
        tuple(np.asarray(d.prefix) for d in problem.distributions),
        np.array([float(t) for t in problem.max_emds]),
    )
    scaled = problem.scaled
    labels = k_anonymity_first(scaled.numeric, scaled.nominal, problem.k, targets, scaled.weights)
    return np.asarray(labels)


def _check_ordered(confidential: Sequence[Encoding]) -> None:
    """Refuse confidential attributes that the exchanges have no distance for.

    Raises
    ------
    PolicyError
    """
    names = [e.column.name for e in confidential if e.column.distance != Distance.ORDERED]
    if names:
        raise PolicyError(
            f"method.name: k-anonymity-first works with the ordered distance, which {names[0]!r} "
            "does not have; take t-closeness-first or microaggregate-and-merge"
        )
