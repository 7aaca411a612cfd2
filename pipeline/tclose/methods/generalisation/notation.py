"""The notation of generalised values in a release, written and parsed.

"[low, high]" has both of its ends, "[low, high)", of a full domain, the lower one; "{a, b}" is a
set; "*" is any value; an end ".." is left open. Texts that could be mistaken for such notation
(with a comma, a bracket, a quote, blanks around) are quoted as in JSON.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys, from_keys, has_float_keys
from tclose.errors import DataError
from tclose.methods.generalisation.intervals import EVERYTHING
from tclose.model.array_types import Int64
from tclose.privacy.bucket_cuts import OPEN_END

Texts = NDArray[np.str_]

_QUOTED = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_TEXT = rf'{_QUOTED}|[^,\[\]{{}}"]+'
_INTERVAL = re.compile(rf"\[({_TEXT}), ({_TEXT})\]")
_HALF_OPEN = re.compile(rf"\[({_TEXT}), ({_TEXT})\)")
_SET = re.compile(rf"\{{((?:{_TEXT})(?:, (?:{_TEXT}))+)\}}")
_ONE = re.compile(_TEXT)
_MOST_DIGITS = 300  # of floats and more than of decimals
_NEXT = re.compile(rf"(?:, )?({_TEXT})")


def spell_keys(encoding: Encoding, keys: Keys) -> list[str]:
    """Each key's value as a text, quoted where it has to be.

    Integers and decimals are written in full, floats with as many digits as tell them apart, dates
    and times as in ISO 8601, durations as a number of their unit.
    """
    inverse: tuple[Any, Int64] = np.unique(keys, return_inverse=True)
    distinct, place = inverse
    is_category = encoding.categories is not None
    values = encoding.decode_values(distinct) if is_category else from_keys(distinct, encoding.type)
    spelled = [quote_text(text) for text in _spell(values)]
    return [spelled[i] for i in place.tolist()]


def parse_interval(text: str) -> tuple[str, str]:
    """Both ends of an interval as they are spelled, unquoted; a value alone is both.

    Raises
    ------
    DataError
        Not a text that `generalise_column` writes for an interval.
    """
    if _ONE.fullmatch(text):
        return _unquote(text), _unquote(text)
    match = _INTERVAL.fullmatch(text)
    if not match:
        raise DataError(
            "a released value is not an interval, [low, high], nor a value alone; release again, "
            "or audit the file as it was written"
        )
    return _unquote(match[1]), _unquote(match[2])


def parse_set(text: str) -> tuple[str, ...]:
    """The values of a set, unquoted; a value or a node alone is the only one.

    Raises
    ------
    DataError
        Not a text that `generalise_column` writes for a nominal attribute.
    """
    if _ONE.fullmatch(text):
        return (_unquote(text),)
    match = _SET.fullmatch(text)
    if not match:
        raise DataError(
            "a released value is not a set, {a, b}, nor a value alone; release again, or audit the "
            "file as it was written"
        )
    return tuple(_unquote(one) for one in _NEXT.findall(match[1]))


def read_ends(encoding: Encoding, texts: Texts) -> tuple[Keys, Keys]:
    """The smallest and the largest key that released texts cover, (c,) each.

    Of "[low, high]" the keys that `generalise_column` was given; "[low, high)", of a full domain,
    ends before ``high``; "*" is any.

    Raises
    ------
    DataError
        Texts that are no intervals of the attribute's values.
    """
    listed = texts.tolist()
    half_open = {text: _HALF_OPEN.fullmatch(text) for text in set(listed)}
    bounded = {t: _read_half_open(encoding, match) for t, match in half_open.items() if match}
    bounded[EVERYTHING] = encoding.low, encoding.high
    closed = [text for text in listed if text not in bounded]
    ends = [parse_interval(text) for text in closed]
    try:
        sides = (read_values([pair[side] for pair in ends], encoding.type) for side in (0, 1))
        pairs = [encoding.encode(side) for side in sides]
    except pa.ArrowInvalid:
        raise DataError(
            f"column {encoding.column.name!r}: released intervals have ends that are not of type "
            f"{encoding.type}; audit the file with the policy it was made by"
        ) from None
    is_bounded = np.array([text in bounded for text in listed], dtype=bool)
    bounds = np.empty((2, len(listed)), dtype=pairs[0].dtype)
    bounds[:, ~is_bounded] = pairs
    bounds[:, is_bounded] = np.array([bounded[t] for t in listed if t in bounded]).reshape(-1, 2).T
    return bounds[0], bounds[1]


def _read_half_open(encoding: Encoding, match: re.Match[str]) -> tuple[int | float, int | float]:
    """The smallest and the largest key in "[low, high)"."""
    try:
        low, high = (read_number(end) for end in match.groups())
    except ValueError:
        raise DataError(
            "a released value is not an interval, [low, high), of numbers; release again, or audit "
            "the file as it was written"
        ) from None
    if has_float_keys(encoding.type):
        return float(low), nextafter(float(high), -inf)
    parts = 10**encoding.type.scale if pa.types.is_decimal(encoding.type) else 1
    return ceil(low * parts), ceil(high * parts) - 1


def read_number(text: str) -> Fraction:
    """Read a number as it is written.

    Raises
    ------
    ValueError
        It is none, or so large or small that no attribute has it: written out it would be of as
        many digits as whoever wrote it likes.
    """
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError from None
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError
    return Fraction(number)


def read_values(texts: list[str], dtype: pa.DataType) -> pa.Array:
    """Values of a type from the texts that `spell_keys` writes for them, unquoted."""
    array = pa.array(texts, type=pa.string())
    if pa.types.is_duration(dtype):
        array = array.cast(pa.int64())
    elif pa.types.is_time(dtype):  # read as a moment of the first day
        moments = pa.array([f"1970-01-01 {text}" for text in texts], type=pa.string())
        array = moments.cast(pa.timestamp(dtype.unit))
    return array.cast(dtype)


def _spell(values: pa.Array) -> list[str]:
    dtype = values.type
    if pa.types.is_float32(dtype):
        return [str(value) for value in values.to_numpy(zero_copy_only=False)]
    if pa.types.is_decimal(dtype):
        return [format(value, "f") for value in values.to_pylist()]
    if pa.types.is_duration(dtype):
        values = values.cast(pa.int64())
    elif pa.types.is_temporal(dtype) or pa.types.is_boolean(dtype):
        values = values.cast(pa.string())
    return [str(value) for value in values.to_pylist()]


def quote_text(text: str) -> str:
    """The text as it is released: quoted where it could be mistaken for notation.

    What cannot be printed is escaped, so arrays of fixed width, which drop NULs at the end of a
    text, hold it whole.
    """
    is_plain = _ONE.fullmatch(text) and text.isprintable() and text == text.strip()
    is_plain = is_plain and text not in (EVERYTHING, OPEN_END) and not text.startswith('"')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    value: str = json.loads(text)
    return value
