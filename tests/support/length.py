"""The length of the tests: a fixed part in CI, or everything, as in `make nightly`.

The fixed part is the same every time, and small enough for each change to wait for; ``TCLOSE_FULL``
in the environment asks for all.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

FULL = "TCLOSE_FULL" in os.environ

Case = TypeVar("Case")


def every(step: int, cases: Iterable[Case]) -> list[Case]:
    """Every so many of the cases, from the first on; at length all of them."""
    return list(cases)[:: 1 if FULL else step]


def count(short: int, full: int) -> int:
    """Return the number of examples, at length ``full``."""
    return full if FULL else short
