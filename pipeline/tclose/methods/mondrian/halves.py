"""Halves of a region's records, along the quasi-identifiers as a problem has them."""

from collections.abc import Callable

import numpy as np

from tclose.data.category_trees import code_levels
from tclose.data.keys import Encoding
from tclose.data.taxonomy import taxonomy_of
from tclose.methods.clustering_problem import ClusteringProblem
from tclose.methods.mondrian.mondrian import partition_mondrian
from tclose.model.array_types import Int64


def halve(problem: ClusteringProblem, rank: Callable[[Encoding], Int64]) -> Int64 | None:
    """The smallest halves that hold what is asked, int64 (n,); None if all records do not.

    ``rank``: places of nominal values, between which they are cut.
    """
    n_records = problem.keys[0].size
    if not problem.holds(np.arange(n_records), np.array([0, n_records]))[0]:
        return None
    pairs = zip(problem.encodings, problem.keys, strict=True)
    nominal = [(rank(e), keys.astype(np.int64)) for e, keys in pairs if e.is_nominal]
    n_levels = np.array([ranks.size for ranks, _ in nominal], dtype=np.int64)
    placed = np.array([ranks[keys] for ranks, keys in nominal], dtype=np.int32)
    placed = placed.reshape(len(nominal), n_records)
    return partition_mondrian(problem.scaled.numeric, placed, n_levels, problem.holds)


def rank_as_listed(encoding: Encoding) -> Int64:
    """Places of nominal values between which mondrian cuts: of leaves, as the taxonomy lists them.

    Nodes above leaves, which classes may release and no record has, come last.
    """
    rows = encoding.column.attribute.taxonomy
    if not rows:
        return np.arange(len(encoding.categories or ()))
    taxonomy = taxonomy_of(rows)
    above = set(taxonomy.names[len(taxonomy.leaves) :])
    is_leaf = np.array([text not in above for text in encoding.texts])
    places = np.full(is_leaf.size, len(taxonomy.leaves), dtype=np.int64)
    leaves = [text for text in encoding.texts if text not in above]
    places[is_leaf] = taxonomy.encode(leaves, encoding.column.name)
    return np.argsort(np.argsort(places, kind="stable"), kind="stable")


def rank_by_values(encoding: Encoding) -> Int64:
    """Places of nominal values with siblings by their first values, however a taxonomy lists them.

    Nodes above leaves come last.
    """
    levels = code_levels(encoding)
    order = np.lexsort((np.arange(levels.shape[1]), *levels, levels[0] < 0))
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    return ranks
