"""Inputs and outputs that are refused: one message that names the place and the remedy."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

from support.cases.people import (
    CONFIDENTIAL,
    QUASI,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from support.checks.refusals import SECRET, csv_of, with_secret


class TestFiles:
    @pytest.mark.parametrize("name", ["nowhere.csv", "nowhere/", "*.csv", "http://[", "gs://a/b"])
    def test_nothing_there(self, name, tmp_path, refuse):
        source = name if "://" in name else str(tmp_path / name)
        document = policy_for(source)
        document["output"]["path"] = str(tmp_path / "releases")
        refuse(document, "input ")

    def test_folder_without_data(self, tmp_path, refuse):
        (tmp_path / "data").mkdir()
        csv_of(tmp_path / "data", "age\n1\n", "notes.txt")
        csv_of(tmp_path / "data", "age\n1\n", "_people.csv")
        refuse(
            policy_for(tmp_path / "data"),
            "no such file, or no CSV or Parquet file in it (of a folder, files whose names end in "
            ".csv, .parquet or .pq are read); name others by a pattern, as in data/*.txt",
        )

    @pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
    def test_empty_file(self, name, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, "", name)), name, "is empty (0 bytes)")

    @pytest.mark.parametrize("text", ["age,sex,pay", "age,sex,pay\n", "age,sex,pay\r\n\r\n"])
    def test_header_only(self, text, tmp_path, refuse):
        refuse(policy_for(csv_of(tmp_path, text)), "people.csv", "has no records")

    @pytest.mark.parametrize("n_groups", [0, 1])
    def test_parquet_without_rows(self, n_groups, tmp_path, refuse):
        table = people().slice(0, 0)
        with pq.ParquetWriter(tmp_path / "people.parquet", table.schema) as writer:
            for _ in range(n_groups):
                writer.write_table(table)
        refuse(policy_for(tmp_path / "people.parquet"), "people.parquet", "has no records")

    def test_parquet_without_rows_has_any_types(self, tmp_path, refuse):
        """As pandas writes a table that filtered all records out: its texts are floats."""
        columns = {name: pa.array([], pa.float64()) for name in ("age", "sex", "pay")}
        pq.write_table(pa.table(columns), tmp_path / "people.parquet")
        roles = {"age": QUASI, "sex": "person", "pay": CONFIDENTIAL}
        policy = policy_for(tmp_path / "people.parquet", attributes=roles)
        refuse(policy, "people.parquet", "has no records")

    @pytest.mark.parametrize(
        "head",
        [b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"],
    )
    def test_compressed(self, head, tmp_path, refuse):
        path = csv_of(tmp_path, head + SECRET.encode() * 9, "people.csv.gz")
        refuse(policy_for(path), "people.csv.gz: is compressed; decompress it first")

    def test_workbook(self, tmp_path, refuse):
        head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        path = csv_of(tmp_path, head + b"age,sex,pay\n" + SECRET.encode() * 9)
        refuse(policy_for(path), "people.csv: is a workbook or document of Microsoft Office")

    @pytest.mark.parametrize(
        ("first", "office"),
        [
            (b"[Content_Types].xml", "Microsoft Office"),
            (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "LibreOffice"),
        ],
    )
    def test_workbook_that_is_an_archive(self, first, office, tmp_path, refuse):
        path = csv_of(tmp_path, b"PK\x03\x04" + bytes(26) + first + SECRET.encode() * 9)
        refuse(policy_for(path), f"people.csv: is a workbook or document of {office} and no CSV")

    @pytest.mark.parametrize(
        ("write", "kind"),
        [(feather.write_feather, "an Arrow or Feather file"), (orc.write_table, "an ORC file")],
    )
    def test_table_of_another_format(self, write, kind, tmp_path, refuse):
        write(people(), str(tmp_path / "people.csv"))
        document = policy_for(tmp_path / "people.csv")
        refuse(document, f"people.csv: is {kind}; write its table as Parquet")

    def test_text_that_begins_as_another_format(self, tmp_path):
        table = people().rename_columns(["ORC", "sex", "pay"])
        path = write_csv(tmp_path / "people.csv", table)
        document = policy_for(path)
        document["attributes"]["ORC"] = document["attributes"].pop("age")
        assert release(document).table.column_names == ["ORC", "sex", "pay"]

    def test_text_between_the_marks_of_parquet(self, tmp_path, refuse):
        path = csv_of(tmp_path, f"PAR1 {SECRET} PAR1", "people.parquet")
        refuse(policy_for(path), "people.parquet: is not a complete Parquet file")

    def test_compressed_file_of_a_folder_is_not_left_out(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        csv_of(folder, b"\x1f\x8b\x08", "b.csv.gz")
        refuse(policy_for(folder), "b.csv.gz: is compressed; decompress it first")

    def test_output_within_the_input(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        document = policy_for(folder, output={"path": str(folder / "releases")})
        refuse(document, "output.path lies in it", "choose another output.path")

    def test_output_within_the_pattern(self, tmp_path, refuse):
        document = policy_for(tmp_path / "**" / "*.parquet")
        document["output"]["path"] = str(tmp_path / "releases")
        write_parquet(tmp_path / "a.parquet", people())
        old = tmp_path / "releases" / "people" / "0" / "data"
        old.mkdir(parents=True)
        write_parquet(old / "part-00000.parquet", people())
        refuse(document, "output.path lies in it", "choose another output.path")

    def test_column_named_twice(self, tmp_path, refuse):
        path = csv_of(tmp_path, f"age,age,pay\n1,{SECRET},3\n")
        refuse(policy_for(path), "people.csv: columns 1 and 2 of 3 have the same name; rename them")
        arrays = [pa.array([1, 2]), pa.array([3, 4])]
        twice = pa.Table.from_arrays(arrays, names=["age", "age"])
        path = write_parquet(tmp_path / "people.parquet", twice)
        refuse(
            policy_for(path), "people.parquet: columns 1 and 2 of 2 have the same name; rename them"
        )

    @pytest.mark.parametrize("blocked", ["a file", "/proc"])
    def test_output_that_cannot_be_written(self, blocked, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", people())
        output = path / "below" if blocked == "a file" else Path("/proc/tclose/releases")
        refuse(policy_for(path, output={"path": str(output)}), str(output), "cannot be written")

    def test_output_that_is_a_file(self, tmp_path, refuse):
        path = write_csv(tmp_path / "people.csv", people())
        refuse(policy_for(path, output={"path": str(path)}), "cannot be written", "choose another")


class TestSeveralFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        made = tmp_path / "data"
        made.mkdir()
        write_parquet(made / "a.parquet", people())
        return made

    def test_missing_column(self, folder, refuse):
        write_parquet(folder / "b.parquet", with_secret().drop_columns("pay"))
        refuse(policy_for(folder), "a.parquet and b.parquet: column 'pay' is in a.parquet only")

    def test_files_of_one_name(self, tmp_path, refuse):
        folder = tmp_path / "data"
        for part, table in (("m=1", people()), ("m=2", with_secret().drop_columns("pay"))):
            (folder / part).mkdir(parents=True)
            write_csv(folder / part / "a.csv", table)
        said = "files m=1/a.csv and m=2/a.csv: column 'pay' is in m=1/a.csv only"
        assert str(tmp_path) not in refuse(policy_for(folder), said)

    def test_broken_file_among_files_of_one_name(self, tmp_path, refuse):
        folder = tmp_path / "data"
        for part, text in (("m=1", "age,sex,pay\n1,m,2\n"), ("m=2", "")):
            (folder / part).mkdir(parents=True)
            csv_of(folder / part, text, "a.csv")
        refuse(policy_for(folder), "file m=2/a.csv: is empty (0 bytes)")

    def test_other_type(self, folder, refuse):
        write_parquet(folder / "b.parquet", with_secret("age"))
        refuse(policy_for(folder), "column 'age' is int64 in one, string in the other")

    def test_other_type_of_text(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_parquet(folder / "a.parquet", people(sex=people()["sex"].cast(pa.large_string())))
        write_parquet(folder / "b.parquet", people(sex=people()["sex"].dictionary_encode()))
        said = "column 'sex' is large_string in one, dictionary of string in the other; store it as"
        refuse(policy_for(folder), said)

    def test_csv_and_parquet(self, folder, refuse):
        write_csv(folder / "b.csv", with_secret())
        refuse(policy_for(folder), "a.parquet and b.csv: one is CSV, one is Parquet")

    def test_csv_columns_in_another_order(self, tmp_path, refuse):
        folder = tmp_path / "data"
        folder.mkdir()
        write_csv(folder / "a.csv", people())
        write_csv(folder / "b.csv", with_secret().select(["pay", "sex", "age"]))
        refuse(policy_for(folder), "a.csv and b.csv: their columns are in different orders")
