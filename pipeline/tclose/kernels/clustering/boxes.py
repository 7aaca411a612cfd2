"""Boxes of near points: what may be in them is told without a look at each point.

A box has ranges of numbers and of codes, per quasi-identifier, that hold all of its points.
"""

import numpy as np

from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.compiler import kernel


def cut_boxes(numeric, nominal, weights, most):
    """Cut points into boxes of near ones.

    Parameters
    ----------
    numeric, nominal : float64 (d, n), int32 (q, n): numbers and codes of the points, n at least 1
    weights : float64 (q,): what a difference of codes counts
    most : points of a box, at most

    Returns
    -------
    order : int64 (n,): the points box by box
    starts : int64 (b + 1,): where each box begins in it
    """
    n_points = numeric.shape[1]
    order, ends, _ = cut_blocks(
        numeric,
        nominal,
        weights,
        np.ones(len(nominal), dtype=np.int64),  # any cut will do
        int(nominal.max(initial=0)) + 1,
        np.zeros(n_points, np.int64),
        np.array([0, n_points]),
        np.ones(1, np.int64),
        n_points,
        most,
    )
    return order, np.append(ends[:, 0], n_points)


def find_ranges(values, starts):
    """The lowest and the highest of the values, (j, n), of each box: both (j, b)."""
    low, high = (end.reduceat(values, starts[:-1], axis=1) for end in (np.minimum, np.maximum))
    return low, high


@kernel(borrows=True)
def bound_below(numbers, codes, weights, point, levels, bounds):
    """Write what the squared distance of no point of a box is below: float64 (b,).

    ``numbers``, ``codes``: the lowest and the highest of each box, from `find_ranges`; ``point``,
    ``levels``: float64 (d,) and int32 (q,), what is measured from.
    """
    bounds[:] = 0.0
    for j in range(point.size):
        low, high, value = numbers[0][j], numbers[1][j], point[j]
        for b in range(bounds.size):
            gap = (
                low[b] - value if low[b] > value else (value - high[b] if value > high[b] else 0.0)
            )
            bounds[b] += gap * gap
    for j in range(levels.size):
        lowest, highest, level, weight = codes[0][j], codes[1][j], levels[j], weights[j]
        for b in range(bounds.size):
            bounds[b] += weight if (level < lowest[b]) | (level > highest[b]) else 0.0
