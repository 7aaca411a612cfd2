"""Profile of a column of the sample: its type, number of values, and how these are spread."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.text_formats import (
    LIKE_DATES,
    LIKE_TIMES,
    TextFormat,
    number_pattern,
    rewrite_texts,
    signed_pattern,
)
from tclose.data.files.type_inference import count_texts
from tclose.data.keys import is_number, is_text, natural_kind, widen_decimals
from tclose.data.preparation.alike_texts import count_alike
from tclose.model.array_types import Float64
from tclose.model.column_terms import Kind
from tclose.policy.suggest.column_words import is_code
from tclose.policy.suggest.spellings import COMMA, PLAIN, POINT

_PATTERNS = {
    "mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "UUIDs": r"^\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?$",
    "IBANs": r"^[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,4})?$",
    "IP addresses": r"^\d{1,3}(\.\d{1,3}){3}$",
    "web addresses": r"^(https?://|www\.)\S+$",
    "phone numbers": r"^(\+|00?)[1-9]\d{0,3}[\d ()/-]{6,}$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
}
_NUMBERS = tuple("|".join(f"({number_pattern(f)})" for f in some) for some in (POINT, COMMA))
_ODD_SHARE = 0.02  # of texts among numbers or dates, up to which they are called errors
_FEW_CODES = 2
_FEW_DATES = 20  # texts, below which what looks like dates may be versions or chapters
_LONG = 1_000  # from which whole numbers of one length may be somebody's
_NEARLY, _RISING = 0.9, 0.99
_FIRST_DAY, _LAST_DAY = 10_000, 73_050  # of 1927 and of 2099, as spreadsheets number them
_EVEN = 0.1  # distance between distributions, below which one is even


@dataclass(frozen=True)
class ColumnProfile:
    """A column of the sample, without any of its values.

    ``kind``: None where no run reads the type; ``pattern``: what all texts are, in words; ``mode``:
    share of the commonest value; ``skew``: third standardised moment of numbers; ``n_words``: mean
    words of a text; ``is_sequence``: numbers that count up; ``n_odd``: texts among numbers or
    dates; ``is_even``: whole numbers spread evenly over their range; ``length``: of texts, all of
    them, 0 where they differ; ``is_padded``: digits that begin with zeros; ``has_blanks``: texts
    that are numbers or dates but for blanks before or after them; ``has_signs``: or but for
    signs, units and brackets; ``n_alike``: values of texts that differ from another one in
    capitals or blanks alone; ``has_mixed_dates``: texts that look like dates, and are of no one
    format; ``has_mixed_marks``: numbers, some with a decimal comma and some with a point;
    ``has_times``: texts that are times of day, or durations; ``may_be_days``: numbers that may be
    of days, as spreadsheets have them.
    """

    name: str
    kind: Kind | None
    n_records: int
    n_present: int
    n_distinct: int
    text_format: TextFormat = PLAIN
    pattern: str | None = None
    mode: float = 0.0
    skew: float = 0.0
    n_words: float = 0.0
    is_integer: bool = False
    is_sequence: bool = False
    is_even: bool = False
    has_one_length: bool = False
    length: int = 0
    is_padded: bool = False
    n_odd: int = 0
    n_alike: int = 0
    has_blanks: bool = False
    has_signs: bool = False
    has_mixed_dates: bool = False
    has_mixed_marks: bool = False
    has_times: bool = False
    may_be_days: bool = False
    rarest: int = 0

    @property
    def distinct(self) -> float:
        """Distinct values per present one."""
        return self.n_distinct / self.n_present if self.n_present else 0.0

    @property
    def is_faulty(self) -> bool:
        """True for numbers or dates that no run reads as such until they are corrected."""
        is_mixed = self.has_mixed_dates or self.has_mixed_marks
        has_others = self.has_blanks or self.has_signs or self.has_times
        return bool(self.n_odd) or has_others or is_mixed

    @property
    def missing(self) -> float:
        """Share of the records without a value."""
        return 1 - self.n_present / self.n_records


def profile_column(
    name: str, column: pa.ChunkedArray, text_format: TextFormat, tokens: tuple[str, ...]
) -> ColumnProfile:
    """Describe a column of the sample; its texts are read in a spelling, without the tokens."""
    n_records = len(column)
    if is_text(column.type):
        is_token = pc.is_in(column, value_set=pa.array(tokens, column.type))
        column = pc.if_else(is_token, pa.scalar(None, column.type), column)
    present = column.drop_null().combine_chunks()
    counted = widen_decimals(present).value_counts()
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    profile = ColumnProfile(
        name,
        natural_kind(column.type),
        n_records,
        len(present),
        len(values),
        text_format,
        mode=float(counts.max() / len(present)) if len(present) else 0.0,
        rarest=int(counts.min()) if len(present) else 0,
    )
    if is_text(column.type):
        return _describe_texts(profile, present)
    return _describe_numbers(profile, present) if is_number(column.type) else profile


def _describe_texts(profile: ColumnProfile, texts: pa.Array) -> ColumnProfile:
    distinct = pc.unique(texts)
    rewritten = rewrite_texts(pa.chunked_array([texts]), profile.text_format)
    kind, n_odd = _find_kind(rewritten)
    profile = replace(profile, kind=kind, n_odd=n_odd, pattern=_find_pattern(distinct))
    if kind is Kind.NOMINAL and not n_odd:
        bare = pa.chunked_array([pc.utf8_trim_whitespace(texts)])
        bare_kind, _ = _find_kind(rewrite_texts(bare, profile.text_format))
        has_blanks = bare_kind in (Kind.NUMERIC, Kind.DATE)
        has_mixed_dates = not has_blanks and _look_like(LIKE_DATES, distinct)
        has_signs = profile.pattern is None and _are_signed(distinct)
        has_other = has_blanks or has_signs or has_mixed_dates
        profile = replace(
            profile,
            has_blanks=has_blanks,
            has_signs=has_signs,
            has_mixed_dates=has_mixed_dates,
            has_mixed_marks=not has_other and _have_both_marks(distinct),
            has_times=not has_blanks and _look_like(LIKE_TIMES, distinct),
        )
    if kind is Kind.NUMERIC:
        return _describe_numbers(profile, rewritten.cast(pa.float64()).combine_chunks())
    if kind is not Kind.NOMINAL or not len(distinct):
        return profile
    lengths = pc.min_max(pc.utf8_length(distinct)).as_py()
    has_one_length = lengths["min"] == lengths["max"]
    digits = bool(pc.all(pc.match_substring_regex(distinct, r"^\d+$")).as_py())
    return replace(
        profile,
        n_words=pc.mean(pc.count_substring_regex(distinct, r"\s+")).as_py() + 1,
        n_alike=count_alike(distinct),
        has_one_length=has_one_length,
        length=lengths["max"] if has_one_length else 0,
        is_padded=digits and bool(pc.any(pc.starts_with(distinct, "0")).as_py()),
    )


def _find_kind(texts: pa.ChunkedArray) -> tuple[Kind, int]:
    """The kind of texts, and how many are odd ones among numbers or dates."""
    counts = count_texts(texts)
    if not counts.n_values:
        return Kind.NOMINAL, 0
    n_of = {
        Kind.NUMERIC: max(counts.n_floats, counts.n_integers),
        Kind.BOOLEAN: counts.n_booleans,
        Kind.DATE: max(counts.n_dates, counts.n_times, counts.n_fine, counts.n_zoned),
    }
    kind, most = max(n_of.items(), key=lambda pair: pair[1])
    if most == counts.n_values:
        return kind, 0
    n_odd = counts.n_values - most
    return Kind.NOMINAL, n_odd if n_odd <= _ODD_SHARE * counts.n_values else 0


def _are_signed(texts: pa.Array) -> bool:
    """Return whether texts that are no numbers are some but for signs, units and brackets."""
    return len(texts) > 0 and any(
        pc.all(pc.match_substring_regex(texts, signed_pattern(spelled))).as_py()
        for spelled in (*POINT, *COMMA)
    )


def _look_like(pattern: str, texts: pa.Array) -> bool:
    """Return whether nearly all of some texts look like dates, or times."""
    is_like = pc.match_substring_regex(pc.utf8_trim_whitespace(texts), pattern)
    return len(texts) >= _FEW_DATES and pc.sum(is_like).as_py() > _NEARLY * len(texts)


def _have_both_marks(texts: pa.Array) -> bool:
    """Return whether nearly all of some texts are numbers, with a comma in some, a point in others.

    Those that read with either mark, as 1.234, say nothing.
    """
    points, commas = (pc.match_substring_regex(texts, pattern) for pattern in _NUMBERS)
    n_numbers = pc.sum(pc.or_(points, commas)).as_py() or 0
    both = pc.any(pc.and_not(points, commas)), pc.any(pc.and_not(commas, points))
    is_few = len(texts) < _FEW_DATES or n_numbers <= _NEARLY * len(texts)
    return not is_few and all(one.as_py() for one in both)


def _find_pattern(texts: pa.Array) -> str | None:
    """Name the kind of identifier that nearly all texts are, if they are."""
    for words, pattern in _PATTERNS.items():
        share = pc.mean(pc.match_substring_regex(texts, pattern).cast(pa.int8())).as_py()
        if share is not None and share > _NEARLY:
            return words
    return None


@np.errstate(over="ignore", invalid="ignore")  # what is not finite then is of no shape looked for
def _describe_numbers(profile: ColumnProfile, present: pa.Array) -> ColumnProfile:
    numbers = present.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return profile
    is_integer = bool((numbers == np.floor(numbers)).all())
    low, high = float(numbers.min()), float(numbers.max())
    deviation = float(numbers.std())
    skew = float((((numbers - numbers.mean()) / deviation) ** 3).mean()) if deviation else 0.0
    # names, between which no arithmetic has sense
    is_code_of = is_integer and (profile.n_distinct <= _FEW_CODES or is_code(profile.name))
    return replace(
        profile,
        kind=Kind.NOMINAL if is_code_of else Kind.NUMERIC,
        is_integer=is_integer,
        skew=skew,
        is_sequence=is_integer and _counts_up(numbers),
        is_even=is_integer and _is_even(numbers),
        may_be_days=low >= _FIRST_DAY and high <= _LAST_DAY and profile.n_distinct >= _FEW_DATES,
        has_one_length=is_integer and low >= _LONG and len(f"{low:.0f}") == len(f"{high:.0f}"),
        length=len(f"{low:.0f}") if is_code_of and len(f"{low:.0f}") == len(f"{high:.0f}") else 0,
    )


def _is_even(numbers: Float64) -> bool:
    """Return whether numbers are distributed as draws from all of their range."""
    low, high = numbers.min(), numbers.max()
    if low == high:
        return False
    places = np.sort((numbers - low) / (high - low))
    return float(np.abs(places - np.linspace(0, 1, places.size)).max()) < _EVEN


def _counts_up(numbers: Float64) -> bool:
    """Return whether nearly every number is above the one before, or all are of one range."""
    if numbers.size < _FEW_CODES:
        return False
    n_distinct, span = np.unique(numbers).size, float(numbers.max() - numbers.min())
    has_no_gaps = n_distinct > _NEARLY * numbers.size and n_distinct > _NEARLY * span
    return has_no_gaps or float((np.diff(numbers) > 0).mean()) > _RISING
