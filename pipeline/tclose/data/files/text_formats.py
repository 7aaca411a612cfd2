"""Foreign spellings of numbers and dates in CSV, rewritten to the one that types are inferred from.

A text that is not of the declared spelling is never read as a number by another one: 1.5 is none
where the decimal mark is a comma.
"""

import re
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

# Of texts that a reader takes for days or moments, whatever format they are of.
_MONTH = r"(?i:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäé]{0,6}\.?"
_DAY_AND_YEAR = (
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}",
    rf"\d{{1,2}}\.?[ -]?{_MONTH}[ -]?\d{{2,4}}",
    rf"{_MONTH} ?\d{{1,2}},? \d{{4}}",
)
LIKE_TIMES = r"^\d{1,3}:\d{2}(:\d{2}(\.\d+)?)?( ?[aApP]\.?[mM]\.?)?$"  # of a day, or durations
LIKE_DATES = rf"^({'|'.join(_DAY_AND_YEAR)})([ T]\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?Z?)?$"

_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019", "\u2019": "'\u2019"}  # marks that exports mix
_DIGITS = {"Y": r"\d{4}", "y": r"\d{2}", "f": r"\d{1,6}"}
_PART = re.compile(r"%(.)|([^%]+)")
_LAST_YEAR = "69"  # of two digits: the first that is of the 20th century, as POSIX has it
_PLAIN = r"^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_MINUS = "\u2212"  # of typesetting, with which none is read
_CURRENCIES = "[€$£¥]|EUR|USD|GBP|CHF"
_UNITS = (
    rf"%|{_CURRENCIES}|kg|mg|µg|cm|mm|km|ml|dl|min|mmHg|bpm|kcal|°C?|mg/d?l|mmol/l"
    "|[Yy]ears?|[Dd]ays?|[Hh]ours?|Jahre?|Tage?|Stunden?"
)
_SHORT_UNITS = "g|m|l|h|s|d"  # without a blank they are as in house numbers and codes
_NO_NUMBER = "?"


@dataclass(frozen=True)
class TextFormat:
    """The spelling of a CSV column's numbers and dates.

    ``decimal``, ``thousands``: marks in numbers; ``date_format``: directives as `strptime` has
    them. Dates in ISO 8601 are read under every format.
    """

    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None

    @property
    def is_plain(self) -> bool:
        """True if texts are spelled as types are inferred from."""
        return self == TextFormat()


def check_date_format(text: str) -> str:
    """Return the format of a date, if it has the directives that make one day.

    Raises
    ------
    ValueError
        An unknown directive, one that appears twice, or no day, month or year.
    """
    directives = [directive for directive, _ in _PART.findall(text) if directive]
    if "".join(f"%{d}" if d else plain for d, plain in _PART.findall(text)) != text:
        raise ValueError("has a % without a directive; write a date as in '%d.%m.%Y'")
    unknown = sorted(set(directives) - set("YymdHMSf"))
    if unknown:
        raise ValueError(f"%{unknown[0]} is not read; allowed: %Y %y %m %d %H %M %S %f")
    day = sorted(set(directives) & set("Yymd"))
    if len(directives) != len(set(directives)) or day not in (["Y", "d", "m"], ["d", "m", "y"]):
        raise ValueError("needs a day, a month and a year, each once, as in '%d.%m.%Y'")
    clock = "".join(d for d in "HMSf" if d in directives)
    if not "HMSf".startswith(clock) or clock == "H":
        raise ValueError("needs hours and minutes where it has a time, as in '%d.%m.%Y %H:%M'")
    return text


def has_separators(date_format: str) -> bool:
    """Return whether there is something between the day, the month and the year."""
    return re.search(r"%[Yymd]%[Yymd]", date_format) is None


def rewrite_texts(column: pa.ChunkedArray, text_format: TextFormat) -> pa.ChunkedArray:
    """Rewrite a text column's dates to ISO 8601, its numbers to digits and a point.

    Other texts stay, but for numbers of another spelling, which are made none.
    """
    if text_format.is_plain:
        return column
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary
    rewritten = _rewrite_numbers(texts, text_format)
    if text_format.date_format is not None:
        dates = _rewrite_dates(texts, text_format.date_format)
        rewritten = pc.coalesce(dates, rewritten)
    return pa.chunked_array([rewritten.take(encoded.indices)], pa.string())


