"""Parameters of flows that are called from Python, where Prefect does not look at their types."""

import math
from datetime import date
from numbers import Integral, Real

from tclose.errors import UsageError, name_kind

MOST_RETRIES = 10
MOST_MINUTES = 1_000_000.0  # two years: timers of the system take no more than centuries


def check_parameters(*, retries: object, timeout_minutes: object, **texts: object) -> None:
    """Check types and bounds of what a flow was given, but for what its policy is made of.

    Parameters
    ----------
    texts : others by their names, which have to be text

    Raises
    ------
    UsageError
        Names the parameter.
    """
    if not _is(retries, Integral) or not 0 <= retries <= MOST_RETRIES:  # type: ignore[operator]
        raise UsageError(
            f"retries: {_show(retries)} is none; give a whole number from 0 to {MOST_RETRIES}"
        )
    if not _is(timeout_minutes, Real) or not 0 < timeout_minutes <= MOST_MINUTES:  # type: ignore[operator]
        raise UsageError(
            f"timeout_minutes: {_show(timeout_minutes)} is none; give a number of minutes above 0, "
            f"and of at most {MOST_MINUTES:,.0f}"
        )
    for name, given in texts.items():
        if not isinstance(given, str):
            raise UsageError(f"{name}: {_show(given)} is none; give text")


def check_day(given: object, parameter: str, forms: str) -> None:
    """Check that something is a date, or text.

    Raises
    ------
    UsageError
        Names the parameter.
    """
    if not isinstance(given, date | str):
        raise UsageError(f"{parameter}: {_show(given)} is none; give {forms}")


def _is(given: object, kind: type) -> bool:
    return isinstance(given, kind) and not isinstance(given, bool)


def _show(given: object) -> str:
    """A number as it is, of anything else its type alone."""
    if _is(given, Real):
        return "NaN" if math.isnan(given) else f"{given}"  # type: ignore[arg-type]
    return name_kind(given)
