"""Marks, date formats and missing values that are found in the texts of columns."""

import pyarrow as pa
import pytest

from tclose.data.files.text_formats import TextFormat
from tclose.policy.suggest.spellings import find_spellings


def spellings(delimiter: str = ",", **columns: list[str]):
    n_rows = max(map(len, columns.values()))
    rows = {name: (values * n_rows)[:n_rows] for name, values in columns.items()}
    return find_spellings(pa.table(rows), delimiter)


class TestNumbers:
    @pytest.mark.parametrize(
        ("texts", "delimiter", "found"),
        [
            (["1.5", "2"], ",", TextFormat()),
            (["1", "2"], ";", TextFormat()),
            (["1,5", "2"], ";", TextFormat(",")),
            (["48.360,86"], ";", TextFormat(",", ".")),
            (["48360,86", "1.234,5"], ",", TextFormat(",", ".")),
            (["48,360.86"], ",", TextFormat(".", ",")),
            (["48\u00a0360,8"], ";", TextFormat(",", " ")),
            (["48'360.8"], ";", TextFormat(".", "'")),
            (["1.5", "2.25"], ";", TextFormat()),
        ],
    )
    def test_marks(self, texts, delimiter, found):
        assert spellings(delimiter, a=texts).general == found

    def test_groups_or_decimals_are_told_by_other_columns(self):
        """1.234 alone could be both."""
        found = spellings(a=["1.234", "56.789"], b=["1.234,5"])
        assert found.of("a") == TextFormat(",", ".")
        assert not found.ambiguous

    @pytest.mark.parametrize(
        ("delimiter", "general"), [(",", TextFormat()), (";", TextFormat(",", "."))]
    )
    def test_what_nothing_tells_is_said(self, delimiter, general):
        found = spellings(delimiter, a=["1.234", "56.789"])
        assert found.general == general
        assert "decimal mark" in found.ambiguous["a"]

    def test_a_column_of_its_own(self):
        found = spellings(";", a=["1,5"], b=["2,5"], c=["1.25"])
        assert found.general == TextFormat(",")
        assert found.own == {"c": TextFormat()}

    def test_codes_have_no_marks(self):
        assert spellings(";", a=["04897", "01234"]).general == TextFormat()


class TestDates:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("31.12.2021", "%d.%m.%Y"), ("12/31/2021", "%m/%d/%Y"), ("31/12/2021", "%d/%m/%Y"),
            ("2021/12/31", "%Y/%m/%d"), ("31.12.99", "%d.%m.%y"),
            ("31-12-2021 10:05", "%d-%m-%Y %H:%M"), ("2021-12-31", None),
            ("2021-12-31 10:05:00", None),
        ],
    )  # fmt: skip
    def test_formats(self, text, found):
        assert spellings(a=[text]).general.date_format == found

    def test_the_order_is_told_by_other_columns(self):
        found = spellings(a=["01/02/2021"], b=["31/12/2021"])
        assert found.of("a").date_format == "%d/%m/%Y"
        assert not found.ambiguous

    def test_what_nothing_tells_is_said(self):
        found = spellings(a=["01/02/2021"])
        assert found.general.date_format == "%m/%d/%Y"
        assert found.ambiguous == {"a": "its dates also read as %d/%m/%Y"}

    def test_digits_alone_are_of_their_column(self):
        days = [f"2021{month:02d}{day:02d}" for month in range(1, 13) for day in (1, 28)]
        found = spellings(a=days, b=["31.12.2021"])
        assert found.general.date_format == "%d.%m.%Y"
        assert found.of("a").date_format == "%Y%m%d"

    @pytest.mark.parametrize("text", ["31.02.2021", "2021-13-01", "10.05", "1.2.3.4"])
    def test_no_dates(self, text):
        assert spellings(a=[text]).general.date_format is None


class TestTokens:
    @pytest.mark.parametrize("token", ["NA", "?", "N/A", "-", "NULL", "00.00.0000", "nan"])
    def test_found(self, token):
        assert spellings(a=["x", token]).tokens == (token,)

    @pytest.mark.parametrize("token", ["None", "unknown", "keine Angabe"])
    def test_categories_stay(self, token):
        """Of text they may be a category like any other."""
        assert spellings(a=["x", token]).tokens == ()
        assert spellings(a=["1,5", token]).tokens == (token,)
        assert spellings(a=["31.12.2021", token]).tokens == (token,)

    def test_namibia(self):
        assert spellings(a=["NA", "ZA", "BW"]).tokens == ()
        assert spellings(a=["NA", "ZA", "BW"], b=["NA", "1", "2"]).tokens == ("NA",)

    def test_numbers_are_seen_behind_them(self):
        found = spellings(";", a=["n/a", "1,5"])
        assert (found.tokens, found.general) == (("n/a",), TextFormat(","))
