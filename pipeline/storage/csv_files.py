"""CSV: cut at record boundaries into chunks that can be read on their own, typed by all values."""

import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from pipeline.errors import DataError
from pipeline.model import Attribute, Kind, Role

CHUNK_BYTES = 1 << 24
MAX_RECORD_BYTES = 1 << 28
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

    Raises
    ------
    DataError
        No header, no text in UTF-8, or quotes that leave open where a record ends.
    """
    digest = hashlib.sha256()
    pending, first, cuts, n_lines = b"", b"", [0], 0
    while block := stream.read(CHUNK_BYTES):
        digest.update(block)
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
            cuts.append(cuts[-1] + end)
            pending = pending[end:]
    if pending:
        _check_quotes(pending, name, delimiter, n_lines)
        first = first or pending
        cuts.append(cuts[-1] + len(pending))
    names, header_bytes = _read_header(first, name, delimiter)
    starts = [header_bytes, *cuts[1:-1]]
    chunks = tuple((a, b) for a, b in zip(starts, cuts[1:], strict=True) if a < b)
    return Layout(names, chunks, cuts[-1], digest.hexdigest())


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

    ``data`` holds whole records; ``n_lines`` stand before it.
    """
    if b'"' not in data:
        return
    octets = np.frombuffer(b"\n%b\n" % data.removeprefix(_BOM), dtype=np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    outside = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
    opens = np.arange(quotes.size) % 2 == 0
    beside = octets[np.where(opens, quotes - 1, quotes + 1)]
    stray = quotes[~np.isin(beside, outside)]
    where = "stands inside a field that is not quoted, or goes on after its closing quote"
    if not stray.size and quotes.size % 2:
        stray, where = quotes[-1:], "opens a field that is never closed"
    if stray.size:
        line = n_lines + int(np.count_nonzero(octets[: stray[0]] == ord("\n")))
        raise DataError(
            f"file {name}, line {line:,}: a quote {where}; enclose the whole field in quotes and "
            "double those inside"
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
    if b"\r" in line and not quotes:
        raise DataError(f"file {name}: its lines end in CR alone; convert them to LF or CR LF")
    options = pv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        names = pv.read_csv(io.BytesIO(line + b"\n"), parse_options=options).column_names
    except (pa.ArrowException, UnicodeError):
        names = []
    if not names or b"\0" in line:  # UTF-16 has NULs
        raise DataError(f"file {name}: the header line cannot be read as CSV in UTF-8; convert it")
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
    """The wanted columns of a chunk, which stands at ``first_byte`` of its file.

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
    except (pa.ArrowException, UnicodeError) as error:
        raise DataError(f"file {name}: {_explain(str(error), header, first_byte)}") from None


def _explain(message: str, header: tuple[str, ...], first_byte: int) -> str:
    """What is wrong with a chunk, in words that hold nothing of it."""
    converted = re.search(r"In CSV column #(\d+): (.*)", message)
    if converted:
        column = header[int(converted.group(1))]
        if "UTF8" in message or "UTF-8" in message:
            return f"column {column!r} holds text that is not UTF-8; convert the file"
        return (
            f"column {column!r} holds a text that does not read as the others; mend it, name it in "
            "input.missing_values, or declare the column nominal"
        )
    fields = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
    if fields:
        row, wanted, found = fields.groups()
        return (
            f"a record has {found} fields where the header names {wanted} (record {row} after byte "
            f"{first_byte:,}); mend it"
        )
    return "cannot be read as CSV in UTF-8; check its quotes and input.delimiter, or convert it"


def null_where(column: pa.ChunkedArray, texts: Iterable[str]) -> pa.ChunkedArray:
    """The column with a null in place of each of the texts."""
    found = pc.is_in(column, value_set=pa.array(list(texts), type=column.type))
    return pc.if_else(found, pa.scalar(None, column.type), column)


@dataclass(frozen=True)
class TextCounts:
    """How many of a column's texts read as each type; they merge by addition.

    ``n_times``: times without a zone, dates among them; ``n_fine``: the same to the nanosecond;
    ``n_dated``: whatever has the form of a date, be there such a day or not; ``n_long``: integers
    of more than 18 digits.
    """

    n_values: int = 0
    n_integers: int = 0
    n_floats: int = 0
    n_booleans: int = 0
    n_dates: int = 0
    n_times: int = 0
    n_fine: int = 0
    n_zoned: int = 0
    n_dated: int = 0
    n_long: int = 0

    def merge(self, other: "TextCounts") -> "TextCounts":
        """The counts of both sets of values."""
        names = self.__dataclass_fields__
        return TextCounts(**{f: getattr(self, f) + getattr(other, f) for f in names})


_DAY = (
    r"(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)"
    r"|02-(0[1-9]|1\d|2[0-8]))|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
    r"-02-29)"
)
_CLOCK = r"[ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,%d})?)?"
_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_FLOAT = r"^-?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^-?(?i:nan|inf|infinity)$"
_OTHERS = {
    "n_long": r"^-?[1-9]\d{18,}$",
    "n_booleans": r"^(true|True|TRUE|false|False|FALSE)$",
    "n_dated": r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?$",
}
_DATES = {
    "n_dates": rf"^{_DAY}$",
    "n_times": rf"^{_DAY}({_CLOCK % 6})?$",
    "n_fine": rf"^{_DAY}({_CLOCK % 9})?$",
    "n_zoned": rf"^{_DAY}{_CLOCK % 6}(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)$",
}


def count_texts(column: pa.ChunkedArray) -> TextCounts:
    """How the texts of a column read; nulls do not count."""
    counted = column.drop_null().combine_chunks().value_counts()
    texts, counts = counted.field("values"), counted.field("counts")

    def count(pattern: str) -> int:
        return pc.sum(counts.filter(pc.match_substring_regex(texts, pattern))).as_py() or 0

    n_values = pc.sum(counts).as_py() or 0
    n_integers = count(_INTEGER)
    n_floats = n_integers if n_integers == n_values else count(_FLOAT)
    if n_floats == n_values:
        return TextCounts(n_values, n_integers, n_floats)
    found = {field: count(pattern) for field, pattern in _OTHERS.items()}
    if found["n_dated"]:
        found |= {field: count(pattern) for field, pattern in _DATES.items()}
    return TextCounts(n_values, n_integers, n_floats, **found)


_READ_AS: tuple[tuple[str, Kind, pa.DataType], ...] = (
    ("n_integers", Kind.NUMERIC, pa.int64()),
    ("n_floats", Kind.NUMERIC, pa.float64()),
    ("n_booleans", Kind.BOOLEAN, pa.bool_()),
    ("n_dates", Kind.DATE, pa.date32()),
    ("n_times", Kind.DATE, pa.timestamp("us")),
    ("n_fine", Kind.DATE, pa.timestamp("ns")),
    ("n_zoned", Kind.DATE, pa.timestamp("us", "UTC")),
)
_IN_WORDS = {Kind.NUMERIC: "numbers", Kind.BOOLEAN: "booleans", Kind.DATE: "dates"}


def infer_type(counts: TextCounts, attribute: Attribute) -> pa.DataType:
    """The type of a CSV column: the narrowest that all of its values have.

    Numbers with leading zeros are texts: they are codes. A declared kind is kept to.

    Raises
    ------
    DataError
        Values that are not of the declared kind, that have the form of a date and are none, or that
        make text of a confidential attribute: how many.
    """
    declared = attribute.kind
    if declared in (Kind.NOMINAL, Kind.ORDINAL):
        return pa.string()
    fitting = [option for option in _READ_AS if declared in (None, option[1])]
    for field, _, dtype in fitting:
        if getattr(counts, field) == counts.n_values:
            return dtype
    most, kind = max((getattr(counts, field), kind) for field, kind, _ in fitting)
    problem = _find_fault(counts, attribute, counts.n_values - most, _IN_WORDS[kind])
    if problem:
        raise DataError(f"column {attribute.name!r}: {problem}")
    return pa.string()


def has_texts(counts: TextCounts, attribute: Attribute) -> bool:
    """Whether some of these values, seen alone, would make text of a column or be refused."""
    try:
        return pa.types.is_string(infer_type(counts, attribute))
    except DataError:
        return True


def _find_fault(counts: TextCounts, attribute: Attribute, n_wrong: int, wanted: str) -> str:
    """What is wrong with a column that has no type of its own; empty if it may be text."""
    share = f"{n_wrong:,} of {counts.n_values:,} values"
    if attribute.kind is not None:
        problem = f"the policy says {attribute.kind}, but {share} do not read as {wanted}"
        remedy = "declare another type"
    elif counts.n_dated == counts.n_values:
        problem = f"its values look like dates, but {share} are none, or are of another form"
        remedy = "declare the column nominal"
    elif attribute.role is Role.CONFIDENTIAL and n_wrong < counts.n_values:
        problem = f"is confidential, but {share} do not read as {wanted}"
        remedy = "give it type: ordinal and an order"
    else:
        return ""
    long = f" ({counts.n_long:,} are integers of more than 18 digits)" if counts.n_long else ""
    return f"{problem}{long}; mend them, name them in input.missing_values, or {remedy}"
