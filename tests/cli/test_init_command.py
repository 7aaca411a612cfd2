"""The command init: from a table to a policy that runs once its roles are confirmed."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.suggestions.known_tables import german_payroll, known_tables
from support.cases.people import N_PEOPLE, people, write_csv, write_parquet
from tclose.cli.main import main
from tclose.data.files.input_files import open_input
from tclose.model.column_terms import Role
from tclose.policy.policy import load_policy
from tclose.policy.suggest import input_sample

GENERATED = [table for table in known_tables() if table.write.__name__ == "write"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def confirm(policy: Path) -> None:
    """Delete the three lines below `unconfirmed`, as somebody would who agrees."""
    text = policy.read_text(encoding="utf-8")
    lines = re.search(r"^unconfirmed:.*\n((?:  .*\n)+)", text, re.MULTILINE)
    assert lines is not None
    assert lines[1].count("\n") == 3
    policy.write_text(text.replace(lines[1], ""), encoding="utf-8")


def test_blanks_around_numbers_are_to_be_looked_at(tmp_path, capsys) -> None:
    lines = [f"{i % 70},{' ' * (i % 2)}{i},{'ab'[i % 2]}" for i in range(300)]
    (tmp_path / "staff.csv").write_text("\n".join(["age,income,sex", *lines]) + "\n")
    assert main(["init", "staff.csv"]) == 0
    printed = capsys.readouterr().out
    assert "look at income: numbers or dates with blanks before or after them" in printed
    assert printed.count("blanks before") == 1


@pytest.mark.parametrize(("broken", "n_notes"), [(b"", 0), (b"3,Gen\xe8ve,x,9\n", 1)])
def test_a_file_that_is_nearly_utf8_is_to_be_looked_at(broken, n_notes, tmp_path, capsys) -> None:
    """One line of another encoding makes all others two characters for each letter."""
    towns = ("Zürich", "Bern", "Genève")
    lines = [f"{i % 70},{towns[i % 3]},{'ab'[i % 2]},{i}\n" for i in range(300)]
    data = "".join(["age,town,sex,pay\n", *lines]).encode() + broken
    (tmp_path / "in.csv").write_bytes(data)
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    assert said.count("look at town: 2 of 4 values look like UTF-8") == n_notes
    assert said.count("look like UTF-8") == n_notes


def test_signs_of_numbers_are_to_be_looked_at(tmp_path, capsys) -> None:
    lines = [
        f"{i % 70},{'+-'[i % 2]}{i % 90},{i % 101} %,{i},,+4912345{i:04},"
        f'"$1,{i:03}.50",{i % 80} kg,{i % 40}{"abcd"[i % 4]}'
        for i in range(300)
    ]
    names = "age,change,share,pay,none,reach,cost,weight,house"
    (tmp_path / "in.csv").write_text("\n".join([names, *lines]) + "\n")
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    for name in ("change", "share", "cost", "weight"):
        assert f"look at {name}: numbers with plus or percent signs" in said
    assert said.count("percent signs") == 4


def test_numbers_that_a_run_refuses_are_to_be_looked_at(tmp_path, capsys) -> None:
    """Each with what can be done; a plan of the policy says the same."""
    n = 300
    columns = {
        "age": pa.array([i % 70 for i in range(n)]),
        "big": pa.array([2**63 + i % 9 for i in range(n)], pa.uint64()),
        "wide": pa.array([i % 7 for i in range(n)]).cast(pa.decimal128(38, 0)),
        "gaps": pa.array([float("nan") if i % 50 == 0 else i % 11 / 2 for i in range(n)]),
        "small": pa.array([i % 9 for i in range(n)], pa.uint64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    assert main(["init", "in.parquet"]) == 0
    said = capsys.readouterr().out
    assert "look at big: integers beyond the signed 64-bit range" in said
    assert "look at wide: decimals of more than 18 digits" in said
    assert "look at gaps: 6 NaN or infinite values" in said
    assert said.count("which a run refuses") == 3
    assert main(["plan", "in.yaml", "--quiet"]) == 2


def test_years_of_two_digits_that_are_to_come_are_to_be_looked_at(tmp_path, capsys) -> None:
    lines = [f"{i % 28 + 1}.03.{40 + i % 60},{i % 28 + 1}.04.{i % 20:02d},{i}" for i in range(300)]
    lines += ["?,?,7"] * 9
    (tmp_path / "in.csv").write_text("\n".join(["born,seen,pay", *lines]) + "\n")
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    assert "look at born: 145 dates read as days to come, as years of two digits" in said
    assert "look at seen" not in said


def test_days_that_stand_for_none_are_to_be_looked_at(tmp_path, capsys) -> None:
    """Classes would release means with them; one alone may be somebody's."""
    lines = [
        f"{'1900-01-01' if i % 50 == 0 else f'{1940 + i % 60}-03-{i % 28 + 1:02}'},"
        f"{'1900-01-01' if i == 7 else f'{1940 + i % 60}-03-04'},"
        f"{'31.12.9999' if i % 90 == 0 else f'04.05.20{i % 20:02}'},{i}"
        for i in range(300)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["born,mother,left,pay", *lines]) + "\n")
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    assert "look at born: 6 records have a day far from all others, which may stand for" in said
    assert "look at left: 4 records have a day far from all others" in said
    assert "look at mother" not in said


