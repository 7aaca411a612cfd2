"""Days of scheduled runs and of backfills."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tclose.errors import UsageError
from tclose_flows.schedule import add_months, days_between, resolve_day

SCHEDULED = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("as_of", "timezone", "day"),
    [
        (None, "UTC", None),
        (date(2026, 2, 3), "UTC", date(2026, 2, 3)),
        (datetime(2026, 2, 3, 4, 5, tzinfo=UTC), "UTC", date(2026, 2, 3)),
        ("2026-02-03", "UTC", date(2026, 2, 3)),
        ("scheduled", "UTC", date(2026, 3, 31)),
        ("scheduled", "Europe/Madrid", date(2026, 4, 1)),
        ("scheduled - 1 month", "UTC", date(2026, 2, 28)),
        ("scheduled - 15 months", "UTC", date(2024, 12, 31)),
        ("scheduled - 2 weeks", "UTC", date(2026, 3, 17)),
        ("scheduled - 31 days", "UTC", date(2026, 2, 28)),
    ],
)
def test_day_of_a_run(as_of, timezone, day):
    found = resolve_day(as_of, SCHEDULED, timezone)
    assert found == day
    assert type(found) is type(day)


@pytest.mark.parametrize(
    ("scheduled", "day"),
    [
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), date(2026, 3, 29)),  # 01:59, before 02:00 is not
        (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), date(2026, 3, 29)),
        (datetime(2026, 10, 24, 22, 0, tzinfo=UTC), date(2026, 10, 25)),  # a day of 25 hours
        (datetime(2026, 10, 25, 22, 59, tzinfo=UTC), date(2026, 10, 25)),
        (datetime(2026, 10, 25, 23, 0, tzinfo=UTC), date(2026, 10, 26)),
    ],
)
def test_days_on_which_clocks_are_changed_begin_and_end_at_midnight(scheduled, day):
    assert resolve_day("scheduled", scheduled, "Europe/Madrid") == day


@pytest.mark.parametrize("as_of", ["yesterday", "scheduled + 1 day", "2026-02-30", "01.02.2026"])
def test_a_day_that_is_none_is_refused(as_of):
    with pytest.raises(UsageError, match=r"^as_of: .* day"):
        resolve_day(as_of, SCHEDULED, "UTC")


@pytest.mark.parametrize("timezone", ["Mars/Base", "Europe", "../Madrid", "", None])
def test_a_timezone_that_is_none_is_refused(timezone):
    with pytest.raises(UsageError, match=rf"timezone: {timezone!r} is none"):
        resolve_day("scheduled", SCHEDULED, timezone)


@pytest.mark.parametrize(
    ("first", "last", "step", "days"),
    [
        ("2026-01-31", "2026-04-30", "month", ["01-31", "02-28", "03-31", "04-30"]),
        ("2026-01-15", "2026-12-31", "quarter", ["01-15", "04-15", "07-15", "10-15"]),
        ("2026-01-01", "2026-01-15", "week", ["01-01", "01-08", "01-15"]),
        ("2026-02-27", "2026-03-01", "day", ["02-27", "02-28", "03-01"]),
        ("2026-05-05", "2027-05-04", "year", ["05-05"]),
        ("9999-12-30", "9999-12-31", "day", ["12-30", "12-31"]),
        ("9999-11-15", "9999-12-31", "month", ["11-15", "12-15"]),
    ],
)
def test_days_of_a_range(first, last, step, days):
    found = days_between(date.fromisoformat(first), date.fromisoformat(last), step)
    assert [f"{day:%m-%d}" for day in found] == days


def test_a_range_that_is_none_or_too_long_is_refused():
    with pytest.raises(UsageError, match="is after last"):
        days_between(date(2026, 1, 2), date(2026, 1, 1), "day")
    with pytest.raises(UsageError, match="more than 1,000"):
        days_between(date(2020, 1, 1), date(2026, 1, 1), "day")
    assert len(days_between(date(2020, 1, 1), date(2022, 9, 26), "day")) == 1_000


def test_an_unknown_step_is_refused():
    step: Any = "fortnight"
    with pytest.raises(UsageError, match="every: 'fortnight' is no step; allowed: day, week"):
        days_between(date(2026, 1, 1), date(2026, 1, 2), step)


def test_months_are_added_over_years():
    assert add_months(date(2024, 2, 29), 12) == date(2025, 2, 28)
    assert add_months(date(2026, 1, 31), -2) == date(2025, 11, 30)
