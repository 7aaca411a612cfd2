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


# Where most tests make whole releases, or run commands.
LONG_PLACES = tuple(
    f"tests/{place}/"
    for place in (
        *("assess", "benchmarks", "data", "end_to_end", "flows", "kernels", "methods", "nightly"),
        *("passes", "refusals", "releases"),
    )
)
SHARE = 4


def shorten(tests: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests, but of the cases of one that makes releases a fourth, whichever their names say.

    Every fourth one would always have the same values of some parameters. Those marked
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
    is_long = cases[0].nodeid.startswith(LONG_PLACES)
    if not is_long or cases[0].get_closest_marker("every_case"):
        return cases
    by_name = sorted(cases, key=lambda case: sha256(case.nodeid.encode()).digest())
    return by_name[: -(-len(cases) // SHARE)]


def every(step: int, cases: Iterable[Case]) -> list[Case]:
    """Every so many of the cases, from the first on; at length all of them."""
    return list(cases)[:: 1 if FULL else step]


def count(short: int, full: int) -> int:
    """Return the number of examples, at length ``full``."""
    return full if FULL else short
