"""Encodings of CSV other than UTF-8: decoded piece by piece, with byte positions of the file kept.

Allowed are those in which a text has one spelling in bytes, so that the length of what was decoded
is known again: character sets of one byte, and UTF-16.
"""

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from tclose.errors import DataError

UTF8 = "utf-8"
_ONE_BYTE = (
    "ascii",
    *(f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(f"cp{page}" for page in (437, 850, 852, 858, 866, *range(1250, 1259))),
    *("koi8-r", "koi8-u", "mac-roman"),
)
_TWO_BYTE = ("utf-16", "utf-16-le", "utf-16-be")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def check_encoding(name: str) -> str:
    """Return the one name of an encoding that can be read.

    Raises
    ------
    ValueError
        It is none, or none of those.
    """
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if known in ("utf-8", "utf-8-sig"):
        return UTF8
    if known not in (*_ONE_BYTE, *_TWO_BYTE):
        raise ValueError(
            "has to be utf-8, utf-16, or a character set of one byte as in cp1252, latin-1, cp1250"
        )
    return known


def settle_encoding(stream: BinaryIO, name: str, encoding: str) -> str:
    """Return the encoding with its byte order, which the file's first bytes say of UTF-16.

    The stream is at the file's beginning afterwards. ``name``: of the file.

    Raises
    ------
    DataError
        No byte order is said, or one that the encoding has not; or the file is marked as UTF-8.
    """
    stream.seek(0)
    first = stream.read(len(codecs.BOM_UTF8))
    stream.seek(0)
    mark = first[:2]
    if encoding != UTF8 and first == codecs.BOM_UTF8:
        raise DataError(
            f"file {name}: begins with a byte order mark of UTF-8, and is read as {encoding}; "
            "give input.encoding: utf-8, or take the mark out if the file is of the other encoding"
        )
    if encoding != "utf-16":
        if _MARKS.get(mark, encoding) != encoding:
            raise DataError(
                f"file {name}: the header line cannot be read as CSV in {encoding.upper()}, as the "
                "file begins with a byte order mark of UTF-16; name that as input.encoding"
            )
        return encoding
    if mark not in _MARKS:
        raise DataError(
            f"file {name}: does not begin with a byte order mark of UTF-16; correct "
            "input.encoding, to utf-16-le or utf-16-be if it is one of them"
        )
    return _MARKS[mark]


def read_decoded(
    stream: BinaryIO, name: str, encoding: str, n_bytes: int
) -> Iterator[tuple[bytes, bytes]]:
    """Read a file block by block, each as it is and in UTF-8.

    Raises
    ------
    DataError
        Bytes that are no text in the encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    while True:
        block = stream.read(n_bytes)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError:
            raise _not_of(name, encoding) from None
        if not block:
            return
        yield block, text.encode(UTF8)


def encoded_length(data: bytes, encoding: str) -> int:
    """Bytes that a text in UTF-8 takes in the encoding."""
    return len(data) if encoding == UTF8 else len(data.decode(UTF8).encode(encoding))


def to_utf8(data: bytes, name: str, encoding: str) -> bytes:
    """Convert whole characters to UTF-8.

    Raises
    ------
    DataError
        Bytes that are no text in the encoding.
    """
    if encoding == UTF8:
        return data
    try:
        return data.decode(encoding).encode(UTF8)
    except UnicodeError:
        raise _not_of(name, encoding) from None


def _not_of(name: str, encoding: str) -> DataError:
    return DataError(f"file {name}: holds bytes that are no text in {encoding}; correct "
                     "input.encoding, or convert the file")  # fmt: skip
