"""Tasks and parts of some work, each done once, whatever the number of threads."""

import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.runtime.engines.thread_parts import map_parts, run_side_by_side
from tclose.runtime.interrupts import UnwantedError
from tclose.runtime.monitoring.task_shares import tell_share


@repeatable
@given(st.integers(0, 200), st.integers(1, 5))
def test_parts_are_all_items_in_their_order(n_items: int, n_threads: int) -> None:
    parts = map_parts(lambda part: list(range(n_items))[part], n_items, n_threads)
    assert [item for part in parts for item in part] == list(range(n_items))


@pytest.mark.timeout(60)
def test_an_error_of_a_part_is_that_of_the_whole() -> None:
    def fail(part: slice) -> None:
        if part.start:
            raise ValueError("of a part")

    with pytest.raises(ValueError, match="of a part"):
        map_parts(fail, 9, 3)


@repeatable
@given(st.lists(st.integers()), st.integers(1, 5))
def test_each_item_has_its_result(items: list[int], n_threads: int) -> None:
    results = dict(run_side_by_side(lambda item: item + 1, items, n_threads))
    assert [results[position] for position in range(len(items))] == [item + 1 for item in items]


@pytest.mark.timeout(60)
def test_tasks_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=30)
    assert sorted(run_side_by_side(lambda _: both.wait() < 2, "ab", 2)) == [(0, True), (1, True)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt])
def test_what_nobody_waits_for_any_more_stops(reason: type[BaseException]) -> None:
    """Tasks that tell their share, the threads of such a task, and those that have not begun."""
    begun, seen, stopped = threading.Barrier(3, timeout=30), [], []

    def work(item: str) -> None:
        seen.append(item)
        begun.wait()
        if item == "fails":
            raise reason
        try:
            while True:
                tell_share(0.5)
        except UnwantedError:
            stopped.append(item)
            raise

    def work_in_threads(item: str) -> None:
        if item == "fails":
            return work(item)
        list(run_side_by_side(work, [f"{item} {part}" for part in (1, 2)], 2))
        return None

    with pytest.raises(reason):
        list(run_side_by_side(work_in_threads, ["goes on", "fails", "never begun"], 2))
    assert sorted(stopped) == ["goes on 1", "goes on 2"]
    assert sorted(seen) == ["fails", "goes on 1", "goes on 2"]


@pytest.mark.timeout(60)
def test_whoever_leaves_has_the_rest_stopped() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def work(item: int) -> int:
        if item == 0:
            begun.wait()
            return item
        begun.set()
        try:
            while True:
                tell_share(0.5)
        except UnwantedError:
            stopped.set()
            raise

    results = run_side_by_side(work, [0, 1], 2)
    assert next(results) == (0, 0)
    del results
    assert stopped.is_set()


INTERRUPTED = """
import contextlib, os, signal, sys, threading, time
from tclose.runtime.engines.thread_parts import run_side_by_side
from tclose.runtime.interrupts import hear_interrupts

hear_interrupts()
begun = threading.Event()

def work(item):
    if item == 0:
        begun.wait()
        return item
    begun.set()
    time.sleep(2.5)  # it does not look, and writes
    print("ended", flush=True)

try:
    with contextlib.closing(run_side_by_side(work, [0, 1], 2)) as found:
        for _ in found:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(9)
except KeyboardInterrupt:
    print("clean-up", flush=True)
"""


@pytest.mark.timeout(60)
def test_an_interrupt_waits_for_tasks_that_run() -> None:
    """However long these take: it is raised again after a second, and clean-up comes after them."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], check=True, capture_output=True, text=True, timeout=50
    )
    assert ended.stdout.split() == ["ended", "clean-up"]
    assert not ended.stderr
