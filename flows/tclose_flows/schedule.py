"""Days of scheduled runs: which one a run speaks of, and those of a range."""

import contextlib
import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import WithJsonSchema

from tclose.errors import UsageError
from tclose.policy.as_of_day import read_day, to_day
from tclose_flows.parameters import check_day

_DAY = r"\d{4}-\d{2}-\d{2}"
_SCHEDULED = r"scheduled( - (?P<n>\d{1,3}) (?P<unit>day|week|month)s?)?"


def _as_text(pattern: str) -> WithJsonSchema:
    """Describe a pattern as text for Prefect's API, which checks patterns, not formats."""
    plain = re.sub(r"\?P<\w+>", "", pattern)
    return WithJsonSchema({"type": "string", "pattern": f"^({plain})$"})


Day = Annotated[date | str, _as_text(_DAY)]
AsOf = Annotated[date | str, _as_text(f"{_DAY}|{_SCHEDULED}")] | None
Step = Literal["day", "week", "month", "quarter", "year"]
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MOST_DAYS = 1_000


def resolve_day(as_of: AsOf, scheduled: datetime, timezone: str) -> date | None:
    """The day that a run speaks of.

    ``scheduled`` is when the run was to start, which stays the same however late it does, and when
    it is tried again; its day is that of ``timezone``.

    Raises
    ------
    UsageError
        Neither a day, nor ``scheduled``, nor ``scheduled - 1 month``; or one before the year 1.
    """
    if as_of is None or isinstance(as_of, date):
        return to_day(as_of)  # of a time, which is a date to Python, its day
    check_day(as_of, "as_of", "a date, a day as in 2026-11-01, or scheduled - 1 month")
    match = re.fullmatch(_SCHEDULED, as_of)
    if not match:
        return parse_day(as_of, "as_of")
    try:
        day = scheduled.astimezone(ZoneInfo(timezone)).date()
    except (ZoneInfoNotFoundError, TypeError, ValueError, OSError):  # of a folder, as Europe
        raise UsageError(f"timezone: {timezone!r} is none; give one as in Europe/Madrid") from None
    n_units = int(match["n"] or 0)
    try:
        if match["unit"] == "month":
            return add_months(day, -n_units)
        return day - timedelta(days=n_units * (7 if match["unit"] == "week" else 1))
    except (OverflowError, ValueError):
        raise UsageError(f"as_of: {as_of!r} of {day} is before the year 1; subtract less") from None


def parse_day(day: Day, parameter: str) -> date:
    """A day, which comes as text over Prefect's API.

    Raises
    ------
    UsageError
        It is none.
    """
    try:
        return read_day(str(day))
    except ValueError as error:
        raise UsageError(f"{parameter}: {error}") from None


def days_between(first: date, last: date, step: Step) -> tuple[date, ...]:
    """The days from first to last, both included where they fall on a step.

    Raises
    ------
    UsageError
        There are none, or too many; the step is unknown.
    """
    if step not in get_args(Step):
        raise UsageError(f"every: {step!r} is no step; allowed: {', '.join(get_args(Step))}")
    if first > last:
        raise UsageError(f"first: {first} is after last: {last}; exchange them")
    days: list[date] = []
    for day in _count_on(first, step):
        if day > last:
            break
        if len(days) == _MOST_DAYS:
            raise UsageError(f"first, last: more than {_MOST_DAYS:,} releases; take a longer step")
        days.append(day)
    return tuple(days)


def _count_on(first: date, step: Step) -> Iterator[date]:
    """Days at steps from the first, until they are too many or the calendar ends."""
    with contextlib.suppress(OverflowError, ValueError):  # after the year 9999
        for n in range(_MOST_DAYS + 1):
            if step in _MONTHS:
                yield add_months(first, n * _MONTHS[step])
            else:
                yield first + timedelta(days=n * (7 if step == "week" else 1))


def add_months(day: date, n_months: int) -> date:
    """The same day of another month, or its last day where it is shorter."""
    months = day.year * 12 + day.month - 1 + n_months
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