def test_codes_that_read_as_numbers_with_exponents_are_to_be_looked_at(tmp_path, capsys) -> None:
    lines = [f"{i % 70},{i % 9}E{i % 5},{i % 7}.5e{i % 3},{i}" for i in range(300)] + ["1,NA,2,3"]
    (tmp_path / "in.csv").write_text("\n".join(["age,room,gain,pay", *lines]) + "\n")
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    assert "look at room: all are digits around an E, read as numbers" in said
    assert said.count("around an E") == 1


def test_times_and_numbers_of_days_are_to_be_looked_at(tmp_path, capsys) -> None:
    """Both were left out as identifiers, of which nothing was said."""
    lines = [
        f"{i % 70},{i * 7 % 24}:{i * 11 % 60:02},{45658 + i * 37 % 365},{21000 + i * 61 % 700},"
        f"{20000 + i * i % 9973},{i % 40}"
        for i in range(300)
    ]
    head = "age,arrived,seen,birth_date,salary,pay"
    (tmp_path / "in.csv").write_text("\n".join([head, *lines]) + "\n")
    assert main(["init", "in.csv"]) == 0
    said = capsys.readouterr().out
    assert "look at arrived: texts that look like times of day" in said
    assert "look at seen: numbers that may be days as spreadsheets have them" in said
    assert "look at birth_date: numbers that may be days" in said
    assert said.count("may be days") == 2


def test_spellings_of_one_value_are_to_be_looked_at(tmp_path, capsys) -> None:
    """Of categories, and of persons, who would be two; not of texts that are no release's."""
    lines = [
        f"{'pP'[i % 2]}{i // 3:04d},{'mM'[i % 2]},{'aA'[i % 2]}{i // 2},{i % 7 * 100}"
        for i in range(300)
    ]
    path = tmp_path / "stays.csv"
    path.write_text("patient_id,sex,remark,pay\n" + "\n".join(lines) + "\n")
    assert main(["init", str(path)]) == 0
    said = capsys.readouterr().out
    assert "look at sex: 2 of 2 values differ from another one in capitals" in said
    assert re.search(r"look at patient_id: .*; \d+ of \d+ values differ from another one", said)
    assert "look at remark" not in said


def test_from_a_foreign_export_to_a_release(tmp_path, capsys) -> None:
    """Init, three confirmations, run."""
    german_payroll(3_000).write(tmp_path)
    assert main(["init", "payroll.csv"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "read all 3,000 records; CSV, delimiter ';', cp1252, decimal mark ',', thousands '.', "
        "dates %d.%m.%Y\nsuggested: 4 identifier, 7 quasi-identifier, 2 confidential\n"
    )
    assert printed.endswith(
        "wrote payroll.yaml; confirm its roles, then: tclose plan payroll.yaml\n"
    )
    assert main(["plan", "payroll.yaml", "--quiet", "--sample=200"]) == 0
    assert main(["run", "payroll.yaml", "--quiet"]) == 2
    assert "unconfirmed: the roles of its columns are suggestions" in capsys.readouterr().err
    assert not Path("releases").exists()
    confirm(Path("payroll.yaml"))
    assert main(["run", "payroll.yaml", "--quiet", "--set", "method.refine=lean"]) == 0
    assert "verdict           PASS" in capsys.readouterr().out


@pytest.mark.parametrize("table", GENERATED, ids=lambda table: table.name)
def test_no_values_are_written_or_said(table, tmp_path, capsys) -> None:
    """But for orders of a scale: of columns that are no secret, and that many records have."""
    path = table.write(tmp_path)
    assert main(["init", str(path), "--out", "policy.yaml"]) == 0
    text = Path("policy.yaml").read_text(encoding="utf-8") + "".join(capsys.readouterr())
    policy = load_policy("policy.yaml")
    ordered = {name for name, a in policy.attributes.items() if a.order}
    assert all(policy.attributes[n].role is Role.QUASI_IDENTIFIER for n in ordered)
    if table.encoding is None:
        return
    with open_input(str(path)) as stream:
        data = stream.read().decode(table.encoding).encode()
    options = pv.ConvertOptions(column_types=dict.fromkeys(policy.attributes, pa.string()))
    parse = pv.ParseOptions(delimiter=table.delimiter)
    values = pv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=options)
    names = " ".join(policy.attributes)
    for name in set(values.column_names) - ordered:
        for value in values[name].unique().drop_null().to_pylist():
            is_long = len(value) > 4 and value not in names
            assert not is_long or value not in text, name


