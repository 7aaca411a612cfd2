"""The encoding and delimiter of a CSV file, and whether its first line names its columns."""

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from tclose.data.files.input_files import BLOCK_BYTES, open_input
from tclose.errors import DataError

_HEAD_BYTES = 1 << 20
_DELIMITERS = (",", ";", "\t", "|")
_MOST_LINES = 200
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# What no column is called: numbers, days, times, mail addresses.
_NO_NAME = re.compile(r"[-+]?[\d.,' ]*\d[\d.,' %]*|[\d./:-]+([ T][\d.:]+)?|\S+@\S+\.\S+")


@dataclass(frozen=True)
class CsvDialect:
    """The layout of a CSV file's text."""

    encoding: str
    delimiter: str


def detect_dialect(path: str, name: str) -> CsvDialect:
    """Find the encoding by the whole file, the delimiter by its beginning.

    ``name``: of the file, for messages.

    Raises
    ------
    DataError
        The first line looks like a record: names of columns would be values of a record.
    """
    encoding = _detect_encoding(path)
    with open_input(path) as stream:
        head = codecs.getincrementaldecoder(encoding)("replace").decode(stream.read(_HEAD_BYTES))
    head = head.removeprefix("\ufeff")
    delimiter = detect_delimiter(head)
    _check_header(_read_first_line(head, delimiter), name)
    return CsvDialect(encoding, delimiter)


def _detect_encoding(path: str) -> str:
    """UTF-8 if the whole file is; else UTF-16 by its mark or its zeros, or the usual code page.

    Which one-byte character set a file has is not to be seen: cp1252 is the one of Western exports.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8, has_c1 = True, False
    with open_input(path) as stream:
        first = block = stream.read(BLOCK_BYTES)
        if block[:2] in _BYTE_ORDER_MARKS:
            return _BYTE_ORDER_MARKS[block[:2]]
        zeros = Counter(i % 2 for i, octet in enumerate(block[:2000]) if not octet)
        if sum(zeros.values()) > len(block[:2000]) // 4:
            return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
        while block and is_utf8:
            try:
                decoder.decode(block)
            except UnicodeError:
                is_utf8, first = False, block
            block = stream.read(BLOCK_BYTES)
    if is_utf8:
        return "utf-8"
    has_c1 = any(octet in b"\x81\x8d\x8f\x90\x9d" for octet in first)  # none of cp1252
    return "iso8859-1" if has_c1 else "cp1252"


def detect_delimiter(head: str) -> str:
    """The character that cuts most lines into as many fields, and into the most.

    ``head``: the beginning of a file.
    """
    whole = head.rpartition("\n")[0] or head
    best, delimiter = (0.0, 1), ","
    for candidate in _DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(whole), delimiter=candidate)
            widths = [len(row) for row, _ in zip(reader, range(_MOST_LINES), strict=False) if row]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if score > best:
            best, delimiter = score, candidate
    return delimiter


def _read_first_line(head: str, delimiter: str) -> list[str]:
    """The fields of the first line; whether a run can read them, the file's inspection says."""
    try:
        return next(csv.reader(io.StringIO(head), delimiter=delimiter), [])
    except csv.Error:  # line ends of CR alone, or a field that only Arrow's reader takes
        return re.split("[\r\n]", head, maxsplit=1)[0].split(delimiter)


def _check_header(names: list[str], file: str) -> None:
    if not names:
        return  # which the file's inspection refuses
    like_values = [name for name in names if _NO_NAME.fullmatch(name.strip())]
    if len(like_values) * 4 > len(names) or len(set(names)) * 2 < len(names):
        raise DataError(
            f"file {file}: its first line looks like a record ({len(like_values):,} of "
            f"{len(names):,} fields are numbers or dates); put a line of column names above it"
        )
