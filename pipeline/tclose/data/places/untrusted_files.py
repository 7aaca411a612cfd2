"""Files that others may have written: read without waiting, up to a limit, and parsed strictly.

A link out of a release, a pipe that nobody writes to, a file of any size, a number with a million
digits: each is refused by name before it can do harm.
"""

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from tclose.data.places.locations import Location

MOST_BYTES = 64 << 20  # of a manifest: about 300,000 files
MOST_LEVELS = 64
_LARGEST_INTEGER = 2**63
_MOST_DIGITS = 20


class MalformedError(ValueError):
    """A file is not of the form that it should have; the message begins with what it is."""


def read_bounded(path: Location, most: int = MOST_BYTES, *, follow: bool = False) -> bytes:
    """Content of a regular file of at most ``most`` bytes.

    Parameters
    ----------
    follow : read what a symbolic link points to

    Raises
    ------
    MalformedError
        It is not a regular file, or larger.
    OSError
        It cannot be read, as where there is none.
    """
    if not isinstance(path, Path):
        if path.stat().st_size > most:
            raise MalformedError(f"is larger than {most:,} bytes")
        return path.read_bytes()
    if path.is_symlink() and not follow:
        raise MalformedError("is a symbolic link")
    # Without O_NONBLOCK, opening a pipe waits for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise MalformedError("is not a regular file")
        with open(descriptor, "rb", closefd=False) as stream:
            content = stream.read(most + 1)
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise MalformedError(f"is larger than {most:,} bytes")
    return content


def parse_json(content: bytes) -> Any:
    """The value of a JSON text in UTF-8, as every reader has to understand it.

    Raises
    ------
    MalformedError
        It is not JSON, or has a key twice, numbers that are not finite or beyond 64 bits, halves of
        surrogate pairs, or more than 64 levels.
    """
    try:
        text = content.decode()
        value = json.loads(
            text,
            parse_int=_read_integer,
            parse_float=_read_float,
            parse_constant=_refuse_constant,
            object_pairs_hook=_read_object,
        )
        _check_levels(value)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except MalformedError:
        raise
    except UnicodeEncodeError:
        raise MalformedError("has half a surrogate pair") from None
    except (ValueError, RecursionError):
        raise MalformedError("is not JSON") from None
    return value


def _read_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or not -_LARGEST_INTEGER <= int(digits) < _LARGEST_INTEGER:
        raise MalformedError("has an integer beyond 64 bits")
    return int(digits)


def _read_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise MalformedError("has a number beyond double precision")
    return value


def _refuse_constant(_: str) -> NoReturn:
    raise MalformedError("has a number that is not finite")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise MalformedError("has a key twice")
    return value


def _check_levels(value: Any) -> None:
    """Refuse deep nesting, level by level rather than by recursion."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for outer in level for inner in _list_inner(outer)]
        if not level:
            return
    raise MalformedError(f"has more than {MOST_LEVELS} levels")


def _list_inner(value: Any) -> list[Any]:
    """List the values of an object or a list that can have values of their own."""
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    if isinstance(value, list):
        return [inner for inner in value if isinstance(inner, dict | list)]
    return []


def dump_json(value: Any) -> bytes:
    """Return JSON text for a file: indented, keys in order, with a final line feed."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
