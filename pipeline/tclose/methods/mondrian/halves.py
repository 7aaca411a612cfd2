"""Halves of a region's records, along the quasi-identifiers as a problem has them."""

import numpy as np

from tclose.data.category_trees import code_levels
from tclose.data.keys import Encoding
from tclose.methods.clustering_problem import ClusteringProblem
from tclose.methods.mondrian.mondrian import partition_mondrian
from tclose.model.array_types import Int64


def halve(problem: ClusteringProblem) -> Int64 | None:
    """The smallest halves that hold what is asked, int64 (n,); None if all records do not."""
    n_records = problem.keys[0].size
    if not problem.holds(np.arange(n_records), np.array([0, n_records]))[0]:
        return None
    pairs = zip(problem.encodings, problem.keys, strict=True)
    nominal = [(_cutting_ranks(e), keys.astype(np.int64)) for e, keys in pairs if e.is_nominal]
    n_levels = np.array([ranks.size for ranks, _ in nominal], dtype=np.int64)
    placed = np.array([ranks[keys] for ranks, keys in nominal], dtype=np.int32)
    placed = placed.reshape(len(nominal), n_records)
    return partition_mondrian(problem.scaled.numeric, placed, n_levels, problem.holds)


def _cutting_ranks(encoding: Encoding) -> Int64:
    """Place of each nominal value among those that are cut between: of leaves, left to right.

    Siblings are in the order of their first values, however a taxonomy lists them. Nodes above
    leaves, which classes may release and no record has, come last.
    """
    levels = code_levels(encoding)
    order = np.lexsort((np.arange(levels.shape[1]), *levels, levels[0] < 0))
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    return ranks
