"""CSV: cut at record boundaries into chunks that can be read on their own.

pyarrow parses the chunks. It does not cut: its streams begin at the start of a file, and the blocks
of fsspec and Dask end at any line feed, also at one inside quotes.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from tclose.data.arrow_errors import refusing_arrow
from tclose.data.files.character_sets import (
    UTF8,
    encoded_length,
    read_decoded,
    settle_encoding,
)
from tclose.data.files.text_formats import TextFormat, rewrite_texts
from tclose.errors import DataError

CHUNK_BYTES = 1 << 24
MAX_RECORD_BYTES = 1 << 28
MARKS = ";\t|,"  # that divide the fields of files
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvLayout:
    """The record layout of a CSV file: ``chunks`` are byte ranges of complete records."""

    names: tuple[str, ...]
    chunks: tuple[tuple[int, int], ...]
    n_bytes: int
    sha256: str


def scan_layout(stream: BinaryIO, name: str, delimiter: str, encoding: str = UTF8) -> CsvLayout:
    """Read a file through once and find its header and record boundaries.

    A line feed ends a record if an even number of quotes precedes it (RFC 4180), so quoted
    fields may hold line feeds. Byte ranges are those of the file, whatever its encoding is.

    Raises
    ------
    DataError
        No header, no text in UTF-8, or quotes that leave open where a record ends.
    """
    digest = hashlib.sha256()
    encoding = settle_encoding(stream, name, encoding)
    pending, first, cuts, n_lines = b"", b"", [0], 0
    for original, block in _read_blocks(stream, name, encoding):
        digest.update(original)
        pending += block
        end = _last_record_end(pending)
        if not end and len(pending) > MAX_RECORD_BYTES:
            raise DataError(
                f"file {name}: no record ends within {MAX_RECORD_BYTES:,} bytes after line "
                f"{n_lines:,}; check its quotes and line ends"
            )
        if end:
            _check_quotes(pending[:end], name, delimiter, n_lines)
            n_lines += pending.count(b"\n", 0, end)
            first = first or pending[:end]
            cuts.append(cuts[-1] + encoded_length(pending[:end], encoding))
            pending = pending[end:]
    if pending:
        _check_quotes(pending, name, delimiter, n_lines)
        first = first or pending
        cuts.append(cuts[-1] + encoded_length(pending, encoding))
    names, header_bytes = _read_header(first, name, delimiter)
    starts = [encoded_length(first[:header_bytes], encoding), *cuts[1:-1]]
    chunks = tuple((a, b) for a, b in zip(starts, cuts[1:], strict=True) if a < b)
    return CsvLayout(names, chunks, cuts[-1], digest.hexdigest())


def _read_blocks(stream: BinaryIO, name: str, encoding: str) -> Iterator[tuple[bytes, bytes]]:
    """Blocks of a file, as they are and in UTF-8."""
    if encoding != UTF8:
        yield from read_decoded(stream, name, encoding, CHUNK_BYTES)
        return
    while block := stream.read(CHUNK_BYTES):
        yield block, block


def _last_record_end(data: bytes) -> int:
    """Position after the last line feed outside quotes; 0 where there is none."""
    quotes_before = data.count(b'"')
    end = len(data)
    while (newline := data.rfind(b"\n", 0, end)) >= 0:
        quotes_before -= data.count(b'"', newline, end)
        if quotes_before % 2 == 0:
            return newline + 1
        end = newline
    return 0


def _check_quotes(data: bytes, name: str, delimiter: str, n_lines: int) -> None:
    """Refuse quotes that do not enclose whole fields: counting them would not find the records.

    And what is no record, before its quotes are looked at: the first line of a spreadsheet's file.
    ``data`` holds complete records; ``n_lines`` precede it.
    """
    if not n_lines and re.match(rb"sep=.\r?\n", data.removeprefix(_BOM), re.IGNORECASE):
        raise DataError(
            f"file {name}: begins with a line sep=, which names a delimiter to spreadsheets alone; "
            "take it out, and name the mark as input.delimiter"
        )
    if b'"' not in data:
        return
    octets = np.frombuffer(b"\n%b\n" % data.removeprefix(_BOM), dtype=np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    outside = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
    opens = np.arange(quotes.size) % 2 == 0
    neighbours = octets[np.where(opens, quotes - 1, quotes + 1)]
    is_stray = ~np.isin(neighbours, outside)
    stray = quotes[is_stray]
    mark = chr(neighbours[is_stray][0]) if stray.size else ""
    where = "is inside an unquoted field, or text follows a closing quote"
    if not stray.size and quotes.size % 2:
        stray, where = quotes[-1:], "opens a field that is never closed"
    if stray.size:
        line = n_lines + int(np.count_nonzero(octets[: stray[0]] == ord("\n")))
        other = ""
        if mark and mark in MARKS:
            other = f", or name {mark!r} as input.delimiter if that divides fields"
        raise DataError(
            f"file {name}, line {line:,}: a quote {where}; enclose the whole field in quotes and "
            f"double those inside{other}"
        )


def _read_header(data: bytes, name: str, delimiter: str) -> tuple[tuple[str, ...], int]:
    """Column names, and the number of bytes they take with their line end."""
    skip = len(_BOM) if data.startswith(_BOM) else 0
    end, quotes = skip, 0
    while True:
        newline = data.find(b"\n", end)
        stop = len(data) if newline < 0 else newline + 1
        quotes += data.count(b'"', end, stop)
        end = stop
        if newline < 0 or quotes % 2 == 0:
            break
    line = data[skip:end].rstrip(b"\r\n")
    if not line.strip():
        raise DataError(f"file {name}: has no header line; the first line has to name the columns")
    if b"\r" in re.sub(rb'"[^"]*"', b"", line):
        raise DataError(f"file {name}: its lines end in CR alone; convert them to LF or CR LF")
    options = pv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        names = pv.read_csv(io.BytesIO(line + b"\n"), parse_options=options).column_names
    except MemoryError:  # which an exception of pyarrow can be; nothing is wrong with the file then
        raise
    except (pa.ArrowException, UnicodeError):
        names = []
    if not names or b"\0" in line:  # UTF-16 has NULs
        raise DataError(
            f"file {name}: the header line cannot be read as CSV in UTF-8; name its input.encoding"
        )
    return tuple(names), end


def parse_chunk(
    data: bytes,
    name: str,
    header: tuple[str, ...],
    types: dict[str, pa.DataType],
    missing_values: Iterable[str],
    delimiter: str,
    first_byte: int = 0,
) -> pa.Table:
    """Read the wanted columns of a chunk, which begins at ``first_byte`` of its file.

    Raises
    ------
    DataError
        Not UTF-8, or a record with more or fewer fields than the header.
    """
    try:
        return pv.read_csv(
            io.BytesIO(data),
            read_options=pv.ReadOptions(
                column_names=list(header), use_threads=False, block_size=max(1, len(data))
            ),
            parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=["", *missing_values],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )
    except MemoryError:  # as above
        raise
    except (pa.ArrowException, UnicodeError) as error:
        raise DataError(f"file {name}: {_explain(str(error), header, first_byte)}") from None


def cast_spelled(
    table: pa.Table, name: str, types: Mapping[str, pa.DataType], formats: Mapping[str, TextFormat]
) -> pa.Table:
    """Cast columns that were read as text, since Arrow does not read their spelling.

    Raises
    ------
    DataError
        A text does not read as its column's type.
    """
    for column, dtype in types.items():
        if table.schema.field(column).type == dtype:
            continue
        with refusing_arrow(DataError(f"file {name}: {_no_such_text(column)}")):
            cast = rewrite_texts(table[column], formats[column]).cast(dtype)
        table = table.set_column(table.column_names.index(column), column, cast)
    return table


def _no_such_text(column: str) -> str:
    return (
        f"column {column!r} holds a text that does not read as the others; correct it, name it "
        "in input.missing_values, or declare the column nominal"
    )


def _explain(message: str, header: tuple[str, ...], first_byte: int) -> str:
    """Say what is wrong with a chunk, without quoting any of it."""
    converted = re.search(r"In CSV column #(\d+): (.*)", message)
    if converted:
        column = header[int(converted.group(1))]
        if "UTF8" in message or "UTF-8" in message:
            return f"column {column!r} holds text that is not UTF-8; name its input.encoding"
        return _no_such_text(column)
    fields = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
    if fields:
        row, expected, actual = fields.groups()
        return (
            f"a record has {actual} fields where the header names {expected} (record {row} after "
            f"byte {first_byte:,}); correct it"
        )
    return "cannot be read as CSV in UTF-8; check its quotes and input.delimiter, or convert it"


def null_where(column: pa.ChunkedArray, texts: Iterable[str]) -> pa.ChunkedArray:
    """Return the column with a null in place of each of the texts."""
    is_missing = pc.is_in(column, value_set=pa.array(list(texts), type=column.type))
    return pc.if_else(is_missing, pa.scalar(None, column.type), column)
