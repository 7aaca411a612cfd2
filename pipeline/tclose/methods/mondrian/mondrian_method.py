"""The method mondrian: regions are halved while both halves meet what is asked."""

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tclose.methods.method import Method, Scope
from tclose.methods.method_registry import register_method

if TYPE_CHECKING:
    from tclose.methods.clustering_problem import Clustering, ClusteringProblem


@register_method
class Mondrian(Method):
    """Multidimensional generalisation: each class has intervals and sets of its own."""

    generalises: ClassVar[bool] = True
    refines: ClassVar[bool] = False

    name: Literal["mondrian"] = "mondrian"
    scope: Scope = "blocks"

    def make_classes(self, problem: "ClusteringProblem") -> "Clustering":
        """The smallest halves."""
        from tclose.methods.clustering_problem import Clustering
        from tclose.methods.mondrian.halves import halve, rank_as_listed

        labels = halve(problem, rank_as_listed)
        if labels is None:
            # A region above t is no proof for the table: one class, which is joined with others.
            labels = np.zeros(problem.keys[0].size, dtype=np.int64)
        return Clustering(labels)
