"""The day that a release speaks of, put into a policy where it says ``{as_of}``.

A policy that is scheduled reads other files and has another name each time. Nothing but digits of
one day, in a pattern that the policy writes, can get into it; what is filled in is part of the
policy from then on, so that the same day gives the same release.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from tclose.errors import PolicyError, UsageError

PLACES = ("name",), ("input", "path")  # the keys in which a placeholder may be
NAME_WITH_DATE = r"^([A-Za-z0-9]|\{as_of[^{}]*\})([A-Za-z0-9._-]|\{as_of[^{}]*\})*$"
_PLACEHOLDER = re.compile(r"\{as_of(?P<pattern>[^{}]*)\}")
_PATTERN = re.compile(r":(%[YymdjqGVu]|[A-Za-z0-9._/-])+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

# As strftime has them, without those that depend on the machine's language; and the quarter.
_DIGITS: Mapping[str, Callable[[date], str]] = {
    "%Y": lambda day: f"{day.year:04}",
    "%y": lambda day: f"{day.year % 100:02}",
    "%m": lambda day: f"{day.month:02}",
    "%d": lambda day: f"{day.day:02}",
    "%j": lambda day: f"{day.timetuple().tm_yday:03}",
    "%q": lambda day: f"{(day.month + 2) // 3}",
    "%G": lambda day: f"{day.isocalendar().year:04}",
    "%V": lambda day: f"{day.isocalendar().week:02}",
    "%u": lambda day: f"{day.isocalendar().weekday}",
}


def read_day(text: str) -> date:
    """A day as in 2026-11-01.

    Raises
    ------
    ValueError
        It is none.
    """
    if not _DAY.fullmatch(text):
        raise ValueError(f"{text!r} has to be a day as in 2026-11-01")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is a day that no calendar has") from None


def to_day(given: object) -> date | None:
    """The day that a caller means: a date, the date of a time, or text as in 2026-11-01.

    Raises
    ------
    UsageError
        It is none of these.
    """
    if isinstance(given, datetime):
        given = given.date().isoformat()  # of pandas' NaT, which is a time without a day: "NaT"
    if given is None or isinstance(given, date):
        return given
    if not isinstance(given, str):
        kind = type(given).__name__
        raise UsageError(f"as_of: has to be a date, or text as in 2026-11-01 (given: {kind})")
    try:
        return read_day(given)
    except ValueError as error:
        raise UsageError(f"as_of: {error}") from None


def fill_as_of(document: dict[str, Any], day: date | None) -> dict[str, Any]:
    """A policy that was read, with the day in place of ``{as_of}`` and ``{as_of:%Y-%m}``.

    Raises
    ------
    PolicyError
        A day without a place for it, a place without a day, or a pattern that is none.
    """
    texts = _texts(document)
    output = document.get("output")
    if isinstance(output, dict) and _PLACEHOLDER.search(str(output.get("path"))):
        raise PolicyError("output.path: {as_of} is allowed in name and input.path only")
    matched = [place for place, text in texts.items() if _PLACEHOLDER.search(text)]
    if matched and day is None:
        raise PolicyError(
            f"{' and '.join(matched)}: {{as_of}} needs a day, and none was given; give one, as "
            "in --as-of 2026-11-01"
        )
    if not matched and day is not None:
        raise PolicyError(
            f"as of {day}: neither name nor input.path says where the day goes, as in "
            "adult-{as_of:%Y-%m}; write it there, or give no day"
        )
    if day is None:
        return document
    filled = dict(document)
    for place in matched:
        text = _fill(texts[place], place, day)
        if place == "name":
            filled["name"] = text
        else:
            filled["input"] = {**document["input"], "path": text}
    return filled


def _texts(document: Any) -> dict[str, str]:
    """The texts in which a placeholder may be, by their key."""
    values_of = {}
    for place in PLACES:
        value = document
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            values_of[".".join(place)] = value
    return values_of


def _fill(text: str, place: str, day: date) -> str:
    def write(match: re.Match[str]) -> str:
        pattern = match["pattern"]
        if not pattern:
            return day.isoformat()
        if not _PATTERN.fullmatch(pattern):
            raise PolicyError(
                f"{place}: {match[0]} is not a date pattern; {{as_of:...}} takes "
                f"{' '.join(_DIGITS)}, and letters, digits, '.', '_', '/' and '-' between them"
            )
        return re.sub("%.", lambda part: _DIGITS[part[0]](day), pattern[1:])

    return _PLACEHOLDER.sub(write, text)
