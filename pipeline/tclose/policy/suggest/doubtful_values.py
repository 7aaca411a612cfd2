"""Values that a run would refuse, or read as nobody means them, in words and counts."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.text_formats import count_ahead, rewrite_texts
from tclose.data.keys import MAX_DECIMAL_DIGITS, has_float_keys, is_text, plain_type
from tclose.model.column_terms import Kind
from tclose.model.counted_words import count_words
from tclose.policy.suggest.column_profile import ColumnProfile

_USUAL_ENCODINGS = ("cp1252", "latin-1")
_FAR_YEARS = 5
_PLACEHOLDERS = (
    *("0001-01-01", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01"),
    *("1901-01-01", "1970-01-01", "2099-12-31", "2999-12-31", "9999-12-31"),
)
_LARGEST = pa.scalar(2**63 - 1, pa.uint64())


def describe_refused(profile: ColumnProfile, column: pa.ChunkedArray) -> Iterator[str]:
    """Tell of numbers in Parquet that no run counts with."""
    dtype = plain_type(column.type)
    if profile.kind is not Kind.NUMERIC:
        return
    if pa.types.is_decimal(dtype) and dtype.precision > MAX_DECIMAL_DIGITS:
        yield (
            f"decimals of more than {MAX_DECIMAL_DIGITS} digits, which a run refuses: store them "
            "with as many at most, or as floats, or say type: nominal"
        )
    if pa.types.is_uint64(dtype) and pc.any(pc.greater(column, _LARGEST)).as_py():
        yield (
            "integers beyond the signed 64-bit range, which a run refuses: store them as floats, "
            "or say type: nominal"
        )
    n_odd = pc.sum(pc.invert(pc.is_finite(column))).as_py() if has_float_keys(dtype) else 0
    if n_odd:
        odd = count_words(n_odd, "NaN or infinite value")
        yield f"{odd}, which a run refuses: correct them, or store nulls"


def describe_centuries(profile: ColumnProfile, column: pa.ChunkedArray) -> Iterator[str]:
    """Tell of years of two digits that are read as some to come, as those of births may be."""
    if profile.kind is not Kind.DATE or not is_text(column.type):
        return
    n_ahead = count_ahead(column, profile.text_format, datetime.now(UTC).date())
    if n_ahead:
        yield (
            f"{count_words(n_ahead, 'date reads as a day', 'dates read as days')} to come, as "
            "years of two digits below 69 are of this "
            "century: write years with four digits in the data"
        )


def describe_placeholders(profile: ColumnProfile, column: pa.ChunkedArray) -> Iterator[str]:
    """Tell of a day that systems write where there is none, beyond all others, more than once."""
    if profile.kind is not Kind.DATE or not is_text(column.type):
        return
    texts = rewrite_texts(column.drop_null(), profile.text_format)
    dated = texts.filter(pc.match_substring_regex(texts, r"^\d{4}-"))  # not what is missing
    counted = pc.utf8_slice_codeunits(dated, 0, 10).combine_chunks().value_counts().sort()
    values, counts = (counted.field(name).to_pylist() for name in ("values", "counts"))
    for end, beside in ((0, 1), (-1, -2)) if len(values) > 2 else ():
        n_years = abs(int(values[end][:4]) - int(values[beside][:4]))
        if values[end] in _PLACEHOLDERS and counts[end] > 1 and n_years >= _FAR_YEARS:
            yield (
                f"{counts[end]:,} records have a day far from all others, which may stand for a "
                "missing value: if so, name it in input.missing_values"
            )


def describe_exponents(profile: ColumnProfile, column: pa.ChunkedArray) -> Iterator[str]:
    """Tell of whole numbers that all have an exponent, as codes of rooms or devices seem to."""
    if profile.kind is not Kind.NUMERIC or not is_text(column.type):
        return
    texts = column.drop_null()
    numbers = texts.filter(pc.match_substring_regex(texts, r"\d"))  # not what is missing
    if pc.all(pc.match_substring_regex(numbers, r"^\d+[eE]\d+$")).as_py():
        yield "all are digits around an E, read as numbers (3E2 is 300): codes need type: nominal"


def describe_garbled(profile: ColumnProfile, column: pa.ChunkedArray) -> Iterator[str]:
    """Tell of UTF-8 that was read otherwise, as all of a file is for a few bytes that are none."""
    if not is_text(column.type):
        return
    texts = pc.unique(column.drop_null())
    foreign = texts.filter(pc.match_substring_regex(texts, "[^\\x00-\\x7f]"))
    n_garbled = sum(map(_is_garbled, foreign.to_pylist()))
    if n_garbled:
        yield (
            f"{n_garbled:,} of {profile.n_distinct:,} values "
            f"{'looks' if n_garbled == 1 else 'look'} like UTF-8 that was read in "
            "another encoding: correct them, in CSV the bytes that are not UTF-8, and begin again"
        )


def _is_garbled(text: str) -> bool:
    """Return whether the bytes of a text, in which not all are ASCII, are another one in UTF-8."""
    for encoding in _USUAL_ENCODINGS:
        try:
            text.encode(encoding).decode()
        except UnicodeError:
            continue
        return True
    return False
