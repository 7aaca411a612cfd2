"""The method mondrian: regions are halved while both halves meet what is asked."""

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tclose.data.keys import Encoding
from tclose.data.taxonomy import taxonomy_of
from tclose.methods.method import Method, Scope
from tclose.methods.method_registry import register_method
from tclose.model.array_types import Int64

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

        n_records = problem.keys[0].size
        everything = np.arange(n_records), np.array([0, n_records])
        if not problem.holds(*everything)[0]:
            # A region above t is no proof for the table: one class, which is joined with others.
            return Clustering(np.zeros(n_records, dtype=np.int64))
        return Clustering(_halve(problem, n_records))


def _halve(problem: "ClusteringProblem", n_records: int) -> Int64:
    from tclose.methods.mondrian.mondrian import partition_mondrian

    pairs = zip(problem.encodings, problem.keys, strict=True)
    nominal = [(_cutting_ranks(e), keys.astype(np.int64)) for e, keys in pairs if e.is_nominal]
    n_levels = np.array([ranks.size for ranks, _ in nominal], dtype=np.int64)
    placed = np.array([ranks[keys] for ranks, keys in nominal], dtype=np.int32)
    placed = placed.reshape(len(nominal), n_records)
    return partition_mondrian(problem.scaled.numeric, placed, n_levels, problem.holds)


def _cutting_ranks(encoding: Encoding) -> Int64:
    """Place of each nominal value among those that are cut between: of leaves, left to right."""
    rows = encoding.column.attribute.taxonomy
    if not rows:
        return np.arange(len(encoding.categories or ()))
    leaves = taxonomy_of(rows).encode(encoding.texts, encoding.column.name)
    return np.argsort(np.argsort(leaves))
