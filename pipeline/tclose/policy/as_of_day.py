"""The day that a release speaks of, put into a policy where it says ``{as_of}``.

A policy that is scheduled reads other files and has another name each time. Nothing but digits of
one day, in a pattern that the policy writes, can get into it; what is filled in is part of the
policy from then on, so that the same day gives the same release.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from tclose.errors import PolicyError, UsageError

PLACES = ("name",), ("input", "path")  # the keys in which a placeholder may be, and the words
_WORDS = "about"
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
        A day without a place for it, a place without a day or where none may be, or a pattern that
        is none.
    """
    texts = dict(sorted(_find_placeholders(document), key=_rank))
    names = [".".join(place) for place in texts]
    for place, name in zip(texts, names, strict=True):
        if not _may_have_day(place):
            raise PolicyError(f"{name}: {{as_of}} is allowed in name, input.path and about only")
    if texts and day is None:
        raise PolicyError(
            f"{' and '.join(names)}: {{as_of}} needs a day, and none was given; give one, as "
            "in --as-of 2026-11-01"
        )
    if day is None:
        return document
    if not texts.keys() & set(PLACES):
        raise PolicyError(
            f"as of {day}: neither name nor input.path says where the day goes, as in "
            "adult-{as_of:%Y-%m}; write it there, or give no day"
        )
    filled = dict(document)
    for (section, *keys), text in texts.items():
        value = _fill(text, ".".join([section, *keys]), day)
        filled[section] = {**filled[section], keys[0]: value} if keys else value
    return filled


def _rank(found: tuple[tuple[str, ...], str]) -> bool:
    return found[0] != PLACES[0]  # the name comes first


def _may_have_day(place: tuple[str, ...]) -> bool:
    return place in PLACES or (place[0] == _WORDS and len(place) == 2)


def _find_placeholders(document: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts that have a placeholder, by their keys."""
    waiting: deque[tuple[tuple[str, ...], Any]] = deque([((), document)])
    seen: set[int] = set()
    while waiting:
        place, value = waiting.popleft()
        if isinstance(value, str):
            if _PLACEHOLDER.search(value):
                yield place, value
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*place, str(key)), inner) for key, inner in pairs]


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
