"""Threads that a task may have, by the machines of the workers and the number of tasks."""

from types import SimpleNamespace
from typing import Any

import pytest

from tclose.runtime.engines.engine import OnCluster


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
