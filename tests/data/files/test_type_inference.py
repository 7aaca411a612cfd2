"""Types of texts: the narrowest that all values of a column have, whatever the parts."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.chunks_of_csv import parse
from support.tables.random_tables import repeatable
from tclose.data.files.type_inference import (
    TextCounts,
    count_texts,
    has_texts,
    infer_type,
)
from tclose.errors import DataError
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Kind, Role


def attribute(kind: Kind | None = None, role: Role = Role.QUASI_IDENTIFIER) -> Attribute:
    return Attribute("c", role, kind)


def inferred(texts: list[str | None], kind: Kind | None = None, **keys: Role) -> pa.DataType:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    return infer_type(count_texts(column), attribute(kind, **keys))


DAYS = ["2020-02-29", "0001-01-01", "9999-12-31", "2000-02-29", "2021-04-30"]
CLOCKS = ["2020-01-01 00:00", "2020-12-31T23:59:59", "2021-02-28 12:30:00.5", "2021-02-28"]
ZONES = ["2020-01-01 00:00Z", "2020-01-01T10:00:00.123456+02:00", "2020-01-01 10:00-0230"]


class TestTypes:
    @pytest.mark.parametrize(
        ("texts", "dtype"),
        [
            (["0", "-1", "999999999999999999", None], pa.int64()),
            (["1", "2.5"], pa.float64()),
            (["1.", ".5", "-1e9", "1E-5", "3.25e+2"], pa.float64()),
            (["999999999999999", "2.5"], pa.float64()),
            (["1", "NaN", "-inf", "Infinity"], pa.float64()),
            (["true", "False", "TRUE"], pa.bool_()),
            (DAYS, pa.date32()),
            (CLOCKS, pa.timestamp("us")),
            ([*CLOCKS, "2020-01-01 10:00:00.123456789"], pa.timestamp("ns")),
            (ZONES, pa.timestamp("us", "UTC")),
            (["01", "02"], pa.string()),
            (["1", "x"], pa.string()),
            (["1", " 2"], pa.string()),
            (["+1"], pa.string()),
            (["1,5"], pa.string()),
            (["1_000"], pa.string()),
            (["0x10"], pa.string()),
            (["true", "0"], pa.string()),
            (["2020-01-01", "x"], pa.string()),
            (["1234567890123456789"], pa.string()),
            ([None, None], pa.int64()),
        ],
        ids=str,
    )
    def test_narrowest(self, texts, dtype):
        assert inferred(texts) == dtype

    @pytest.mark.parametrize(
        ("kind", "texts", "dtype"),
        [
            (Kind.NOMINAL, ["1", "2"], pa.string()),
            (Kind.ORDINAL, ["1", "2"], pa.string()),
            (Kind.NUMERIC, ["1", "2"], pa.int64()),
            (Kind.DATE, DAYS, pa.date32()),
            (Kind.BOOLEAN, ["true", "false"], pa.bool_()),
            (Kind.DATE, [None], pa.date32()),
        ],
    )
    def test_declared(self, kind, texts, dtype):
        assert inferred(texts, kind) == dtype

    @pytest.mark.parametrize(
        "texts", [DAYS, CLOCKS[:-1], ZONES, ["1", ".5", "-1e9", "nan"]], ids=str
    )
    def test_what_is_inferred_reads(self, texts):
        lines = "".join(f"{text},x\n" for text in texts)
        found = parse(lines, {"a": inferred(texts)})["a"]
        assert found.null_count == 0
        assert len(found) == len(texts)

    @repeatable
    @given(st.integers(0, 9999), st.integers(0, 14), st.integers(0, 33))
    def test_days_of_the_calendar(self, year, month, day):
        """A text passes as a date exactly if Arrow reads it as one."""
        text = f"{year:04d}-{month:02d}-{day:02d}"
        column = pa.chunked_array([[text]])
        try:
            parse(f"{text},x\n", {"a": pa.date32()})
            reads = 1
        except DataError:
            reads = 0
        assert count_texts(column).n_dates == reads
        assert count_texts(column).n_dated == 1

    @repeatable
    @given(
        st.integers(0, 26), st.integers(0, 61), st.integers(0, 61), st.integers(0, 7),
        st.sampled_from(["", "Z", "+00:00", "-2359", "+24:00", "+01:60", "+02"]),
    )  # fmt: skip
    def test_times_of_the_day(self, hour, minute, second, n_digits, zone):
        fraction = "." + "1" * n_digits if n_digits else ""
        text = f"2020-01-01 {hour:02d}:{minute:02d}:{second:02d}{fraction}{zone}"
        counts = count_texts(pa.chunked_array([[text]]))
        dtype = pa.timestamp("us", "UTC" if zone else None)
        try:
            parse(f"{text},x\n", {"a": dtype})
            reads = 1
        except DataError:
            reads = 0
        assert (counts.n_zoned if zone else counts.n_times) == reads

    @repeatable
    @given(st.floats())
    def test_every_float_reads(self, value):
        text = repr(value)
        counts = count_texts(pa.chunked_array([[text]]))
        assert counts.n_floats == (abs(value) < 1e18 or "e" in text or not math.isfinite(value))

    @pytest.mark.parametrize(
        ("texts", "kind", "role", "message"),
        [
            (["1", "x", "y"], Kind.NUMERIC, Role.QUASI_IDENTIFIER,
             "the policy says numeric, but 2 of 3 values do not read as numbers"),
            (["1", "x", "y"], None, Role.CONFIDENTIAL,
             "is confidential, but 2 of 3 values do not read as numbers"),
            (["2020-01-01", "2020-01-02", "y"], None, Role.CONFIDENTIAL,
             "is confidential, but 1 of 3 values do not read as dates"),
            (["2020-01-01", "2020-02-30"], None, Role.QUASI_IDENTIFIER,
             "its values look like dates, but 1 of 2 values are none, or are of another form"),
            (["2020-01-01 10:00", "2020-01-01 10:00Z"], None, Role.NON_CONFIDENTIAL,
             "its values look like dates, but 1 of 2 values are none, or are of another form"),
            (["2020-13-01"], Kind.DATE, Role.CONFIDENTIAL,
             "the policy says date, but 1 of 1 values do not read as dates"),
            (["true", "yes"], Kind.BOOLEAN, Role.QUASI_IDENTIFIER,
             "the policy says boolean, but 1 of 2 values do not read as booleans"),
            (["12345678901234567890", "1"], None, Role.CONFIDENTIAL,
             "1 of 2 values do not read as numbers (1 are integers of more than 18 digits)"),
            (["9007199254740993", "-9007199254740992", "1.5"], None, Role.CONFIDENTIAL,
             "2 of 3 values are integers of 16 digits or more, beside decimals"),
        ],
    )  # fmt: skip
    def test_refused(self, texts, kind, role, message):
        with pytest.raises(DataError) as error:
            inferred(texts, kind, role=role)
        assert message in str(error.value)
        assert "input.missing_values" in str(error.value)
        assert not any(text in str(error.value) for text in texts if len(text) > 1)

    @pytest.mark.parametrize(
        ("texts", "n_alike"),
        [
            ([f"1234567890123456{i}.5" for i in range(10)], 8),
            (["0.12345678901234567891", "0.12345678901234567892", "1"], 2),
            (["12345678901234560.0", "12345678901234561.0"], 2),
            (["-1.00000000000000000001e300", "-1.00000000000000000002e300", "0"], 2),
        ],
    )
    def test_different_decimals_that_would_be_the_same(self, texts, n_alike):
        message = (
            f"{n_alike} of its different values are decimals of 16 digits or more, and as numb"
        )
        with pytest.raises(DataError, match=message):
            inferred(texts, role=Role.CONFIDENTIAL)
        assert inferred(texts[:1], role=Role.CONFIDENTIAL) == pa.float64()
        assert inferred(texts, Kind.NOMINAL, role=Role.CONFIDENTIAL) == pa.string()

    def test_different_decimals_of_several_parts_that_would_be_the_same(self):
        texts = ["0.12345678901234567891", "0.12345678901234567892"]
        first, second = (count_texts(pa.chunked_array([[text]])) for text in texts)
        with pytest.raises(DataError, match="2 of its different values"):
            infer_type(first.merge(second), attribute())
        assert infer_type(first.merge(first), attribute()) == pa.float64()

    @pytest.mark.parametrize(
        "texts",
        [
            ["0.1234567890123456", "2.718281828459045", "1.1000000000000001", "1.1"],
            ["33.3333333333333333333", "66.6666666666666666667", "42.5000000000000000000"],
            ["0.12345678901234567891", "0.123456789012345678910"],
            ["0.1000000000000000055511151231257827", "0.10000000000000001", "0.1"],
        ],
    )
    def test_decimals_that_floats_tell_apart(self, texts):
        assert inferred(texts, role=Role.CONFIDENTIAL) == pa.float64()

    @repeatable
    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
           st.integers(15, 30))  # fmt: skip
    def test_floats_of_any_program_are_read(self, values, n_digits):
        texts = [text for v in values for text in (repr(v), f"{v:.{n_digits}e}", f"{v:.16e}")]
        assert inferred([*texts, "0.5"]) == pa.float64()

    def test_confidential_text_is_left_to_the_summary(self):
        assert inferred(["x", "y"], role=Role.CONFIDENTIAL) == pa.string()

    @repeatable
    @given(st.lists(st.sampled_from(["1", "2.5", "x", "2020-01-01", "true", None]), max_size=12),
           st.integers(0, 12))  # fmt: skip
    def test_counts_merge(self, texts, cut):
        pieces = [
            count_texts(pa.chunked_array([pa.array(part, pa.string())]))
            for part in (texts[:cut], texts[cut:], texts)
        ]
        assert pieces[0].merge(pieces[1]) == pieces[2]
        assert TextCounts().merge(pieces[2]) == pieces[2]

    def test_where_the_texts_are(self):
        numbers = count_texts(pa.chunked_array([["1"]]))
        texts = count_texts(pa.chunked_array([["1", "x"]]))
        assert not has_texts(numbers, attribute())
        assert has_texts(texts, attribute())
        assert has_texts(texts, attribute(Kind.NUMERIC))
