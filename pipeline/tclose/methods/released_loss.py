"""The loss of classes as a release's: numbers by their ranges, or in shares of one class's loss."""

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.methods.clustering_problem import group_classes
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64


def by_ranges(scaled: Scaled) -> Float64:
    """Numbers as their losses are told, times the root of their weights: float64 (d, n).

    Or by their ranks, where these are asked for. On a scale of its own a number with a few outliers
    would decide alone what classes lose.
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
    weights, is_whole = released_weights(scaled), scaled.is_whole
    if is_whole is None or not is_whole.any():
        return float(measure_classes(values, levels, weights, scaled.n_levels, *by_class).sum())
    of_modes = np.where(is_whole, 0.0, weights)
    loss = float(measure_classes(values, levels, of_modes, scaled.n_levels, *by_class).sum())
    return loss + float(weights[is_whole] @ _count_apart(scaled.nominal[is_whole], *by_class))


def _count_apart(levels: NDArray[np.int32], order: Int64, starts: Int64) -> Int64:
    """Records of classes with several levels, of each of some columns int32 (q, n): int64 (q,)."""
    members, firsts = levels[:, order], starts[:-1]
    lowest = np.minimum.reduceat(members, firsts, axis=1)
    differ = lowest != np.maximum.reduceat(members, firsts, axis=1)
    n_apart: Int64 = differ @ np.diff(starts)
    return n_apart
