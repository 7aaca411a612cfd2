"""Threads of a region's task, which search groups of classes side by side.

Groups of a round share no record, and each is searched alike wherever and whenever that happens. So
the labels are the same for any number of threads. Kernels run without the interpreter's lock.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tclose.model.array_types import Int64
from tclose.runtime.interrupts import deferred

T = TypeVar("T")

# Of each thread: parts of the groups take more or less time, and who has done takes another.
PARTS_PER_THREAD = 8


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
    parts = list(_cut(groups[1].size - 1, n_threads))
    if len(parts) < 2:
        return [search(groups, 0)]

    def search_part(part: slice) -> T:
        return search((groups[0], groups[1][part.start : part.stop + 1]), part.start)

    threads = ThreadPoolExecutor(n_threads)
    try:
        with deferred():  # or some would be searched that nobody waits for
            begun = [threads.submit(search_part, part) for part in parts]
        return [part.result() for part in begun]
    finally:
        threads.shutdown(cancel_futures=True)


def _cut(n_groups: int, n_threads: int) -> Iterator[slice]:
    n_parts = min(n_groups, n_threads * PARTS_PER_THREAD) if n_threads > 1 else 1
    for i in range(n_parts):
        yield slice(i * n_groups // n_parts, (i + 1) * n_groups // n_parts)
