"""The loss of classes as a release's: numbers by their ranges, or in shares of one class's loss."""

import numpy as np

from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.methods.clustering_problem import group_classes
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64


def by_ranges(scaled: Scaled) -> Float64:
    """Numbers as their losses are told, times the root of their weights: float64 (d, n).

    On a scale of its own a number with a few outliers would decide alone what classes lose.
    """
    if scaled.ranges is None:
        return scaled.numeric
    ranges = np.where(scaled.ranges > 0, scaled.ranges, 1.0)
    return scaled.numeric / ranges[:, None]


def released_weights(scaled: Scaled) -> Float64:
    """Weights of nominal columns as their losses are told: float64 (q,)."""
    return scaled.weights if scaled.released is None else scaled.released


def measure_released(scaled: Scaled, labels: Int64) -> float:
    """The sum over the records of what their classes lose (Soria-Comas et al. 2015, eq. 5).

    Each quasi-identifier has its weight, in shares of what one class loses where that is asked.
    ``labels`` int64 (n,): class of each record, from 0 without gaps.
    """
    by_class = group_classes(labels)
    values = np.ascontiguousarray(by_ranges(scaled).T)
    levels = np.ascontiguousarray(scaled.nominal.T)
    columns = values, levels, released_weights(scaled)
    return float(measure_classes(*columns, scaled.n_levels, *by_class).sum())
