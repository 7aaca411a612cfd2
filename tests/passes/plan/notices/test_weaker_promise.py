"""A release that asks less over time than an earlier one promised is warned of, key by key."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tclose.passes.plan.notices.weaker_promise import find_weaker
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.series.series_history import SeriesRelease

pytestmark = pytest.mark.every_case  # each takes milliseconds

ASKED: dict[str, Any] = {"k": 5, "t": 0.3, "window": 6, "departures": "unite"}


def release_of(number: int, **more: Any) -> SeriesRelease:
    asked = ASKED | more
    limits = {"pay": asked.pop("t"), "job": 0.5}
    entry = SeriesEntry(
        series="s", number=number, t=limits, register_sha256="0" * 64, releases=[], **asked
    )
    return SeriesRelease(Path(f"/out/month-{number}/a{number}"), entry)


def find(earlier: list[SeriesRelease], **more: Any) -> list[str]:
    settings = OverTimeSettings(**ASKED | more)
    limits = {"pay": settings.limit(None), "other": Fraction(1)}
    return [one.message for one in find_weaker(earlier, settings, limits)]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"k": 4}, "over_time.k 5 in month-1/a1, 4 now"),
        ({"t": 0.31}, "t over time of 'pay' 0.3 in month-1/a1, 0.31 now"),
        ({"window": 5}, "over_time.window 6 in month-1/a1, 5 now"),
        ({"departures": "report"}, "over_time.departures unite in month-1/a1, report now"),
        ({"departures": "drop"}, None),
        ({"k": 6, "t": 0.2, "window": 7}, None),
        ({}, None),
    ],
)
def test_what_is_weaker_is_said(now: dict[str, Any], said: str | None) -> None:
    told = find([release_of(1)], **now)
    assert [f"less is asked over time than before: {said}: " in one for one in told] == (
        [] if said is None else [True]
    )


@pytest.mark.parametrize("then", ["hold", "drop", "refuse"])
def test_uniting_holds_less_than_holding_each(then: str) -> None:
    assert find([release_of(1, departures=then)])
    assert not find([release_of(1, departures=then)], departures="hold")


def test_the_strongest_that_was_is_named() -> None:
    earlier = [release_of(1, k=7), release_of(2, k=9, t=0.1), release_of(3, k=9), release_of(4)]
    [said] = find(earlier, k=3)
    assert "over_time.k 9 in month-3/a3, 3 now; t over time of 'pay' 0.1 in month-2/a2" in said
