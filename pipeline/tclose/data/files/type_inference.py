"""Type inference for the texts of a CSV column: counted in parts, decided over all of them.

pyarrow and pandas decide by the block that they read first, or for each block anew, so that types
would depend on how the input is cut.
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.rough_decimals import count_merged, rough_decimals
from tclose.errors import DataError
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Kind, Role


@dataclass(frozen=True)
class TextCounts:
    """Counts of a column's texts that read as each type; they merge by addition.

    ``n_times``: times without a zone, dates among them; ``n_fine``: the same to the nanosecond;
    ``n_dated``: whatever has the form of a date, be there such a day or not; ``n_long``: integers
    of more than 18 digits; ``n_wide``: of 16 to 18; ``n_ahead``: dates with years of two digits
    that are read as days to come; ``n_names``: texts that are the column's name; ``rough``:
    decimals of more digits than floats hold, as `rough_decimals` has them.
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
    n_wide: int = 0
    n_ahead: int = 0
    n_names: int = 0
    rough: bytes = b""

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
_WIDE, WIDE_DIGITS = r"^-?[1-9]\d{15,17}$", 16  # which decimals beside them leave no room for
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
    """Count the texts of a column by the type that they read as; nulls do not count."""
    counted = column.drop_null().combine_chunks().value_counts()
    texts, counts = counted.field("values"), counted.field("counts")

    def count(pattern: str) -> int:
        return pc.sum(counts.filter(pc.match_substring_regex(texts, pattern))).as_py() or 0

    n_values = pc.sum(counts).as_py() or 0
    n_integers = count(_INTEGER)
    n_floats = n_integers if n_integers == n_values else count(_FLOAT)
    if n_floats == n_values:
        longest = pc.max(pc.utf8_length(texts)).as_py() or 0
        n_wide = count(_WIDE) if longest >= WIDE_DIGITS else 0
        rough = rough_decimals(texts) if n_integers < n_values and longest > WIDE_DIGITS else b""
        return TextCounts(n_values, n_integers, n_floats, n_wide=n_wide, rough=rough)
    other_counts: dict[str, Any] = {field: count(pattern) for field, pattern in _OTHERS.items()}
    if other_counts["n_dated"]:
        other_counts |= {field: count(pattern) for field, pattern in _DATES.items()}
    return TextCounts(n_values, n_integers, n_floats, **other_counts)


_READ_AS: tuple[tuple[str, Kind, pa.DataType], ...] = (
    ("n_integers", Kind.NUMERIC, pa.int64()),
    ("n_floats", Kind.NUMERIC, pa.float64()),
    ("n_booleans", Kind.BOOLEAN, pa.bool_()),
    ("n_dates", Kind.DATE, pa.date32()),
    ("n_times", Kind.DATE, pa.timestamp("us")),
    ("n_fine", Kind.DATE, pa.timestamp("ns")),
    ("n_zoned", Kind.DATE, pa.timestamp("us", "UTC")),
)
_SPELLED_BY = {
    "numbers": "say how they are written by decimal and thousands, ",
    "dates": "say how they are written by date_format, ",
}
_IN_WORDS = {Kind.NUMERIC: "numbers", Kind.BOOLEAN: "booleans", Kind.DATE: "dates"}


def infer_type(counts: TextCounts, attribute: Attribute) -> pa.DataType:
    """The type of a CSV column: the narrowest that all of its values have.

    Numbers with leading zeros are texts: they are codes. A declared kind is kept to.

    Raises
    ------
    DataError
        Values that are not of the declared kind, that have the form of a date and are none, or that
        make text of a confidential attribute: how many. Different ones that floats would make the
        same.
    """
    declared = attribute.kind
    if declared in (Kind.NOMINAL, Kind.ORDINAL):
        return pa.string()
    fitting = [option for option in _READ_AS if declared in (None, option[1])]
    for field, _, dtype in fitting:
        if getattr(counts, field) == counts.n_values:
            if counts.n_wide and pa.types.is_floating(dtype):
                raise DataError(f"column {attribute.name!r}: {_explain_wide(counts)}")
            n_alike = count_merged(counts.rough) if pa.types.is_floating(dtype) else 0
            if n_alike:
                raise DataError(f"column {attribute.name!r}: {_explain_alike(n_alike)}")
            return dtype
    most, kind = max((getattr(counts, field), kind) for field, kind, _ in fitting)
    problem = _find_fault(counts, attribute, counts.n_values - most, _IN_WORDS[kind])
    if problem:
        raise DataError(f"column {attribute.name!r}: {problem}")
    return pa.string()


def _explain_wide(counts: TextCounts) -> str:
    return (
        f"{counts.n_wide:,} of {counts.n_values:,} values are integers of {WIDE_DIGITS} digits or "
        "more, beside decimals, and as numbers with decimals some would be the same; correct them, "
        "name them in input.missing_values, or declare the column nominal"
    )


def _explain_alike(n_alike: int) -> str:
    return (
        f"{n_alike:,} of its different values are decimals of {WIDE_DIGITS} digits or more, and as "
        "numbers would be the same as others of them; correct them, name them in "
        "input.missing_values, or declare the column nominal"
    )


def has_texts(counts: TextCounts, attribute: Attribute) -> bool:
    """Return whether some of these values alone would make the column text, or be refused."""
    try:
        return bool(pa.types.is_string(infer_type(counts, attribute)))
    except DataError:
        return True


def _find_fault(counts: TextCounts, attribute: Attribute, n_wrong: int, kind_words: str) -> str:
    """Say what is wrong with a column that has no type of its own; empty if it may be text."""
    share = f"{n_wrong:,} of {counts.n_values:,} values"
    if attribute.kind is not None:
        problem = f"the policy says {attribute.kind}, but {share} do not read as {kind_words}"
        remedy = "declare another type"
    elif counts.n_dated == counts.n_values:
        problem = f"its values look like dates, but {share} are none, or are of another form"
        remedy = "declare the column nominal"
    elif attribute.role is Role.CONFIDENTIAL and n_wrong < counts.n_values:
        problem = f"is confidential, but {share} do not read as {kind_words}"
        remedy = "give it type: ordinal and an order"
    else:
        return ""
    long = f" ({counts.n_long:,} are integers of more than 18 digits)" if counts.n_long else ""
    spelled = _SPELLED_BY.get(kind_words, "")
    return f"{problem}{long}; correct them, {spelled}name them in input.missing_values, or {remedy}"
