"""Threads that a task may have, by the machines of the workers and the number of tasks."""

import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tclose.runtime.engines.engine import InProcess, OnCluster


@pytest.mark.parametrize(
    ("machines", "n_tasks", "n_threads"),
    [
        ({"127.0.0.1": [1, 1]}, 1, 2),
        ({"127.0.0.1": [1, 1]}, 2, 1),
        ({"127.0.0.1": [1, 1]}, 3, 1),
        ({"127.0.0.1": [1] * 8}, 3, 2),
        ({"a": [1], "b": [1], "c": [1]}, 1, 1),  # a task is on one of them
        ({"a": [4], "b": [2, 2]}, 1, 4),
        ({"a": [4], "b": [1]}, 1, 1),  # it may be on the smaller one
        ({}, 1, 1),
        ({"127.0.0.1": [1, 1]}, 0, 2),
    ],
)
def test_share_of_a_machine(machines: dict[str, list[int]], n_tasks: int, n_threads: int) -> None:
    workers = {
        f"{host}:{number}": {"host": host, "nthreads": count}
        for host, counts in machines.items()
        for number, count in enumerate(counts)
    }
    client: Any = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})
    assert OnCluster(client).threads_per_task(n_tasks) == n_threads


@pytest.mark.parametrize(
    ("n_processors", "n_tasks", "n_threads"),
    [(2, 1, 2), (2, 2, 1), (2, 9, 1), (8, 1, 8), (8, 2, 4), (32, 9, 8), (3, 0, 3)],
)
def test_share_of_this_process(
    n_processors: int, n_tasks: int, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(n_processors)))
    assert InProcess().threads_per_task(n_tasks) == n_threads


def test_few_tasks_of_this_process_are_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds memory of its own."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    running: list[int] = []
    most: list[int] = []
    one = threading.Lock()

    def work(item: int) -> None:
        with one:
            running.append(item)
            most.append(len(running))
        time.sleep(0.01)
        with one:
            running.remove(item)

    list(InProcess().run(work, range(40)))
    assert 2 <= max(most) <= 4
