"""Encodings of CSV: which are read, and that the same records come of all of them."""

import codecs
import io
from pathlib import Path

import pyarrow as pa
import pytest

from support.cases.people import look_at
from tclose.data.files.character_sets import check_encoding, settle_encoding
from tclose.data.files.input_partitions import Reading, csv_partitions, read_partition
from tclose.errors import DataError

RECORDS = [
    ("Größe", "Straße"),
    ("1", 'ein "Wort"'),
    ("2", "Zeile\nzwei"),
    ("3", "naïve"),
    ("4", "é"),
]
ALL = ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be")


def write(path: Path, encoding: str, n_times: int = 50) -> Path:
    rows = [RECORDS[0], *RECORDS[1:] * n_times]
    text = "".join(
        ",".join(f'"{f.replace(chr(34), chr(34) * 2)}"' for f in r) + "\r\n" for r in rows
    )
    path.write_bytes(text.encode(encoding))
    return path


def read(path: Path, encoding: str) -> tuple[int, pa.Table]:
    """The number of pieces, and the table of all of them."""
    content = look_at(path, encoding=encoding)
    names = tuple(content.schema.names)
    reading = Reading(names, (pa.string(),) * 2, names, (), ",", check_encoding(encoding))
    pieces = csv_partitions([content])
    return len(pieces), pa.concat_tables([read_partition(piece, reading) for piece in pieces])


@pytest.mark.parametrize("encoding", ALL)
@pytest.mark.parametrize("chunk", [64, 101, 1 << 20])
def test_same_records_however_they_are_cut(encoding, chunk, tmp_path, sizes) -> None:
    """Cuts are places in the file: a byte off and a record would be lost or have other letters."""
    sizes.pieces(csv_bytes=chunk)
    n_pieces, table = read(write(tmp_path / "a.csv", encoding), encoding)
    assert n_pieces > 5 or chunk > 1_000
    assert table.column_names == list(RECORDS[0])
    assert list(zip(*table.to_pydict().values(), strict=True)) == RECORDS[1:] * 50


def test_beyond_the_basic_plane(tmp_path, sizes) -> None:
    sizes.pieces(csv_bytes=33)  # cuts characters, and halves of them
    path = tmp_path / "a.csv"
    path.write_bytes(("a,b\n" + "\U0001f600,ü\n" * 40).encode("utf-16"))
    assert read(path, "utf-16")[1].to_pydict() == {"a": ["\U0001f600"] * 40, "b": ["ü"] * 40}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("latin1", "iso8859-1"),
        ("UTF8", "utf-8"),
        ("windows-1252", "cp1252"),
        ("UTF-16LE", "utf-16-le"),
    ],
)
def test_one_name_for_an_encoding(name, known) -> None:
    assert check_encoding(name) == known


@pytest.mark.parametrize("name", ["rot13", "shift_jis", "utf-7", "none", "", "base64", "a\0b"])
def test_refused_encodings(name) -> None:
    with pytest.raises(ValueError, match="has to be utf-8, utf-16, or a character set of one byte"):
        check_encoding(name)


def test_utf16_without_a_mark() -> None:
    with pytest.raises(DataError, match="does not begin with a byte order mark"):
        settle_encoding(io.BytesIO("a,b\n".encode("utf-16-le")), "a.csv", "utf-16")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-be"])
def test_utf16_that_is_declared_another(encoding, tmp_path) -> None:
    """Its quotes stand beside zeros, and would be said to be wrong."""
    path = tmp_path / "a.csv"
    path.write_bytes(codecs.BOM_UTF16_LE + 'a,b\n"1","2"\n'.encode("utf-16-le"))
    with pytest.raises(DataError, match=r"a\.csv: .* begins with a byte order mark of UTF-16"):
        read(path, encoding)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"a,b\n1,\x81\n", "cp1252"),
        (b"\xff\xfea\0,\0b\0\n\0\x00\xd8\n\0", "utf-16"),
        (b"\xff\xfea", "utf-16"),
    ],
)
def test_bytes_of_no_text(data, encoding, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.csv: holds bytes that are no text in"):
        read(path, encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16-le", "utf-16"])
def test_a_mark_of_utf8_under_another_encoding(encoding, tmp_path) -> None:
    """The first column would be called by the mark, and other letters would be wrong."""
    with pytest.raises(DataError, match=r"a.csv: begins with a byte order mark of UTF-8.*utf-8, "):
        read(write(tmp_path / "a.csv", "utf-8-sig"), encoding)
