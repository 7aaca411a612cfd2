"""The length of the tests: a fixed part in CI, or everything, as in `make nightly`.

The fixed part is the same every time, and small enough for each change to wait for; ``TCLOSE_FULL``
in the environment asks for all.
"""

import os
from collections import Counter
from collections.abc import Iterable
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
FEW_CASES = 3
STEP = 4


def shorten(tests: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests, but of many cases of one that makes releases every fourth, from the first on.

    Those marked ``every_case`` keep all, as do all tests at length.
    """
    tests = list(tests)
    if FULL:
        return tests
    n_cases = Counter(name_test(test) for test in tests)
    seen: Counter[str] = Counter()
    kept = []
    for test in tests:
        name = name_test(test)
        is_long = test.nodeid.startswith(LONG_PLACES) and n_cases[name] >= FEW_CASES
        if not is_long or test.get_closest_marker("every_case") or seen[name] % STEP == 0:
            kept.append(test)
        seen[name] += 1
    return kept


def name_test(test: pytest.Item) -> str:
    """What all cases of a test are called."""
    return test.nodeid.partition("[")[0]


def every(step: int, cases: Iterable[Case]) -> list[Case]:
    """Every so many of the cases, from the first on; at length all of them."""
    return list(cases)[:: 1 if FULL else step]


def count(short: int, full: int) -> int:
    """Return the number of examples, at length ``full``."""
    return full if FULL else short
