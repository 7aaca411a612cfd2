"""Threads of this process: whole tasks side by side, or a task's parts until none is left.

Kernels run without the interpreter's lock. What is done with one item must not depend on the
others, so that the results are the same for any number of threads.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from tclose.runtime.interrupts import UnwantedError, deferred, stopping_threads

Item = TypeVar("Item")
T = TypeVar("T")

# Of each thread: parts take more or less time, and who has done takes another.
PARTS_PER_THREAD = 8


def run_side_by_side(
    function: Callable[[Item], T], items: Sequence[Item], n_threads: int
) -> Generator[tuple[int, T], None, None]:
    """Apply a function to items in threads, in the calling one where there is one item or thread.

    Whoever stops asking for results, or is interrupted, waits for those that run: they stop where
    they next look, see `tclose.runtime.interrupts.stop_if_unwanted`.

    Yields
    ------
    the position of an item, and its result, as they come
    """
    n_threads = min(n_threads, len(items))
    if n_threads < 2:
        for position, item in enumerate(items):
            yield position, function(item)
        return
    threads = ThreadPoolExecutor(n_threads)
    try:
        with stopping_threads() as stoppable:
            with deferred():  # or some would be done that nobody waits for
                begun = {
                    threads.submit(stoppable(function), item): position
                    for position, item in enumerate(items)
                }
            unwanted: UnwantedError | None = None
            for future in as_completed(begun):
                try:
                    result = future.result()
                except UnwantedError as error:  # why is known by another one, or by whoever waits
                    unwanted = error
                    continue
                yield begun[future], result
            if unwanted is not None:
                raise unwanted
    finally:
        with deferred():  # another interrupt would leave threads behind that write
            threads.shutdown(cancel_futures=True)


def map_parts(
    function: Callable[[slice], T], n_items: int, n_threads: int, least: int = 1
) -> list[T]:
    """Apply a function to parts of some items.

    Parameters
    ----------
    function : takes which of the items a part has
    n_threads : with one all items are one part, and are done in the calling thread
    least : items that are worth a part, as handing it to a thread takes time, too

    Returns
    -------
    of each part, in the order of the items
    """
    n_parts = min(n_items // least, n_threads * PARTS_PER_THREAD) if n_threads > 1 else 1
    parts = list(_cut(n_items, n_parts)) or [slice(0, n_items)]
    return map_side_by_side(function, parts, n_threads)


def map_side_by_side(
    function: Callable[[Item], T], items: Sequence[Item], n_threads: int
) -> list[T]:
    """Apply a function to items, as `run_side_by_side` does; the results in the order of these."""
    results = dict(run_side_by_side(function, items, n_threads))
    return [results[position] for position in range(len(items))]


def _cut(n_items: int, n_parts: int) -> Iterator[slice]:
    for i in range(n_parts):
        yield slice(i * n_items // n_parts, (i + 1) * n_items // n_parts)
