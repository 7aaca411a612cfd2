"""Merging of classes until each meets what is asked, for models that merging never undoes."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, find_cheapest, represent_classes
from tclose.model.array_types import Float64, Int64

# Whether each class meets what is asked, bool (c,): of records class by class, ``order`` (n,) and
# ``starts`` (c + 1,). A union of classes that do has to as well.
Holds = Callable[[Int64, Int64], NDArray[np.bool_]]


def merge_until(
    labels: Int64,
    numeric: Float64,
    nominal: NDArray[np.int32],
    holds: Holds,
    weights: Float64 | None = None,
) -> tuple[Int64, int, int]:
    """Merge classes that do not hold with near ones until all do, or one is left.

    In rounds: every failing class finds the class whose union with it adds least squared error; the
    cheapest such pairs, of which no two share a class, are united. Deterministic.

    Parameters
    ----------
    labels : int64 (n,): class of each record, from 0 without gaps
    numeric, nominal : float64 (d, n), int32 (q, n): as in clustering
    weights : float64 (q,), as in `tclose.methods.scaling.Scaled`; by default 1 each

    Returns
    -------
    labels : int64 (n,), from 0 without gaps, in the order of the first of the united classes
    n_merged : unions made
    n_failing : 1 if the class that is left does not hold, else 0
    """
    values, levels = np.ascontiguousarray(numeric.T), np.ascontiguousarray(nominal.T)
    counted = np.ones(nominal.shape[0]) if weights is None else weights
    n_levels = int(nominal.max(initial=0)) + 1
    n_before = int(labels.max()) + 1
    while True:
        n_classes = int(labels.max()) + 1
        order, starts = group_by_label(labels, n_classes)
        failing = np.flatnonzero(~holds(order, starts))
        if not failing.size or n_classes == 1:
            return labels, n_before - n_classes, int(failing.size)
        none = np.empty(0)
        points = represent_classes(values, levels, counted, n_levels, order, starts, CENTRE, none)
        partners, costs = _find_partners(points, counted, np.diff(starts), failing)
        labels = _unite(n_classes, failing, partners, costs)[labels]


def _find_partners(
    points: tuple[Float64, NDArray[np.int32]], weights: Float64, sizes: Int64, failing: Int64
) -> tuple[Int64, Float64]:
    """The cheapest partner of each failing class; sought along the widest numeric axis."""
    centres, modes = points
    coordinates = np.zeros(sizes.size)
    if centres.shape[1]:
        coordinates = centres[:, int(np.argmax(np.ptp(centres, axis=0)))]
    order = np.argsort(coordinates, kind="stable")
    return cast(
        tuple[Int64, Float64],
        find_cheapest(centres, modes, weights, sizes, failing, order, coordinates[order]),
    )


def _unite(n_classes: int, failing: Int64, partners: Int64, costs: Float64) -> Int64:
    """New label of each class, int64 (c,): pairs, the cheapest first, each class in one at most."""
    joined = np.arange(n_classes)
    is_free = np.ones(n_classes, dtype=np.bool_)
    for i in np.lexsort((failing, costs)).tolist():
        pair = failing[i], partners[i]
        if is_free[pair[0]] and is_free[pair[1]]:
            is_free[[*pair]] = False
            joined[max(pair)] = min(pair)
    is_kept = joined == np.arange(n_classes)
    new: Int64 = (np.cumsum(is_kept) - 1)[joined]
    return new
