"""Parameters that a caller from Python gets wrong are refused by name, before anything is done."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tclose.errors import UsageError
from tclose_flows.parameters import check_parameters
from tclose_flows.policies import command_arguments
from tclose_flows.schedule import resolve_day

SCHEDULED = datetime(2026, 3, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"timeout_minutes": "5"}, "timeout_minutes: a value of type str is none; give a number"),
        ({"timeout_minutes": float("nan")}, "timeout_minutes: NaN is none"),
        ({"timeout_minutes": float("inf")}, "timeout_minutes: inf is none"),
        ({"timeout_minutes": 0}, "timeout_minutes: 0 is none"),
        ({"retries": -1}, "retries: -1 is none; give a whole number from 0 to 10"),
        ({"retries": 1.0}, "retries: 1.0 is none"),
        ({"retries": True}, "retries: a value of type bool is none"),
        ({"folder": 5}, "folder: 5 is none; give text"),
        ({"timezone": None}, "timezone: None is none; give text"),
    ],
)
def test_wrong_ones_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_parameters(**({"retries": 3, "timeout_minutes": 0.5} | changed))


def test_right_ones_pass() -> None:
    check_parameters(retries=0, timeout_minutes=1, folder="releases")


@pytest.mark.parametrize(
    ("as_of", "message"),
    [
        (5, "as_of: 5 is none; give a date, a day as in 2026-11-01, or scheduled - 1 month"),
        ("scheduled - 999 months", "as_of: .* of 0005-03-31 is before the year 1"),
        ("scheduled - 999 weeks", "as_of: .* is before the year 1; subtract less"),
    ],
)
def test_days_that_are_none(as_of: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_day(as_of, SCHEDULED.replace(year=5), "UTC")


@pytest.mark.parametrize("overrides", [[5], 5, None])
def test_a_failure_of_wrong_overrides_can_be_described(overrides: Any) -> None:
    assert command_arguments("a.yaml", overrides, None, "UTC") == "POLICY"
    assert command_arguments("a.yaml", "seed=2", None, "UTC") == "a.yaml --set seed=2"
