"""Generalised values as other tools write them: what each text covers of a quasi-identifier.

Intervals with brackets, dashes or signs, digits that are masked, and sets; what tclose writes is
among them. A text that is in none of these notations, or has none of the originals' values, is
refused: taken for one that covers nobody, it would hide the persons of its class.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.assess.covering import values_by_name
from tclose.data.keys import Encoding, Keys
from tclose.errors import DataError
from tclose.methods.generalisation.notation import (
    Texts,
    parse_set,
    read_number,
    read_values,
)

# The smallest and the largest key that a text covers.
Ends = tuple[int | float, int | float]
Found = TypeVar("Found")

_MASK, _ANY = "*", re.compile(r"\*+")
# ISO 31-11 has both ways to write that an end is not part of an interval: ]20, 40[ and (20, 40).
_BRACKETED = re.compile(r"([\[\](])(.+)[,;](.+)([\[\])])")
_BELOW, _ABOVE = re.compile(r"(<=?|≤)(.+)"), re.compile(r"(>=?|≥)(.+)")
_AND_MORE = re.compile(r"(.+)\+")
_SEPARATORS = "..", "\N{EN DASH}", "~", " to ", "-"
_ENDLESS = "..", "-inf", "inf", "+inf", "-∞", "∞", "+∞"
_DIGITS = re.compile(r"(\d+)(\*+)")
_BETWEEN = re.compile(r"[,;|]")


def read_other_ends(encoding: Encoding, texts: Texts) -> tuple[Keys, Keys]:
    """The smallest and the largest key that each text covers of an ordered attribute, (c,) each.

    Of ``20-40``, ``[20, 40]``, ``[20, 40[``, ``(20,40]``, ``<=40``, ``65+``, ``2*``, ``*``, or a
    value alone.

    Raises
    ------
    DataError
        Texts that cover nothing.
    """
    listed = texts.tolist()
    ends = _read_each(encoding, listed, lambda text: _read_ends(encoding, text))
    sides = zip(*(ends[text] for text in listed), strict=True)
    low, high = (
        np.array(keys, np.float64 if encoding.has_float_keys else np.int64) for keys in sides
    )
    return cast(tuple[Keys, Keys], (low, high))


def find_other_covered(encoding: Encoding, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which values of a nominal attribute each text covers: bool (texts, values).

    Of ``{a, b}``, ``{a,b}``, ``a|b``, ``041**``, ``041*``, ``*``, a node of the taxonomy, or a
    value alone. A set may have values that no original has.

    Raises
    ------
    DataError
        As of `read_other_ends`.
    """
    by_name = values_by_name(encoding)
    covered = _read_each(encoding, texts, lambda text: _find_values(encoding, by_name, text))
    return np.array([covered[text] for text in texts]).reshape(len(texts), len(encoding.texts))


def _read_each(
    encoding: Encoding, texts: Sequence[str], read: Callable[[str], Found | None]
) -> dict[str, Found]:
    found = {text: read(text.strip()) for text in set(texts)}
    n_unread = sum(one is None for one in found.values())
    if n_unread:
        raise DataError(
            f"column {encoding.column.name!r}: {n_unread:,} different values are intervals or sets "
            "in no notation that is known, or have no value of the originals; write intervals as "
            "[20, 40], sets as {a, b}, any value as *"
        )
    return {text: one for text, one in found.items() if one is not None}


def _read_ends(encoding: Encoding, text: str) -> Ends | None:
    if _ANY.fullmatch(text):
        return encoding.low, encoding.high
    for low, high, has_low, has_high in _list_spans(text):
        first = _find_key(encoding, low, encoding.low)
        last = _find_key(encoding, high, encoding.high)
        if first is None or last is None:
            continue
        ends = (
            _first_key(encoding, first, has_low or _is_endless(low)),
            _last_key(encoding, last, has_high or _is_endless(high)),
        )
        if ends[0] <= ends[1]:
            return ends
    return None


def _list_spans(text: str) -> Iterator[tuple[str, str, bool, bool]]:
    """Both ends of what a text may be, and if each is a part of it.

    A value alone comes before intervals, as dates have dashes, too.
    """
    yield text, text, True, True
    if match := _BRACKETED.fullmatch(text):
        opening, low, high, closing = match.groups()
        yield low, high, opening == "[", closing == "]"
    if match := _BELOW.fullmatch(text):
        yield _ENDLESS[0], match[2], True, match[1] != "<"
    if match := _ABOVE.fullmatch(text):
        yield match[2], _ENDLESS[0], match[1] != ">", True
    if match := _AND_MORE.fullmatch(text):
        yield match[1], _ENDLESS[0], True, True
    if match := _DIGITS.fullmatch(text):
        yield match[1] + "0" * len(match[2]), match[1] + "9" * len(match[2]), True, True
    for separator in _SEPARATORS:
        for found in re.finditer(re.escape(separator), text):
            yield text[: found.start()], text[found.end() :], True, True


def _find_key(encoding: Encoding, text: str, if_endless: float) -> Fraction | None:
    """The key of a value, which need not be one of the column's; None if it is no value.

    ``if_endless``: the key that an end without a value is at.
    """
    dtype = encoding.type
    if _is_endless(text):
        return Fraction(if_endless)
    is_number = encoding.categories is None and (
        pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)
    )
    try:
        if is_number:
            return read_number(text) * (10**dtype.scale if pa.types.is_decimal(dtype) else 1)
        return Fraction(encoding.encode(read_values([text.strip()], dtype))[0].item())
    except (ValueError, DataError):  # pyarrow's errors of values are among them
        return None


def _is_endless(text: str) -> bool:
    return text.strip().lower() in _ENDLESS


def _first_key(encoding: Encoding, key: Fraction, is_covered: bool) -> int | float:
    if encoding.has_float_keys:
        return float(key) if is_covered else nextafter(float(key), inf)
    return _hold(ceil(key) if is_covered else floor(key) + 1)


def _last_key(encoding: Encoding, key: Fraction, is_covered: bool) -> int | float:
    if encoding.has_float_keys:
        return float(key) if is_covered else nextafter(float(key), -inf)
    return _hold(floor(key) if is_covered else ceil(key) - 1)


def _hold(key: int) -> int:
    """The key, or the nearest one that an int64 holds."""
    return max(-(2**63), min(key, 2**63 - 1))


def _find_values(
    encoding: Encoding, by_name: dict[str, NDArray[np.bool_]], text: str
) -> NDArray[np.bool_] | None:
    if _ANY.fullmatch(text):
        return np.ones(len(encoding.texts), dtype=bool)
    if text in by_name:
        return by_name[text]
    for names in _list_names(text):
        if known := [by_name[name] for name in names if name in by_name]:
            return cast(NDArray[np.bool_], np.any(known, axis=0))
    return _find_masked(encoding, text) if _MASK in text else None


def _list_names(text: str) -> Iterator[Sequence[str]]:
    """The values of a set, as tclose writes it and as others may."""
    with contextlib.suppress(DataError):
        yield parse_set(text)
    yield [name.strip() for name in _BETWEEN.split(text.strip("{}"))]


def _find_masked(encoding: Encoding, text: str) -> NDArray[np.bool_] | None:
    """The values of a text in which each * is a character, or at the end any number of them."""
    pattern = re.compile(re.escape(text).replace(re.escape(_MASK), "."), re.DOTALL)
    covered = np.array([bool(pattern.fullmatch(value)) for value in encoding.texts], np.bool_)
    start = text.rstrip(_MASK)
    if not covered.any() and _MASK not in start:
        covered = np.array([value.startswith(start) for value in encoding.texts], np.bool_)
    return covered if covered.any() else None
