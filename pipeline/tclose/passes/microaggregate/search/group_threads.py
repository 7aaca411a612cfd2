"""Threads of a region's task, which search groups of classes side by side.

Groups of a round share no record, and each is searched alike wherever and whenever that happens. So
the labels are the same for any number of threads.
"""

from collections.abc import Callable
from typing import TypeVar

from tclose.model.array_types import Int64
from tclose.runtime.engines.thread_parts import map_parts

T = TypeVar("T")


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
