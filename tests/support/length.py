"""The length of the tests: a fixed part in CI, or everything, as in `make nightly`.

The fixed part is the same every time, and small enough for each change to wait for; ``TCLOSE_FULL``
in the environment asks for all.
"""

import os
from collections.abc import Iterable
from hashlib import sha256
from typing import TypeVar

import pytest

FULL = "TCLOSE_FULL" in os.environ

Case = TypeVar("Case")


# Of how many cases one is tried where most tests make whole releases, or run commands.
SHARES = {
    **dict.fromkeys(("assess", "benchmarks", "data", "flows", "kernels", "methods"), 4),
    **dict.fromkeys(("passes", "refusals", "releases"), 4),
    **dict.fromkeys(("end_to_end", "nightly"), 8),
}


def shorten(tests: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests, but of the cases of one that makes releases a few, whichever their names say.

    Every so many of them would always have the same values of some parameters. Those marked
    ``every_case`` keep all, as do all tests at length.
    """
    tests = list(tests)
    if FULL:
        return tests
    cases: dict[str, list[pytest.Item]] = {}
    for test in tests:
        cases.setdefault(test.nodeid.partition("[")[0], []).append(test)
    kept = {test.nodeid for of_test in cases.values() for test in _choose(of_test)}
    return [test for test in tests if test.nodeid in kept]


def _choose(cases: list[pytest.Item]) -> list[pytest.Item]:
    share = SHARES.get(cases[0].nodeid.split("/")[1], 1)
    if share == 1 or cases[0].get_closest_marker("every_case"):
        return cases
    by_name = sorted(cases, key=lambda case: sha256(case.nodeid.encode()).digest())
    return by_name[: -(-len(cases) // share)]


def every(step: int, cases: Iterable[Case]) -> list[Case]:
    """Every so many of the cases, from the first on; at length all of them."""
    return list(cases)[:: 1 if FULL else step]


def count(short: int, full: int) -> int:
    """Return the number of examples, at length ``full``."""
    return full if FULL else short
