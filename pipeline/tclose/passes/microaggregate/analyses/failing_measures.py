"""Measurements that no release depends on: where one fails, the release goes on without it.

What analysts would find is told in the house and decides nothing: neither classes nor the verdict.
"""

import warnings
from collections.abc import Callable
from typing import TypeVar

from tclose.errors import LostError
from tclose.runtime.safe_errors import to_safe_error

Measured = TypeVar("Measured")


class UnmeasuredWarning(ResourceWarning):
    """A measurement failed. Python shows it to nobody by default; it is an error in the tests."""


def try_measuring(measure: Callable[[], Measured]) -> tuple[Measured | None, str]:
    """Measure, or return why that failed: type and place of the error, never a value.

    Returns
    -------
    What was measured and an empty text, or None and the reason.

    Raises
    ------
    LostError
        There is no memory, disk or worker, of which the release has need as well.
    """
    try:
        return measure(), ""
    except Exception as error:
        reason = to_safe_error(error, "analyses")
        if isinstance(reason, LostError):
            raise
        warnings.warn(str(reason), UnmeasuredWarning, stacklevel=2)
        return None, str(reason)
