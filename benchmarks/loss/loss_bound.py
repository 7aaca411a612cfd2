"""A bound from below on the loss of all partitions into classes of k records or more.

The sum of squares within a class of s records is the sum over its pairs of their squared distance,
divided by s. Give each pair of a class the weight (k - 1)/(s - 1): each record's weights add up to
k - 1, and a k-th of the weighted sum over all pairs is no more than the sum of squares. So a k-th
of the least weighted sum, over all weights between 0 and 1 that add up to at least k - 1 at each
record, is a bound for every partition. It is at least half of the sum of the k - 1 nearest squared
distances over k, for which the two records of a pair may give it different weights.

That linear programme is bounded by its dual: for any numbers y >= 0, one a record, no weighted sum
is below (k - 1) sum_i y_i - sum_(i<j) max(0, y_i + y_j - d_ij).
"""

import numpy as np
from numpy.typing import NDArray

N_STEPS = 100
FIRST_STEP = 0.3


def measure_distances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between all records, float64 (n, n), of values float64 (d, n)."""
    distances = np.zeros((values.shape[1], values.shape[1]))
    for column in values:
        distances += (column[:, None] - column[None, :]) ** 2
    return distances


def bound_by_nearest(distances: NDArray[np.float64], k: int) -> float:
    """Half the sum of each record's k - 1 nearest squared distances, over k."""
    nearest = np.sort(distances, axis=1)[:, 1:k]
    return float(nearest.sum()) / (2 * k)


def bound_by_pairs(distances: NDArray[np.float64], k: int, n_steps: int = N_STEPS) -> float:
    """The largest of the dual's values that ascent along subgradients finds; each is a bound.

    It begins where a record's number is half of its (k - 1)-th nearest distance.
    """
    dual = np.sort(distances, axis=1)[:, k - 1] / 2
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    best = bound_by_nearest(distances, k) * k
    for step in range(n_steps):
        over = dual[:, None] + dual[None, :] - apart
        is_over = over > 0
        best = max(best, (k - 1) * float(dual.sum()) - float(over[is_over].sum()) / 2)
        slope = ((k - 1) - is_over.sum(axis=1)) / k
        dual *= np.exp(np.clip(slope, -1, 1) * FIRST_STEP / np.sqrt(1 + step))
    return best / k
