"""Threads of a region's task, which search groups of classes side by side, or look at classes.

Groups of a round share no record, and each is searched alike wherever and whenever that happens. So
the labels are the same for any number of threads.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.refinement.neighbours import represent_classes
from tclose.model.array_types import Float64, Int64
from tclose.runtime.engines.thread_parts import map_parts

T = TypeVar("T")

# To look at so many records takes as long as to hand them to a thread.
RECORDS_OF_A_PART = 40_000


def map_groups(
    search: Callable[[tuple[Int64, Int64], int], T], groups: tuple[Int64, Int64], n_threads: int
) -> list[T]:
    """Search groups of classes, in parts.

    Parameters
    ----------
    search : takes some of the groups, and the number of the first
    groups : classes group by group int64 (c,), and where each group begins int64 (g + 1,)

    Returns
    -------
    of each part, in the order of the groups
    """

    def search_part(part: slice) -> T:
        return search((groups[0], groups[1][part.start : part.stop + 1]), part.start)

    return map_parts(search_part, groups[1].size - 1, n_threads)


def map_classes(look: Callable[[slice], T], starts: Int64, n_threads: int) -> list[T]:
    """Look at classes, in parts of many records.

    Parameters
    ----------
    look : takes which of the classes a part has
    starts : where each class begins int64 (c + 1,)

    Returns
    -------
    of each part, in the order of the classes
    """
    n_classes = starts.size - 1
    least = -(-n_classes * RECORDS_OF_A_PART // max(int(starts[-1]), 1))
    return map_parts(look, n_classes, n_threads, max(least, 1))


def represent_side_by_side(
    columns: tuple[Float64, NDArray[np.int32], Float64],
    n_levels: int,
    by_class: tuple[Int64, Int64],
    kind: int,
    draws: Float64,
    n_threads: int,
) -> tuple[Float64, NDArray[np.int32]]:
    """The point of each class, as from `represent_classes`, in parts.

    Parameters
    ----------
    columns : values float64 (n, d), levels int32 (n, q), weights float64 (q,)
    by_class : the records class by class int64 (n,), and where each class begins int64 (c + 1,)
    draws : float64 (c,)

    Returns
    -------
    centres float64 (c, d), modes int32 (c, q)
    """
    order, starts = by_class

    def represent_part(part: slice) -> tuple[Float64, NDArray[np.int32]]:
        of_part = order, starts[part.start : part.stop + 1]
        points: tuple[Float64, NDArray[np.int32]]
        points = represent_classes(*columns, n_levels, *of_part, kind, draws[part])
        return points

    parts = map_classes(represent_part, starts, n_threads)
    centres, modes = zip(*parts, strict=True)
    return np.concatenate(centres), np.concatenate(modes)
