"""Threads of a task, each of which takes part after part of its work until none is left.

Kernels run without the interpreter's lock. What is done with a part must not depend on the others,
so that the results are the same for any number of threads.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tclose.runtime.interrupts import deferred

T = TypeVar("T")

# Of each thread: parts take more or less time, and who has done takes another.
PARTS_PER_THREAD = 8


def map_parts(function: Callable[[slice], T], n_items: int, n_threads: int) -> list[T]:
    """Apply a function to parts of some items.

    Parameters
    ----------
    function : takes which of the items a part has
    n_threads : with one all items are one part, and are done in the calling thread

    Returns
    -------
    of each part, in the order of the items
    """
    parts = list(_cut(n_items, n_threads))
    if len(parts) < 2:
        return [function(slice(0, n_items))]
    threads = ThreadPoolExecutor(n_threads)
    try:
        with deferred():  # or some would be done that nobody waits for
            begun = [threads.submit(function, part) for part in parts]
        return [part.result() for part in begun]
    finally:
        threads.shutdown(cancel_futures=True)


def _cut(n_items: int, n_threads: int) -> Iterator[slice]:
    n_parts = min(n_items, n_threads * PARTS_PER_THREAD) if n_threads > 1 else 1
    for i in range(n_parts):
        yield slice(i * n_items // n_parts, (i + 1) * n_items // n_parts)
