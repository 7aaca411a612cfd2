"""CSV: cut at record boundaries into chunks that can be read on their own, typed by all values."""

import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from pipeline.errors import DataError
from pipeline.model import Kind

CHUNK_BYTES = 1 << 24
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Layout:
    """Where the records of a CSV file stand: ``chunks`` are byte ranges of whole records."""

    names: tuple[str, ...]
    chunks: tuple[tuple[int, int], ...]
    n_bytes: int
    sha256: str


def scan_layout(stream: BinaryIO, name: str, delimiter: str) -> Layout:
    """Read a file through once and find its header and record boundaries.

    A line feed ends a record where an even number of quotes stands before it (RFC 4180), so quoted
    fields may hold line feeds.
    """
    digest = hashlib.sha256()
    pending, offset = b"", 0
    cuts = [0]
    first = b""
    while block := stream.read(CHUNK_BYTES):
        digest.update(block)
        pending += block
        end = _last_record_end(pending)
        if end:
            first = first or pending[:end]
            offset += end
            cuts.append(offset)
            pending = pending[end:]
    if pending:
        first = first or pending
        offset += len(pending)
        cuts.append(offset)
    names, header_bytes = _read_header(first, name, delimiter)
    starts = [header_bytes, *cuts[1:-1]]
    chunks = tuple((a, b) for a, b in zip(starts, cuts[1:], strict=True) if a < b)
    return Layout(names, chunks, offset, digest.hexdigest())


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
    try:
        options = pv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        header = pv.read_csv(io.BytesIO(line + b"\n"), parse_options=options).column_names
    except (pa.ArrowException, UnicodeDecodeError):
        raise DataError(f"file {name}: the header line cannot be read as UTF-8 CSV") from None
    return tuple(header), end


def parse_chunk(
    data: bytes,
    name: str,
    header: tuple[str, ...],
    types: dict[str, pa.DataType],
    missing_values: Iterable[str],
    delimiter: str,
) -> pa.Table:
    """The wanted columns of a chunk.

    Raises
    ------
    DataError
        Not UTF-8, or a record with more or fewer fields than the header.
    """
    try:
        table = pv.read_csv(
            io.BytesIO(data),
            read_options=pv.ReadOptions(column_names=list(header), use_threads=False),
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
    except pa.ArrowInvalid as error:
        raise DataError(f"file {name}: {_explain(str(error), header)}") from None
    return table


def _explain(message: str, header: tuple[str, ...]) -> str:
    """What is wrong with a chunk, in words that hold nothing of it."""
    converted = re.search(r"In CSV column #(\d+): CSV conversion error to (\w+)", message)
    if converted:
        column = header[int(converted.group(1))]
        return f"column {column!r} holds a text that is no {converted.group(2)}; mend it"
    fields = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if fields:
        wanted, found = fields.groups()
        return f"a record has {found} fields where the header names {wanted}; mend the record"
    if "UTF8" in message or "UTF-8" in message:
        return "is not UTF-8 text; convert it"
    return "cannot be read as CSV; check quotes and delimiter"


def null_where(column: pa.ChunkedArray, texts: Iterable[str]) -> pa.ChunkedArray:
    """The column with a null in place of each of the texts."""
    found = pc.is_in(column, value_set=pa.array(list(texts), type=column.type))
    return pc.if_else(found, pa.scalar(None, column.type), column)


@dataclass(frozen=True)
class TextCounts:
    """How many of a column's texts read as each type; they merge by addition."""

    n_values: int = 0
    n_integers: int = 0
    n_floats: int = 0
    n_booleans: int = 0
    n_dates: int = 0
    n_times: int = 0
    n_zoned: int = 0

    def merge(self, other: "TextCounts") -> "TextCounts":
        """The counts of both sets of values."""
        names = self.__dataclass_fields__
        return TextCounts(**{f: getattr(self, f) + getattr(other, f) for f in names})


_PATTERNS = {
    "n_integers": r"^-?(0|[1-9]\d{0,17})$",
    "n_floats": r"^-?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^-?(?i:nan|inf|infinity)$",
    "n_booleans": r"^(true|True|TRUE|false|False|FALSE)$",
    "n_dates": r"^\d{4}-\d{2}-\d{2}$",
    "n_times": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$",
    "n_zoned": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$",
}


def count_texts(column: pa.ChunkedArray) -> TextCounts:
    """How the texts of a column read; nulls do not count."""
    counted = column.drop_null().combine_chunks().value_counts()
    texts, counts = counted.field("values"), counted.field("counts")
    found = {
        field: pc.sum(counts.filter(pc.match_substring_regex(texts, pattern))).as_py() or 0
        for field, pattern in _PATTERNS.items()
    }
    return TextCounts(pc.sum(counts).as_py() or 0, **found)


def infer_type(counts: TextCounts, declared: Kind | None, name: str) -> pa.DataType:
    """The type of a CSV column: the narrowest that all of its values have.

    Numbers with leading zeros are texts: they are codes. A declared kind is kept to.

    Raises
    ------
    DataError
        Values that are not of the declared kind: how many.
    """
    if declared in (Kind.NOMINAL, Kind.ORDINAL):
        return pa.string()
    options: list[tuple[Kind, int, pa.DataType]] = [
        (Kind.NUMERIC, counts.n_integers, pa.int64()),
        (Kind.NUMERIC, counts.n_floats, pa.float64()),
        (Kind.BOOLEAN, counts.n_booleans, pa.bool_()),
        (Kind.DATE, counts.n_dates, pa.date32()),
        (Kind.DATE, counts.n_times, pa.timestamp("us")),
        (Kind.DATE, counts.n_zoned, pa.timestamp("us", "UTC")),
    ]
    fitting = [(kind, n, dtype) for kind, n, dtype in options if declared in (None, kind)]
    for _, n_values, dtype in fitting:
        if n_values == counts.n_values:
            return dtype
    if declared is None:
        return pa.string()
    n_wrong = counts.n_values - max(n for _, n, _ in fitting)
    raise DataError(
        f"column {name!r}: the policy says {declared}, but {n_wrong:,} of {counts.n_values:,} "
        "values are text that does not read as such; mend them, name them in "
        "input.missing_values, or declare the column nominal"
    )
