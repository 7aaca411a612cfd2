"""Spellings of numbers and dates: what is read, what is refused, and what stays text."""

from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.data.files.text_formats import (
    TextFormat,
    check_date_format,
    count_ahead,
    has_separators,
    rewrite_texts,
    signed_pattern,
)

CONTINENTAL = TextFormat(",", ".", "%d.%m.%Y")


def rewritten(text: str | None, spelled: TextFormat) -> str | None:
    column = pa.chunked_array([[text]], pa.string())
    return rewrite_texts(column, spelled).to_pylist()[0]


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "read"),
        [
            ("48.360,86", "48360.86"), ("-1.234", "-1234"), ("1234,5", "1234.5"), ("0,5", "0.5"),
            (",5", ".5"), ("7", "7"), ("1,5e3", "1.5e3"), ("1.234.567", "1234567"), ("nan", "nan"),
        ],
    )  # fmt: skip
    def test_read(self, text, read):
        assert rewritten(text, CONTINENTAL) == read

    @pytest.mark.parametrize("text", ["1.5", "12.34", "0.123", "04897", "48360.86", "1.2345"])
    def test_numbers_of_another_spelling_are_none(self, text):
        """A point that groups no three digits would otherwise make the number another one."""
        assert rewritten(text, CONTINENTAL) == "?"

    @pytest.mark.parametrize("text", ["abc", "true", "2021-01-06", "1,2,3", "", None])
    def test_other_texts_stay(self, text):
        assert rewritten(text, CONTINENTAL) == text

    @pytest.mark.parametrize("mark", [" ", "\u00a0", "\u202f"])
    def test_spaces_are_alike(self, mark):
        assert rewritten(f"48{mark}360,5", TextFormat(",", " ")) == "48360.5"

    @pytest.mark.parametrize("mark", ["'", "\u2019"])
    def test_apostrophes_are_alike(self, mark):
        assert rewritten(f"48{mark}360.5", TextFormat(".", "'")) == "48360.5"

    @given(
        st.integers(-(10**12), 10**12),
        st.sampled_from([TextFormat(d, t) for d in ".," for t in (".", ",", " ", "'") if d != t]),
    )
    def test_written_and_read(self, cents, spelled):
        sign, whole, part = "-" * (cents < 0), abs(cents) // 100, abs(cents) % 100
        text = f"{sign}{whole:,}".replace(",", spelled.thousands or "")
        plain = f"{sign}{whole}.{part:02d}"
        assert rewritten(f"{text}{spelled.decimal}{part:02d}", spelled) == plain


class TestDates:
    @pytest.mark.parametrize(
        ("form", "text", "read"),
        [
            ("%d.%m.%Y", "06.01.2021", "2021-01-06"),
            ("%d.%m.%Y", "6.1.2021", "2021-01-06"),
            ("%m/%d/%Y", "12/31/2020", "2020-12-31"),
            ("%Y%m%d", "20210106", "2021-01-06"),
            ("%d.%m.%y", "06.01.68", "2068-01-06"),
            ("%d.%m.%y", "06.01.69", "1969-01-06"),
            ("%d.%m.%Y %H:%M", "06.01.2021 9:05", "2021-01-06 09:05"),
            ("%d.%m.%Y %H:%M:%S.%f", "06.01.2021 09:05:07.25", "2021-01-06 09:05:07.25"),
            ("%d.%m.%Y", "31.02.2021", "2021-02-31"),  # which type inference finds to be no day
            ("%d.%m.%Y", "2021-01-06", "2021-01-06"),
            ("%d.%m.%Y", "06.01.21", "06.01.21"),
            ("%d.%m.%Y", "on 06.01.2021", "on 06.01.2021"),
        ],
    )
    def test_read(self, form, text, read):
        assert rewritten(text, TextFormat(date_format=form)) == read

    @given(st.dates(), st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y"]))
    def test_written_and_read(self, day, form):
        text = form.replace("%Y", f"{day.year:04d}")
        text = text.replace("%m", f"{day.month:02d}").replace("%d", f"{day.day:02d}")
        assert rewritten(text, TextFormat(date_format=form)) == day.isoformat()

    @pytest.mark.parametrize(
        ("form", "reason"),
        [
            ("%d.%m", "a day, a month and a year"), ("%d.%m.%y%Y", "a day, a month and a year"),
            ("%d.%d.%Y", "a day, a month and a year"), ("%d %b %Y", "%b is not read"),
            ("%d.%m.%Y %H", "hours and minutes"), ("%d.%m.%Y %H:%S", "hours and minutes"),
            ("%d.%m.%Y %", "without a directive"), ("day", "a day, a month and a year"),
        ],
    )  # fmt: skip
    def test_refused(self, form, reason):
        with pytest.raises(ValueError, match=reason):
            check_date_format(form)

    def test_separators(self):
        assert has_separators("%d.%m.%Y")
        assert not has_separators("%Y%m%d")


def test_columns_without_values() -> None:
    for chunks in ([], [[None, None]]):
        column = pa.chunked_array(chunks, pa.string())
        assert rewrite_texts(column, CONTINENTAL).to_pylist() == column.to_pylist()


def test_plain_columns_are_not_touched() -> None:
    column = pa.chunked_array([["1.5", "06.01.2021"]])
    assert rewrite_texts(column, TextFormat()) is column


@pytest.mark.parametrize(
    ("texts", "date_format", "n_ahead"),
    [
        (["02.12.26", "01.12.26", "31.12.68", "31.12.68", "01.01.69", None], "%d.%m.%y", 3),
        (["2.12.26 07:00", "1.12.26 23:59"], "%d.%m.%y %H:%M", 1),
        (["2068-01-01", "x", ""], "%d.%m.%y", 0),  # four digits say the century
        (["02.12.2068"], "%d.%m.%Y", 0),
        (["1.5"], None, 0),
        ([None], "%d.%m.%y", 0),
    ],
)
def test_years_of_two_digits_that_are_to_come(texts, date_format, n_ahead):
    column = pa.chunked_array([texts], pa.string())
    spelled = TextFormat(date_format=date_format)
    assert count_ahead(column, spelled, date(2026, 12, 1)) == n_ahead


@pytest.mark.parametrize(
    ("text", "is_number"),
    [
        ("+41", True), ("27 %", True), ("12", True), ("-1.5", True), ("$1,234.50", True),
        ("EUR 5", True), ("1234.56 EUR", True), ("70kg", True), ("12 d", True), ("12d", False),
        ("(12.00)", True), ("($5)", True), ("12-", True), ("\u221212", True), ("1-2", False),
        ("P123", False), ("5a", False), ("0123 kg", False), ("kg", False), (" 5", False),
        ("1.2.3", False),
    ],
)  # fmt: skip
def test_numbers_but_for_signs_units_and_brackets(text, is_number):
    pattern = signed_pattern(TextFormat(".", ","))
    assert pc.match_substring_regex(pa.array([text]), pattern)[0].as_py() is is_number