def number_pattern(text_format: TextFormat) -> str:
    """Return the regular expression of numbers with these marks."""
    whole = r"0|[1-9]\d*"
    if text_format.thousands:
        whole += rf"|[1-9]\d{{0,2}}([{_marks(text_format)}]\d{{3}})+"
    decimal = re.escape(text_format.decimal)
    return rf"^-?(({whole})({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?$"


def signed_pattern(text_format: TextFormat) -> str:
    """Return the regular expression of numbers that may have signs with which none is read.

    Or a currency, or a unit; in brackets, or with a minus behind them, they are below zero.
    """
    number, blank = number_pattern(text_format)[1:-1], f"[{_ALIKE[' ']}]"
    after = rf"({blank}?({_UNITS})|{blank}({_SHORT_UNITS}))?"
    valued = rf"(({_CURRENCIES}){blank}?)?{number}{after}"
    return rf"^([-+{_MINUS}]?{valued}-?|\({valued}\))$"


def _marks(text_format: TextFormat) -> str:
    thousands = text_format.thousands or ""
    return _ALIKE.get(thousands, re.escape(thousands))


def _rewrite_numbers(texts: pa.Array, text_format: TextFormat) -> pa.Array:
    is_number = pc.match_substring_regex(texts, number_pattern(text_format))
    digits = texts
    if text_format.thousands:
        digits = pc.replace_substring_regex(digits, f"[{_marks(text_format)}]", "")
    digits = pc.replace_substring(digits, text_format.decimal, ".")
    is_other = pc.and_not(pc.match_substring_regex(texts, _PLAIN), is_number)
    # leading zeros make a code, which is no number of any spelling
    return pc.if_else(is_number, digits, pc.if_else(is_other, pa.scalar(_NO_NUMBER), texts))


def date_pattern(date_format: str) -> str:
    """Return the regular expression of dates of a format, a named group for each directive."""
    parts, pieces = [], _PART.findall(date_format)
    for i, (directive, plain) in enumerate(pieces):
        beside = (pieces[i - 1][0] if i else "") or (pieces[i + 1][0] if pieces[i + 1 :] else "")
        digits = _DIGITS.get(directive, r"\d{2}" if beside else r"\d{1,2}")
        parts.append(f"(?P<{directive}>{digits})" if directive else re.escape(plain))
    return f"^{''.join(parts)}$"


def count_ahead(column: pa.ChunkedArray, text_format: TextFormat, today: date) -> int:
    """Count the texts with years of two digits that are read as days after today.

    Those of births may be: 45 is 2045.
    """
    if "%y" not in (text_format.date_format or ""):
        return 0
    counted = column.drop_null().combine_chunks().value_counts()
    days = pc.utf8_slice_codeunits(
        _rewrite_dates(counted.field("values"), str(text_format.date_format)), 0, 10
    )
    return int(pc.sum(counted.field("counts").filter(pc.greater(days, str(today)))).as_py() or 0)


def _rewrite_dates(texts: pa.Array, date_format: str) -> pa.Array:
    """Dates of a format in ISO 8601, null where a text is none; what days there are is not seen."""
    groups = pc.extract_regex(texts, date_pattern(date_format))
    part = {field.name: pc.struct_field(groups, [i]) for i, field in enumerate(groups.type)}
    for name in part.keys() & set("mdHMS"):
        part[name] = pc.utf8_lpad(part[name], 2, "0")
    if "y" in part:
        century = pc.if_else(pc.greater_equal(part["y"], _LAST_YEAR), "19", "20")
        part["Y"] = pc.binary_join_element_wise(century, part["y"], "")
    dates = pc.binary_join_element_wise(part["Y"], part["m"], part["d"], "-")
    if "H" not in part:
        return dates
    clock = pc.binary_join_element_wise(*(part[d] for d in "HMS" if d in part), ":")
    if "f" in part:
        clock = pc.binary_join_element_wise(clock, part["f"], ".")
    return pc.binary_join_element_wise(dates, clock, " ")
