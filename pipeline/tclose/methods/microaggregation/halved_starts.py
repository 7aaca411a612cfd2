"""Starts of halves: all records are halved along the quasi-identifiers while both halves hold.

Where t is loose, most sets of k records are within it, whatever their confidential values. What is
cut from the top down by quasi-identifiers alone loses less than clusters that are balanced, and
less than near ones of which those above t were merged.
"""

from math import sqrt

import numpy as np

from tclose.data.key_rows import find_distinct
from tclose.kernels import aggregate
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, group_classes
from tclose.methods.microaggregation.near_starts import MUCH_LESS, merge_above
from tclose.methods.mondrian.halves import halve, rank_by_values
from tclose.methods.released_loss import measure_released
from tclose.model.array_types import Int64
from tclose.privacy.t_closeness import find_above

# The t, in parts of 1 / sqrt(k), from which on halves are tried: of k records that are drawn from
# the table the mean distance is up to sqrt(pi / 32) = 0.31 such parts, where values are distinct.
LEAST_LIMIT = 0.4
# The share of other classes that are above t from which on they are tried as well: these will be
# merged, or exchanged for long.
MANY_ABOVE = 0.25
# Classes, at most, by which that is judged.
MOST_JUDGED = 4096
# How many there are at least, as a share of other classes as they will be released; fewer may lose
# `MUCH_LESS`.
LEAST_CLASSES = 0.5
SAME_DIGITS = 12  # of means, which are sums of other orders


def find_halved(
    problem: ClusteringProblem, most_lost: float, other: Int64, *, is_small: bool = False
) -> Clustering | None:
    """The smallest halves that hold what is asked, if they lose no more, and are not far fewer.

    ``other`` int64 (n,): the labels in whose place they are; ``is_small``: they may lose more, if
    they are not.
    """
    limit = float(min(problem.max_emds, default=1)) * sqrt(problem.k)
    is_tried = is_small or limit >= LEAST_LIMIT or _are_above(problem, other)
    labels = halve(problem, rank_by_values) if is_tried else None
    if labels is None:
        return None
    loss = measure_released(problem.scaled, labels)
    if loss > most_lost and not is_small:
        return None
    most_others = (int(labels.max()) + 1) / LEAST_CLASSES
    is_few = other.max() + 1 > most_others and _count_released(problem, other) > most_others
    return None if is_few and loss > MUCH_LESS * most_lost else Clustering(labels)


def cluster_held(problem: ClusteringProblem) -> Clustering | None:
    """The smallest halves that hold what is asked, further models with it; None if all do not."""
    labels = halve(problem, rank_by_values)
    return None if labels is None else Clustering(labels)


def _are_above(problem: ClusteringProblem, labels: Int64) -> bool:
    """Return whether many of some classes are above a t; of very many classes some are judged."""
    one_in = -(-(int(labels.max()) + 1) // MOST_JUDGED)
    rows = np.flatnonzero(labels % one_in == 0)
    order, starts = group_classes(labels[rows] // one_in)
    above = find_above(rows[order], starts, problem.codes, problem.distributions, problem.max_emds)
    return bool(above.size > MANY_ABOVE * (starts.size - 1))


def _count_released(problem: ClusteringProblem, labels: Int64) -> int:
    """Classes once those above t are merged, and those that release the same are one, nearly."""
    merged = merge_above(problem, labels, np.inf)
    order, starts = group_classes(labels if merged is None else merged.labels)
    scaled, sizes = problem.scaled, np.diff(starts)
    means = [np.add.reduceat(values[order], starts[:-1]) / sizes for values in scaled.numeric]
    priority = np.arange(scaled.n_levels)
    modes = [
        aggregate.modes(codes.astype(np.int64), order, starts, priority) for codes in scaled.nominal
    ]
    released = [np.round(values, SAME_DIGITS) for values in means]
    return find_distinct([*released, *modes])[0][0].size
