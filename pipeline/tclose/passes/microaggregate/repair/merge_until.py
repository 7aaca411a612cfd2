"""Merging of classes until each meets what is asked, for models that merging never undoes."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, find_cheapest, represent_classes
from tclose.model.array_types import Float64, Int64

# A class of so many that still fails is united with half as many again at once: a part of the table
# that holds only as one class takes as many rounds as it has digits, not as it has classes.
MANY = 8
MIDDLE = 0.1, 0.9  # of the classes, along an axis

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
    cheapest such pairs, of which no two share a class, are united; a union of `MANY` finds several.
    Deterministic.

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
    n_united = np.ones(n_before, dtype=np.int64)
    while True:
        n_classes = int(labels.max()) + 1
        order, starts = group_by_label(labels, n_classes)
        failing = np.flatnonzero(~holds(order, starts))
        if not failing.size or n_classes == 1:
            return labels, n_before - n_classes, int(failing.size)
        none = np.empty(0)
        points = represent_classes(values, levels, counted, n_levels, order, starts, CENTRE, none)
        partners, costs = _find_partners(points, counted, np.diff(starts), failing)
        united = _unite(points, counted, np.diff(starts), n_united, (failing, partners, costs))
        n_united = np.bincount(united, n_united).astype(np.int64)
        labels = united[labels]


def _find_partners(
    points: tuple[Float64, NDArray[np.int32]], weights: Float64, sizes: Int64, failing: Int64
) -> tuple[Int64, Float64]:
    """The cheapest partner of each failing class; sought along the axis that tells most apart.

    That of which the middle is widest: along one with a few far away all others would be looked at.
    """
    centres, modes = points
    coordinates = np.zeros(sizes.size)
    if centres.shape[1]:
        widths = np.ptp(np.quantile(centres, MIDDLE, axis=0), axis=0)
        coordinates = centres[:, int(np.argmax(widths))]
    order = np.argsort(coordinates, kind="stable")
    return cast(
        tuple[Int64, Float64],
        find_cheapest(centres, modes, weights, sizes, failing, order, coordinates[order]),
    )


def _unite(
    points: tuple[Float64, NDArray[np.int32]],
    weights: Float64,
    sizes: Int64,
    n_united: Int64,
    found: tuple[Int64, Int64, Float64],
) -> Int64:
    """New label of each class, int64 (c,): the cheapest unions first, each class in one at most.

    ``n_united`` int64 (c,): of how many classes each is; ``found``: those that fail, the cheapest
    partner of each, and what it costs.
    """
    joined = np.arange(sizes.size)
    is_free = np.ones(sizes.size, dtype=np.bool_)
    failing, partners, costs = found
    for i in np.lexsort((failing, costs)).tolist():
        if not (is_free[failing[i]] and is_free[partners[i]]):
            continue
        union = np.array([failing[i], partners[i]])
        if n_united[failing[i]] >= MANY:
            is_free[failing[i]] = False
            others = np.flatnonzero(is_free)
            of_others = _cost_unions(points, weights, sizes, int(failing[i]), others)
            nearest = np.argsort(of_others, kind="stable")[: n_united[failing[i]] // 2]
            union = np.append(others[nearest], failing[i])
        is_free[union] = False
        joined[union] = union.min()
    is_kept = joined == np.arange(sizes.size)
    new: Int64 = (np.cumsum(is_kept) - 1)[joined]
    return new


def _cost_unions(
    points: tuple[Float64, NDArray[np.int32]],
    weights: Float64,
    sizes: Int64,
    c: int,
    others: Int64,
) -> Float64:
    """The squared error that unions of a class with others add, as in `find_cheapest`."""
    centres, modes = points
    apart = ((centres[others] - centres[c]) ** 2).sum(axis=1)
    apart += ((modes[others] != modes[c]) * weights).sum(axis=1)  # BLAS sums by its threads
    cost: Float64 = apart * sizes[c] * sizes[others] / (sizes[c] + sizes[others])
    return cost
