"""Headers of the pages of a Parquet column: the size of each page, without reading its content.

A header is a Thrift struct in the compact protocol (parquet-format, PageHeader). What is looked at
is its kind, its size, how many values it has and how they are encoded; all else is skipped.
pyarrow reads these headers too, and does not show them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_HEADER_BYTES = 1 << 12
_MAX_HEADER_BYTES = 1 << 26  # statistics of a page may quote its longest values
_SIZE, _STORED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8  # fields of the header
_INDEX_ENCODINGS = (2, 8)  # encodings as dictionary indices
_MAX_DEPTH = 8
_BOOLEANS = (1, 2)
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12


class PageError(ValueError):
    """The bytes are not a page header."""


@dataclass(frozen=True)
class Page:
    """A page: its size when decompressed, its values, and whether they are dictionary indices."""

    n_bytes: int
    n_values: int
    is_dictionary: bool
    has_indices: bool


def read_pages(stream: BinaryIO, start: int, n_bytes: int) -> Iterator[Page]:
    """The pages of a column chunk, which takes ``n_bytes`` from ``start`` on.

    Raises
    ------
    PageError
        The chunk is damaged, or encrypted.
    """
    position, end = start, start + n_bytes
    while position < end:
        fields, length = _read_header(stream, position)
        stored, size = fields.get(_STORED), fields.get(_SIZE)
        if not isinstance(stored, int) or not isinstance(size, int) or stored < 0:
            raise PageError
        position += length + stored
        yield _describe(fields, size)


def _describe(fields: dict[int, Any], size: int) -> Page:
    if _DICTIONARY in fields:
        return Page(size, 0, is_dictionary=True, has_indices=False)
    inner = fields.get(_DATA, fields.get(_DATA_V2, {}))
    encoding = inner.get(4 if _DATA_V2 in fields else 2)
    return Page(
        size, int(inner.get(1) or 0), is_dictionary=False, has_indices=encoding in _INDEX_ENCODINGS
    )


def _read_header(stream: BinaryIO, position: int) -> tuple[dict[int, Any], int]:
    n_bytes = _HEADER_BYTES
    while n_bytes <= _MAX_HEADER_BYTES:
        stream.seek(position)
        data = stream.read(n_bytes)
        try:
            return _Struct(data).read()
        except IndexError:
            if len(data) < n_bytes:
                raise PageError from None
            n_bytes *= 16
    raise PageError


class _Struct:
    """A reader of one struct; `IndexError` where the data end before it does."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self) -> tuple[dict[int, Any], int]:
        """Its fields by number, and how many bytes it takes."""
        return self._read_fields(0), self.at

    def _read_fields(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._read_byte():
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._read_signed()
            fields[number] = kind == 1 if kind in _BOOLEANS else self._read_value(kind, depth)
        return fields

    def _read_value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise PageError
        if kind == _STRUCT:
            return self._read_fields(depth + 1)
        if kind in (_BYTE, *_BOOLEANS):
            return self._read_byte()
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _BINARY:
            return self._skip(self._read_unsigned())
        if kind in (_LIST, _SET):
            return self._skip_list(depth)
        if kind == _MAP or kind > _STRUCT:
            raise PageError
        return self._read_signed()

    def _skip_list(self, depth: int) -> None:
        head = self._read_byte()
        size = head >> 4 if head >> 4 < 15 else self._read_unsigned()
        for _ in range(size):
            self._read_value(head & 15, depth + 1)

    def _skip(self, n_bytes: int) -> None:
        self.at += n_bytes
        if self.at > len(self.data):
            raise IndexError

    def _read_byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _read_unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._read_byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise PageError

    def _read_signed(self) -> int:
        value = self._read_unsigned()
        return (value >> 1) ^ -(value & 1)
