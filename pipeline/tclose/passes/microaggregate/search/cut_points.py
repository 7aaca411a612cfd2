"""Blocks of near classes, by points that stand for them, along axes that are drawn."""

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.clustering.blocks import cut_blocks
from tclose.kernels.refinement.neighbours import turn_points
from tclose.model.array_types import Float64, Int64

# How unevenly quasi-identifiers are stretched before classes are grouped: the standard deviation of
# the logarithm. One round sees along some, the next along others.
AXIS_SPREAD = 2.0


def cut_points(
    points: tuple[Float64, NDArray[np.int32]],
    weights: Float64,
    n_levels: int,
    block_points: int,
    rng: np.random.Generator,
    spread: float = AXIS_SPREAD,
) -> tuple[Int64, Int64]:
    """Cut points along axes that are stretched and turned at random into blocks of near ones.

    Returns
    -------
    order int64 (m,): points block by block; starts int64 (b + 1,): where each block begins
    """
    centres, modes = points
    n_points, n_axes = len(centres), centres.shape[1] + modes.shape[1]
    scales = np.exp(spread * rng.standard_normal(n_axes))
    directions = orthonormal(rng.standard_normal((n_axes, n_axes))) * scales
    level_values = rng.random((modes.shape[1], n_levels))
    level_values *= np.sqrt(weights)[:, None]  # squared, a difference has its weight
    turned = turn_points(centres, modes, level_values, directions)
    order, starts, _ = cut_blocks(
        turned,
        np.empty((0, n_points), dtype=np.int32),
        np.empty(0),
        np.empty(0, dtype=np.int64),
        1,
        np.zeros(n_points, np.int64),
        np.array([0, n_points]),
        np.ones(1, np.int64),
        n_points,
        block_points,
    )
    return order, np.append(starts[:, 0], n_points)


def orthonormal(rows: Float64) -> Float64:
    """Rows made orthonormal one after the other; by plain sums, which are the same everywhere."""
    basis: list[Float64] = []
    for row in rows:
        basis.append(_normalise(_without(_without(row, basis), basis)))  # twice is exact enough
    return np.array(basis).reshape(rows.shape)


def _without(row: Float64, basis: list[Float64]) -> Float64:
    for earlier in basis:
        row = row - float(np.sum(row * earlier)) * earlier
    return row


def _normalise(row: Float64) -> Float64:
    return row / float(np.sqrt(np.sum(row * row)))
