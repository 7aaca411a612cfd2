"""Generalised values read by the rules of the documentation, character by character.

``[a, b]`` has both ends, ``[a, b)`` the lower one, ``{a, b}`` is a set, ``*`` is any value;
anything else is a value or a node alone. Texts that could be mistaken for that are JSON strings.
"""

import json
from dataclasses import dataclass

SPECIAL = set(',[]{}"')
EVERYTHING = "*"


class MalformedError(Exception):
    """A text that is not of this notation."""


@dataclass(frozen=True)
class Covered:
    """What a generalised value stands for: ``form`` one, interval, half-open, set or any."""

    form: str
    parts: tuple[str, ...] = ()


def parse(text: str) -> Covered:
    """Read a generalised value.

    Raises
    ------
    MalformedError
        It is none.
    """
    if text == EVERYTHING:
        return Covered("any")
    if text.startswith("["):
        parts, place = _read_list(text, 1)
        end = text[place:]
        if len(parts) != 2 or end not in ("]", ")"):
            raise MalformedError(f"{text!r} is no interval")
        return Covered("interval" if end == "]" else "half-open", tuple(parts))
    if text.startswith("{"):
        parts, place = _read_list(text, 1)
        if len(parts) < 2 or text[place:] != "}":
            raise MalformedError(f"{text!r} is no set")
        return Covered("set", tuple(parts))
    part, place = _read_one(text, 0)
    if place != len(text):
        raise MalformedError(f"{text!r} is no value alone")
    return Covered("one", (part,))


def _read_list(text: str, place: int) -> tuple[list[str], int]:
    parts = []
    while True:
        part, place = _read_one(text, place)
        parts.append(part)
        if not text.startswith(", ", place):
            return parts, place
        place += 2


def _read_one(text: str, place: int) -> tuple[str, int]:
    if text.startswith('"', place):
        try:
            found, end = json.JSONDecoder().raw_decode(text, place)
        except json.JSONDecodeError:
            raise MalformedError(f"{text!r} has a quote without an end") from None
        return found, end
    end = place
    closing = ")" if text.startswith("[") else ""
    while end < len(text) and text[end] not in SPECIAL:
        if closing and text[end] == closing and end == len(text) - 1:
            break
        end += 1
    if end == place:
        raise MalformedError(f"{text!r} has an empty part")
    return text[place:end], end
