"""CSV: records are found and read whatever they hold."""

import csv
import hashlib
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.chunks_of_csv import HEADER, TEXTS, parse
from support.tables.random_tables import repeatable
from tclose.data.files import csv_chunks
from tclose.data.files.csv_chunks import null_where, parse_chunk, scan_layout
from tclose.errors import DataError


def scan(text: str | bytes, chunk_bytes: int = 1 << 24) -> csv_chunks.CsvLayout:
    data = text.encode() if isinstance(text, str) else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_chunks, "CHUNK_BYTES", chunk_bytes)
        return scan_layout(io.BytesIO(data), "x.csv", ",")


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
        assert scan('"a\r\nx","b""\r"\r\n1,2\n').names == ("a\r\nx", 'b"\r')

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
            ('a,b\n1,5" x\n', 2, "inside an unquoted field"),
            ('a,b\n1,2\n3,"4"5\n', 3, "inside an unquoted field"),
            ('a,b\n"1\n2",x"\n', 3, "inside an unquoted field"),
            ('a,b\n1,2\n3, "4"\n', 3, "inside an unquoted field"),
            ('a"x,b\n1,2\n', 1, "inside an unquoted field"),
            ('a,b\n1,2\n3,"4\n5,6\n', 3, "opens a field that is never closed"),
        ],
    )
    @pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
    def test_stray_quotes(self, text, line, what, chunk_bytes):
        with pytest.raises(DataError, match=f"x.csv, line {line}: a quote .*{what}"):
            scan(text, chunk_bytes)

    def test_no_end_of_a_record(self, monkeypatch):
        monkeypatch.setattr(csv_chunks, "MAX_RECORD_BYTES", 50)
        with pytest.raises(DataError, match="no record ends within 50 bytes after line 1; check"):
            scan("a,b\n1," + "2" * 100 + "\n", 10)

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (b"", "has no header line"),
            (b"\n1,2\n", "has no header line"),
            (b"  \n1,2\n", "has no header line"),
            (b"a,b\r1,2\r", "its lines end in CR alone"),
            (b'"a\r",b\r1,2\n3,4\n', "its lines end in CR alone"),
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