def test_words_for_people_are_asked_for(tmp_path) -> None:
    """The lines of `about` are a comment, and a section that says nothing once it is none."""
    write_csv(tmp_path / "people.csv", people())
    assert main(["init", "people.csv"]) == 0
    text = Path("people.yaml").read_text()
    assert load_policy("people.yaml").about is None
    head, lines = text.split("# about:\n")
    keys = re.findall(r"^#   (\w+):$", lines, re.MULTILINE)
    assert {"title", "contact", "licence", "citation"} <= set(keys)
    Path("people.yaml").write_text(head + "about:\n" + re.sub("(?m)^#", "", lines))
    about = load_policy("people.yaml").about
    assert about is not None
    assert not about.model_dump(exclude_none=True)


def test_schema_for_editors(tmp_path) -> None:
    write_csv(tmp_path / "people.csv", people())
    assert main(["init", "people.csv", "--out", "a.yaml"]) == 0
    text = Path("a.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=tclose.schema.json\n")
    schema = json.loads(Path("tclose.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(text), schema)
    lines = r"^  (identifier|quasi-identifier|confidential): \[.*\n"
    confirmed = yaml.safe_load(re.sub(lines, "", text, flags=re.MULTILINE))
    assert confirmed["unconfirmed"] is None
    jsonschema.validate(confirmed, schema)
    Path("tclose.schema.json").write_text("mine")
    assert main(["init", "people.csv", "--out", "b.yaml"]) == 0
    assert Path("tclose.schema.json").read_text() == "mine"


def test_a_schema_of_others_in_another_character_set(tmp_path) -> None:
    Path("tclose.schema.json").write_bytes(b"\xff\xfe")
    write_csv(tmp_path / "people.csv", people())
    assert main(["init", "people.csv"]) == 0
    assert load_policy("people.yaml").unconfirmed
    assert Path("tclose.schema.json").read_bytes() == b"\xff\xfe"


def test_every_column_is_in_the_policy_and_waits(tmp_path) -> None:
    odd = {"no": [1, 2] * 30, "": [1, 2] * 30, "a: b #c": ["x", "y"] * 30, "null": [3, 4] * 30}
    table = people(**odd, nested=[{"a": 1}] * 60)
    write_parquet(tmp_path / "people.parquet", table)
    assert main(["init", "people.parquet"]) == 0
    policy = load_policy("people.yaml")
    assert set(policy.attributes) == set(table.column_names)
    waiting = [name for names in policy.unconfirmed.values() for name in names]
    assert sorted(waiting) == sorted(table.column_names)
    assert policy.attributes["nested"].role is Role.IDENTIFIER
    assert policy.attributes[""].role is Role.IDENTIFIER


def test_sample_is_said(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(input_sample, "SAMPLE_RECORDS", 2_000)
    german_payroll(6_000).write(tmp_path)
    assert main(["init", "payroll.csv"]) == 0
    assert "read 2,000 of 6,000 records, taken evenly; CSV" in capsys.readouterr().out
    assert "from 2,000 of 6,000 records, taken evenly" in Path("payroll.yaml").read_text()


def test_folder_of_files(tmp_path, capsys) -> None:
    (tmp_path / "in").mkdir()
    for i in range(12):
        write_csv(tmp_path / "in" / f"{i:02d}.csv", people())
    assert main(["init", "in"]) == 0
    assert "read 480 records of 8 of 12 files, taken evenly" in capsys.readouterr().out
    assert load_policy("in.yaml").name == "in"


def test_commands_to_go_on_with_can_be_copied(tmp_path, capsys) -> None:
    write_csv(tmp_path / "a.csv", people())
    assert main(["init", "a.csv", "--out", "my first.yaml"]) == 0
    assert "then: tclose plan 'my first.yaml'\n" in capsys.readouterr().out
    head = Path("my first.yaml").read_text(encoding="utf-8")
    assert "tclose plan 'my first.yaml', then tclose run 'my first.yaml'\n" in head


def test_names_of_files_lose_accents_and_keep_their_letters(tmp_path) -> None:
    write_csv(tmp_path / "Größe à Köln.csv", people())
    assert main(["init", "Größe à Köln.csv"]) == 0
    assert load_policy("Grosse-a-Koln.yaml").name == "Grosse-a-Koln"


@pytest.mark.parametrize(
    "stem", ["2024", "2024.06", "1.5", "1e5", "+1", "true", "null", "007", "2024-06-01"]
)
def test_files_whose_names_read_as_other_values(stem, tmp_path) -> None:
    """A release is named by a text, which the file's name is not where YAML reads it as it is."""
    write_csv(tmp_path / f"{stem}.csv", people())
    assert main(["init", f"{stem}.csv", "--out", "policy.yaml"]) == 0
    assert load_policy("policy.yaml").name == stem.strip("+")


def test_a_header_that_only_the_reader_of_runs_takes(tmp_path) -> None:
    """Python's csv module has a limit to a field's length, which runs do not have."""
    name = "x" * 140_000
    lines = [f"{i % 7},{'mf'[i % 2]}" for i in range(60)]
    (tmp_path / "wide.csv").write_text("\n".join([f"age,{name}", *lines]) + "\n")
    assert main(["init", "wide.csv"]) == 0
    assert list(load_policy("wide.yaml").attributes) == ["age", name]


def test_a_column_of_csv_that_begins_as_parquet_does(tmp_path) -> None:
    write_csv(tmp_path / "people.csv", people().rename_columns(["PAR1", "sex", "pay"]))
    (tmp_path / "people.csv").write_text((tmp_path / "people.csv").read_text().replace('"', ""))
    assert main(["init", "people.csv"]) == 0
    assert list(load_policy("people.yaml").attributes) == ["PAR1", "sex", "pay"]


@pytest.mark.parametrize("name", ["\U0001f600\u200b", "a\x7f", "\u2028: #\U000e0001"])
def test_names_that_are_not_printable(name, tmp_path) -> None:
    write_parquet(tmp_path / "people.parquet", people().append_column(name, people()["sex"]))
    assert main(["init", "people.parquet"]) == 0
    assert name in load_policy("people.yaml").attributes


@pytest.mark.parametrize("name", ["x" * 1024, "x" * 1025, "é, " * 341, "é, " * 342, "\u200b" * 500])
def test_long_names_of_columns(name, tmp_path) -> None:
    """YAML takes a key of more than 1,024 characters only where it is marked as one."""
    table = people().append_column(name, people()["sex"])
    write_parquet(tmp_path / "people.parquet", table)
    assert main(["init", "people.parquet"]) == 0
    assert list(load_policy("people.yaml").attributes)[-2:] == [name, "pay"]


@pytest.mark.filterwarnings("error")
def test_numbers_whose_range_has_no_float(tmp_path: Path) -> None:
    values = [1.7e308, -1.7e308] * (N_PEOPLE // 2)
    write_parquet(tmp_path / "people.parquet", people(age=values))
    assert main(["init", str(tmp_path / "people.parquet"), "--out", str(tmp_path / "p.yaml")]) == 0


class TestRefusals:
    def refused(self, capsys, *arguments: str) -> str:
        before = sorted(Path().rglob("*"))
        assert main(["init", *arguments]) == 2
        assert sorted(Path().rglob("*")) == before
        printed, message = capsys.readouterr()
        assert printed == ""
        return str(message)

    def test_policy_that_is_there(self, tmp_path, capsys):
        write_csv(tmp_path / "people.csv", people())
        Path("people.yaml").write_text("mine")
        message = self.refused(capsys, "people.csv")
        assert (
            message == "tclose: people.yaml exists already; remove it, or name another by --out\n"
        )
        assert Path("people.yaml").read_text() == "mine"

    def test_no_header(self, capsys):
        Path("a.csv").write_text("Ann,34,1.5\nBea,35,1.6\n")
        assert "put a line of column names above it" in self.refused(capsys, "a.csv")

    def test_first_line_of_texts_that_occur_again(self, capsys):
        Path("a.csv").write_text("m,town\n" + "f,town\nm,land\n" * 9)
        message = self.refused(capsys, "a.csv")
        assert "the first line has what is also among the records in 2 of 2 columns" in message

    def test_files_of_one_name_in_two_folders(self, tmp_path, capsys):
        for part, table in (("m=1", people()), ("m=2", people().drop_columns("pay"))):
            (tmp_path / "in" / part).mkdir(parents=True)
            write_csv(tmp_path / "in" / part / "a.csv", table)
        assert "files m=1/a.csv and m=2/a.csv: column 3" in self.refused(capsys, "in")

    def test_columns_that_differ_before_there_is_a_policy(self, tmp_path, capsys):
        (tmp_path / "in").mkdir()
        for name, head in (("a", "age,pay"), ("b", "age,pay,town"), ("c", "30,7")):
            (tmp_path / "in" / f"{name}.csv").write_text(f"{head}\n" + "1,2\n" * 9)
        assert (
            "files a.csv and b.csv: column 3 of 3 in b.csv is not in the other; make them alike\n"
        ) in self.refused(capsys, "in")
        (tmp_path / "in" / "b.csv").unlink()
        assert (
            "columns 1 and 2 of 2 in c.csv are not in the other; make them alike; look at both: "
            "if it has no line of column names, put one above its records"
        ) in self.refused(capsys, "in")

    def test_nothing_but_identifiers(self, capsys):
        Path("a.csv").write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(60)))
        assert "each of its 2 columns looks like an identifier" in self.refused(capsys, "a.csv")

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("", "is empty"),
            ("a,b\n", "has no records"),
            ("a,b\n1,2,3\n", "a record has 3 fields"),
            ("a,b\r1,2\r", "file a.csv: its lines end in CR alone; convert them to LF or CR LF"),
            ("\n\n\n", "file a.csv: has no header line; the first line has to name the columns"),
            ("PAR1 of text PAR1", "file a.csv: is not a complete Parquet file"),
            ("\ufeff", "file a.csv: has no header line; the first line has to name the columns"),
        ],
    )
    def test_files_without_records(self, content, reason, capsys):
        Path("a.csv").write_text(content, encoding="utf-8", newline="")
        assert reason in self.refused(capsys, "a.csv")

    def test_workbook(self, capsys):
        Path("a.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"a,b\n1,2\n" * 9)
        message = self.refused(capsys, "a.xls")
        assert "file a.xls: is a workbook or document of Microsoft Office and no CSV" in message

    def test_no_such_file(self, capsys):
        assert "input a.csv: no such file" in self.refused(capsys, "a.csv")


@pytest.mark.nightly
def test_few_missing_values_get_a_centre(tmp_path: Path) -> None:
    """Of what others may know; of many, and of confidential ones, the records are left out."""
    table, rng = people(2_000), np.random.default_rng(2)
    table = table.append_column("town", pa.array(rng.choice(["Bonn", "Oslo", "Lyon"], 2_000)))
    table = table.append_column("patient_id", pa.array(np.arange(2_000)))
    table = table.append_column("insurance", pa.array(rng.choice(["low", "high"], 2_000)))
    for name, share in {"age": 0.02, "town": 0.03, "insurance": 0.1, "pay": 0.01}.items():
        column = table[name].combine_chunks()
        gaps = pa.array(rng.random(2_000) < share)
        column = pc.if_else(gaps, pa.scalar(None, column.type), column)
        table = table.set_column(table.column_names.index(name), name, column)
    write_csv(tmp_path / "in.csv", table)
    assert main(["init", "in.csv", "--out", "policy.yaml"]) == 0
    policy, text = load_policy("policy.yaml"), Path("policy.yaml").read_text()
    centres = {name: a.missing for name, a in policy.attributes.items()}
    assert centres == {
        "age": "median", "sex": None, "pay": None, "town": "mode", "patient_id": None,
        "insurance": None,
    }  # fmt: skip
    assert policy.missing == "drop"
    [line] = [line for line in text.splitlines() if line.startswith("  age:")]
    assert "% missing: few, so they get the median and the records stay" in line
    confirm(Path("policy.yaml"))
    assert main(["run", "policy.yaml", "--quiet"]) == 0
