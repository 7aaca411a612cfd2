"""Encodings and delimiters that are detected, and first lines that name no columns."""

import pytest

from tclose.errors import DataError
from tclose.policy.suggest.csv_dialect import CsvDialect, detect_dialect

TEXT = "name;größe\r\n" + "Jürgen;1,80\r\nZoë;1,70\r\n" * 20


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("cp1252", "cp1252"), ("latin-1", "cp1252"),
        ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"),
    ],
)  # fmt: skip
def test_encodings(encoding, found, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert detect_dialect(str(path), "a.csv") == CsvDialect(found, ";")


def test_a_letter_at_the_end_of_a_large_file(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 2_000_000 + "3,ü\n".encode("cp1252"))
    assert detect_dialect(str(path), "a.csv").encoding == "cp1252"


def test_bytes_that_cp1252_has_not(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,\x81\xe9\n")
    assert detect_dialect(str(path), "a.csv").encoding == "iso8859-1"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter, tmp_path) -> None:
    """Others stand in quoted fields, in more lines than the delimiter itself would need."""
    path = tmp_path / "a.csv"
    path.write_text(delimiter.join("abc") + "\n" + delimiter.join(['"x,y;z|\t"', "1", "2"]) * 9)
    assert detect_dialect(str(path), "a.csv").delimiter == delimiter


def test_one_column(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    assert detect_dialect(str(path), "a.csv").delimiter == ","


@pytest.mark.parametrize(
    "first",
    [
        "Quecksilber,47,2021-01-06",
        "Quecksilber,q@example.org,x",
        "1.5,06.01.2021 10:05,Zoë",
        f"{'Quecksilber' * 20_000},47,x",  # longer than Python's csv module takes
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_no_header(first, end, tmp_path) -> None:
    """Names of columns go into the policy: they may not be a record's values."""
    path = tmp_path / "a.csv"
    path.write_text(f"{first}{end}" * 5, newline="")
    with pytest.raises(DataError, match="its first line looks like a record") as error:
        detect_dialect(str(path), "a.csv")
    assert not [value for value in first.split(",") if value in str(error.value)]
