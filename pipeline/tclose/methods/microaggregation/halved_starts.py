"""Starts of halves: all records are halved along the quasi-identifiers while both halves hold.

Where t is loose, most sets of k records are within it, whatever their confidential values. What is
cut from the top down by quasi-identifiers alone loses less than clusters that are balanced, and
less than near ones of which those above t were merged.
"""

from math import sqrt

from tclose.methods.clustering_problem import Clustering, ClusteringProblem
from tclose.methods.mondrian.halves import halve
from tclose.methods.released_loss import measure_released

# The t, in parts of 1 / sqrt(k), from which on halves are tried: of k records that are drawn from
# the table the mean distance is up to sqrt(pi / 32) = 0.31 such parts, where values are distinct.
LEAST_LIMIT = 0.4
# How many there are at least, as a share of other classes.
LEAST_CLASSES = 0.5


def find_halved(problem: ClusteringProblem, most_lost: float, n_classes: int) -> Clustering | None:
    """The smallest halves that hold what is asked, if they lose no more, in place of so many."""
    if float(min(problem.max_emds, default=1)) * sqrt(problem.k) < LEAST_LIMIT:
        return None
    labels = halve(problem)
    if labels is None or labels.max() + 1 < LEAST_CLASSES * n_classes:
        return None
    return Clustering(labels) if measure_released(problem.scaled, labels) <= most_lost else None
