"""The order of tests: slow ones first, those that share a server in one process.

Processes begin with equal shares of the tests, one after the other, and whoever has done with its
own takes over the last ones of another's. So a share begins with what nobody should take over, and
ends with what is quick.
"""

from collections.abc import Iterable

import pytest

# Each line stays in one process.
LONG = (
    ("tests/faults/", "tests/end_to_end/s3/", "tests/releases/stores/"),
    ("tests/flows/", "tests/docs/"),
    ("tests/api/", "tests/deploy/test_stack", "tests/runtime/engines/", "tests/nightly/"),
    (
        *(f"tests/end_to_end/{place}" for place in ("test_", "ends/", "inputs/", "secrecy/")),
        "tests/assess/",
        "tests/releases/lineage/",
        "tests/runtime/monitoring/test_progress",
    ),
)


def order_tests(tests: Iterable[pytest.Item], n_processes: int) -> list[pytest.Item]:
    """Tests in the order in which processes take them, share by share."""
    quick = list(tests)
    long: list[list[pytest.Item]] = [[] for _ in range(n_processes)]
    for number, places in enumerate(LONG):
        for place in places:
            found = [test for test in quick if test.nodeid.startswith(place)]
            quick = [test for test in quick if not test.nodeid.startswith(place)]
            long[number % n_processes] += found
    ordered = []
    n_tests = len(quick) + sum(map(len, long))
    for number, first in enumerate(long):
        n_share = n_tests // (n_processes - number)
        n_quick = max(n_share - len(first), 0)
        ordered += first + quick[:n_quick]
        quick = quick[n_quick:]
        n_tests -= len(first) + n_quick
    return ordered + quick
