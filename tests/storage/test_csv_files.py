"""CSV: records are found whatever they hold, and a column's type is that of all its values."""

import csv
import hashlib
import io
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.model import Attribute, Kind, Role
from pipeline.storage import csv_files
from pipeline.storage.csv_files import (
    TextCounts,
    count_texts,
    has_texts,
    infer_type,
    null_where,
    parse_chunk,
    scan_layout,
)
from support.tables import repeatable

HEADER = ("a", "b")
TEXTS = {name: pa.string() for name in HEADER}


def scan(text: str | bytes, chunk_bytes: int = 1 << 24) -> csv_files.Layout:
    data = text.encode() if isinstance(text, str) else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "CHUNK_BYTES", chunk_bytes)
        return scan_layout(io.BytesIO(data), "x.csv", ",")


def parse(text: str, types: dict | None = None, missing: tuple[str, ...] = ()) -> pa.Table:
    return parse_chunk(text.encode(), "x.csv", HEADER, types or TEXTS, missing, ",")


def attribute(kind: Kind | None = None, role: Role = Role.QUASI_IDENTIFIER) -> Attribute:
    return Attribute("c", role, kind)


def inferred(texts: list[str | None], kind: Kind | None = None, **keys: Role) -> pa.DataType:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    return infer_type(count_texts(column), attribute(kind, **keys))


class TestLayout:
    def test_names_digest_and_chunks(self):
        text = 'a,"b ""c"""\n1,2\n3,4\n'
        layout = scan(text)
        assert layout.names == ("a", 'b "c"')
        assert layout.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert layout.n_bytes == len(text)
        assert layout.chunks == ((text.index("\n") + 1, len(text)),)

    @pytest.mark.parametrize("end", ["", "\n", "\r\n"])
    def test_header_alone(self, end):
        assert scan(f"a,b{end}").chunks == ()
        assert scan(f"a,b{end}").names == HEADER

    def test_byte_order_mark(self):
        text = b"\xef\xbb\xbfa,b\n1,2\n"
        assert scan(text).names == HEADER
        assert scan(text).chunks == ((7, len(text)),)
        assert scan(b'\xef\xbb\xbf"a","b"\n1,2\n').names == HEADER

    def test_header_over_two_lines(self):
        assert scan('"a\nx","b"\r\n1,2\n').names == ("a\nx", "b")

    def test_names_as_they_stand(self):
        assert scan(" a, ,ü.b,\n").names == (" a", " ", "ü.b", "")

    rows = st.lists(
        st.tuples(*[st.text(st.sampled_from('ab,";\n\r é'), max_size=6)] * 2),
        min_size=1,
        max_size=12,
    )

    @repeatable
    @given(rows, st.integers(1, 60), st.sampled_from(["\n", "\r\n"]), st.booleans())
    def test_records_of_any_text(self, rows, chunk_bytes, line_end, last_end):
        """Against Python's csv module, which writes what is read here."""
        written = io.StringIO(newline="")
        csv.writer(written, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(
            [HEADER, *rows]
        )
        text = written.getvalue() if last_end else written.getvalue().removesuffix(line_end)
        data = text.encode()
        layout = scan(data, chunk_bytes)
        assert [b for _, b in layout.chunks[:-1]] == [a for a, _ in layout.chunks[1:]]
        pieces = [data[start:stop] for start, stop in layout.chunks]
        tables = [parse_chunk(piece, "x.csv", HEADER, TEXTS, (), ",") for piece in pieces]
        found = pa.concat_tables(tables).to_pylist()
        assert [(r["a"] or "", r["b"] or "") for r in found] == rows

    @pytest.mark.parametrize(
        ("text", "line", "what"),
        [
            ('a,b\n1,5" x\n', 2, "inside a field that is not quoted"),
            ('a,b\n1,2\n3,"4"5\n', 3, "inside a field that is not quoted"),
            ('a,b\n"1\n2",x"\n', 3, "inside a field that is not quoted"),
            ('a,b\n1,2\n3, "4"\n', 3, "inside a field that is not quoted"),
            ('a"x,b\n1,2\n', 1, "inside a field that is not quoted"),
            ('a,b\n1,2\n3,"4\n5,6\n', 3, "opens a field that is never closed"),
        ],
    )
    @pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
    def test_stray_quotes(self, text, line, what, chunk_bytes):
        with pytest.raises(DataError, match=f"x.csv, line {line}: a quote .*{what}"):
            scan(text, chunk_bytes)

    def test_no_end_of_a_record(self, monkeypatch):
        monkeypatch.setattr(csv_files, "MAX_RECORD_BYTES", 50)
        with pytest.raises(DataError, match="no record ends within 50 bytes after line 1; check"):
            scan("a,b\n1," + "2" * 100 + "\n", 10)

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (b"", "has no header line"),
            (b"\n1,2\n", "has no header line"),
            (b"  \n1,2\n", "has no header line"),
            (b"a,b\r1,2\r", "its lines end in CR alone"),
            ("a,b\n1,2\n".encode("utf-16-le"), "cannot be read as CSV in UTF-8"),
            (b"\xe9,b\n1,2\n", "cannot be read as CSV in UTF-8"),
        ],
    )
    def test_no_header(self, data, what):
        with pytest.raises(DataError, match=f"file x.csv: .*{what}"):
            scan(data)


class TestParse:
    def test_missing(self):
        found = parse('1,\n"",NA\n"NA",3\n', {"b": pa.int64(), "a": pa.string()}, ("NA",))
        assert found.to_pydict() == {"b": [None, None, 3], "a": ["1", None, None]}

    def test_blank_lines_are_no_records(self):
        assert len(parse("\n\r\n")) == 0
        assert len(parse("\n1,2\n\n3,4\n\n")) == 2

    def test_long_record(self):
        text = "x" * 3_000_000
        assert parse(f'1,"{text}"\n3,4\n')["b"].to_pylist() == [text, "4"]

    @pytest.mark.parametrize(("line", "n_fields"), [("hush", 1), ("hush,2,3", 3)])
    def test_ragged(self, line, n_fields):
        with pytest.raises(
            DataError, match=rf"has {n_fields} fields .* 2 \(record 2 after byte 90\)"
        ) as e:
            parse_chunk(f"1,2\n{line}\n".encode(), "x.csv", HEADER, TEXTS, (), ",", 90)
        assert "hush" not in str(e.value)

    def test_not_utf8(self):
        with pytest.raises(DataError, match="column 'b' holds text that is not UTF-8"):
            parse_chunk(b"1,\xff\n", "x.csv", HEADER, TEXTS, (), ",")

    def test_text_that_has_come_since(self):
        with pytest.raises(DataError, match="column 'b' holds a text that does not read as") as e:
            parse("1,2\n1,hush\n", {"b": pa.int64()})
        assert "hush" not in str(e.value)

    def test_null_where(self):
        column = pa.chunked_array([["a", "b", None]])
        assert null_where(column, ["b", "c"]).to_pylist() == ["a", None, None]


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
        ],
    )  # fmt: skip
    def test_refused(self, texts, kind, role, message):
        with pytest.raises(DataError) as error:
            inferred(texts, kind, role=role)
        assert message in str(error.value)
        assert "input.missing_values" in str(error.value)
        assert not any(text in str(error.value) for text in texts if len(text) > 1)

    def test_confidential_text_is_left_to_the_stage(self):
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
