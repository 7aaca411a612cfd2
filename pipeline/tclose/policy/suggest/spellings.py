"""Spellings of missing values, numbers and dates in a CSV file, by the texts of its columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.text_formats import (
    TextFormat,
    date_pattern,
    has_separators,
    number_pattern,
    rewrite_texts,
)
from tclose.data.files.type_inference import TextCounts, count_texts

_TOKENS = (
    *("NA", "N/A", "n/a", "n.a.", "N.A.", "#N/A", "NaN", "nan", "NULL", "null", "(null)", "\\N"),
    *("?", "-", "--", ".", "..", "k.A.", "k. A."),
    *("0000-00-00", "00.00.0000", "00/00/0000"),
)
# Texts that may also be categories: missing values only where all others are numbers or dates.
_WEAK_TOKENS = ("none", "None", "unknown", "Unknown", "missing", "keine Angabe", "inconnu", "s/d")
PLAIN = TextFormat()
POINT = (PLAIN, TextFormat(".", ","), TextFormat(".", " "), TextFormat(".", "'"))
COMMA = (TextFormat(","), TextFormat(",", "."), TextFormat(",", " "), TextFormat(",", "'"))
_MARKED = "[.,' \u2019\u00a0\u202f]"
_DAY_FIRST = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
_MONTH_FIRST = ("%m{0}%d{0}%Y", "%d{0}%m{0}%Y", "%Y{0}%m{0}%d", "%m{0}%d{0}%y", "%d{0}%m{0}%y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
_FEW = 20  # values, of which eight digits are dates by chance in none of a million columns


@dataclass(frozen=True)
class Spellings:
    """The spelling of a file; ``own``: of columns that have another one.

    ``tokens``: missing values; ``ambiguous``: columns that also read in another way, with how;
    ``odd``: columns of numbers or dates but for a few texts, with how many records have these.
    """

    tokens: tuple[str, ...] = ()
    general: TextFormat = PLAIN
    own: Mapping[str, TextFormat] = field(default_factory=dict)
    ambiguous: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> TextFormat:
        """The spelling of a column."""
        return self.own.get(name, self.general)


def find_spellings(table: pa.Table, delimiter: str) -> Spellings:
    """Find the spelling in which most columns of texts are numbers or dates."""
    tokens = _find_tokens(table)
    values = {name: pc.unique(_without(table[name], tokens)) for name in table.column_names}
    continental = delimiter == ";"
    dates = {name: _fit_dates(texts, continental) for name, texts in values.items()}
    continental = continental or any("%d.%m" in d for formats in dates.values() for d in formats)
    chosen, ambiguous = _choose_dates(dates)
    rest = {name: texts for name, texts in values.items() if name not in chosen}
    general, numbers, unsure = _choose_numbers(rest, continental)
    own = {name: spelled for name, spelled in numbers.items() if spelled != general}
    separated = [f for f in chosen.values() if has_separators(f)]
    usual = max(separated, key=separated.count) if separated else None
    general = replace(general, date_format=usual)
    own = {name: replace(spelled, date_format=None) for name, spelled in own.items()}
    own |= {n: replace(general, date_format=f) for n, f in chosen.items() if f != usual}
    return Spellings(tokens, general, own, ambiguous | unsure)


def _without(column: pa.ChunkedArray, tokens: tuple[str, ...]) -> pa.ChunkedArray:
    texts = column.drop_null()
    is_token = pc.is_in(texts, value_set=pa.array(tokens, pa.string()))
    return texts.filter(pc.invert(is_token))


def _find_tokens(table: pa.Table) -> tuple[str, ...]:
    """Texts that stand for missing values, in any column."""
    tokens: dict[str, None] = {}
    for name in table.column_names:
        texts = pc.unique(table[name].drop_null())
        present = [t for t in (*_TOKENS, *_WEAK_TOKENS) if pc.any(pc.equal(texts, t)).as_py()]
        others = _without(table[name], tuple(present))
        if "NA" in present and _are_country_codes(others):
            present.remove("NA")
        if not _is_numbers_or_dates(pc.unique(others)):
            present = [token for token in present if token not in _WEAK_TOKENS]
        tokens |= dict.fromkeys(present)
    return tuple(tokens)


def _are_country_codes(texts: pa.ChunkedArray) -> bool:
    """Return whether NA may be Namibia."""
    codes = pc.unique(texts)
    return len(codes) > 1 and bool(pc.all(pc.match_substring_regex(codes, "^[A-Z]{2}$")).as_py())


def _is_numbers_or_dates(texts: pa.Array) -> bool:
    if not len(texts):
        return False
    some = texts.slice(0, 1_000)
    numbers = (pc.match_substring_regex(some, number_pattern(f)) for f in (*POINT, *COMMA))
    is_any = any(bool(pc.all(matches).as_py()) for matches in numbers)
    return is_any or bool(_fit_dates(some, continental=True)) or reads_as_dates(count(some))


def count(texts: pa.Array) -> TextCounts:
    """Count texts by the type that they read as."""
    return count_texts(pa.chunked_array([texts], pa.string()))


def reads_as_dates(counts: TextCounts) -> bool:
    """Return whether all of the counted texts are days or times in ISO 8601."""
    most = max(counts.n_dates, counts.n_times, counts.n_fine, counts.n_zoned)
    return 0 < counts.n_values == most


def _fit_dates(texts: pa.Array, continental: bool) -> tuple[str, ...]:
    """Formats in which every text is a day that there is; the likeliest first."""
    if not len(texts) or reads_as_dates(count(texts.slice(0, 100))):
        return ()
    fitting = []
    for form in _date_formats(continental, len(texts) >= _FEW):
        some = texts.slice(0, 50)
        if not pc.all(pc.match_substring_regex(some, date_pattern(form))).as_py():
            continue
        rewritten = rewrite_texts(pa.chunked_array([texts]), TextFormat(date_format=form))
        if reads_as_dates(count_texts(rewritten)):
            fitting.append(form)
    return tuple(fitting)


def _date_formats(continental: bool, many: bool) -> list[str]:
    forms = []
    for mark in "./-":
        day_first = continental or mark != "/"
        forms += [form.format(mark) for form in (_DAY_FIRST if day_first else _MONTH_FIRST)]
    return [form + clock for form in forms for clock in _CLOCKS] + (["%Y%m%d"] if many else [])


def _choose_dates(
    fitting: Mapping[str, tuple[str, ...]],
) -> tuple[dict[str, str], dict[str, str]]:
    """The format of each column of dates; what one column leaves open others may settle."""
    settled = {formats[0] for formats in fitting.values() if len(formats) == 1}
    chosen, ambiguous = {}, {}
    for name, formats in fitting.items():
        known = [form for form in formats if form in settled]
        if formats:
            chosen[name] = (known or formats)[0]
        if len(formats) > 1 and not known:
            ambiguous[name] = f"its dates also read as {formats[1]}"
    return chosen, ambiguous


def _choose_numbers(
    values: Mapping[str, pa.Array], continental: bool
) -> tuple[TextFormat, dict[str, TextFormat], dict[str, str]]:
    """The marks in which most columns are numbers, each column's own, and what is left open."""
    order = (*COMMA, *POINT) if continental else (*POINT, *COMMA)
    fitting: dict[str, list[TextFormat]] = {}
    for name, texts in values.items():
        marked = pc.any(pc.match_substring_regex(texts, _MARKED)).as_py()
        if marked:  # without marks numbers are the same in all spellings
            formats = [f for f in order if _all_match(texts, f)]
            if formats:
                fitting[name] = formats
    if not fitting:
        return PLAIN, {}, {}
    best = max(order, key=lambda f: sum(f in formats for formats in fitting.values()))
    sure = {
        f for formats in fitting.values() if len({g.decimal for g in formats}) == 1 for f in formats
    }
    chosen, ambiguous = {}, {}
    for name, formats in fitting.items():
        chosen[name] = best if best in formats else formats[0]
        other = next((f for f in formats if f.decimal != chosen[name].decimal), None)
        if other is not None and chosen[name] not in sure:
            ambiguous[name] = f"its numbers also read with the decimal mark {other.decimal!r}"
    return best, chosen, ambiguous


def _all_match(texts: pa.Array, spelled: TextFormat) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, number_pattern(spelled))).as_py())
