"""CSV files without a header: their first records, taken for column names, are quoted nowhere."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest
import yaml

from support.cases.people import people, policy_for, write_csv, write_parquet, write_policy
from support.length import every

CANARIES = ["CANARY-IDENTIFIER-7f3a", "8675309", "canary-place-c41d"]
RECORD = ",".join(CANARIES)
NAMES = ("age", "sex", "pay")


def without_header(path, first=RECORD):
    """A file that begins with a record."""
    path.write_text(first + "\n" + "".join(f"{20 + i % 9},m,{i}\n" for i in range(30)))
    return path


def two_parts(folder):
    """A whole file, then one without header."""
    (folder / "data").mkdir()
    write_csv(folder / "data/a.csv", people())
    without_header(folder / "data/b.csv")
    return folder / "data"


@pytest.mark.every_case
def test_line_of_a_spreadsheet(tmp_path, refuse):
    """It is no header, and of the records there could be one with as many fields."""
    path = write_csv(tmp_path / "people.csv", people())
    path.write_text("sep=;\n" + path.read_text().replace(",", ";"))
    refuse(policy_for(path), "file people.csv: begins with a line sep=", "take it out")


def like_a_column(folder):
    """Policy names that resemble the first record's values."""
    return without_header(folder / "people.csv", "aged,sexy,payd")


def repeated(folder):
    return without_header(folder / "people.csv", f"{CANARIES[0]},m,{CANARIES[0]}")


def one_name_more(folder):
    """Two files that have the policy's columns; one has another besides."""
    (folder / "data").mkdir()
    write_csv(folder / "data/a.csv", people())
    write_csv(folder / "data/b.csv", people(**{CANARIES[0]: ["x"] * 60}))
    return folder / "data"


def unlisted(folder):
    return write_csv(folder / "people.csv", people(**{name: ["x"] * 60 for name in CANARIES}))


def two_types(folder):
    (folder / "data").mkdir()
    for name, values in (("a", ["x"] * 60), ("b", list(range(60)))):
        write_parquet(folder / f"data/{name}.parquet", people(**{CANARIES[0]: values}))
    return folder / "data"


def otherwise_divided(folder):
    path = quoted_and_divided(folder)
    path.write_text(path.read_text().replace('"', ""))
    return path


def quoted_and_divided(folder):
    path = write_csv(folder / "people.csv", people())
    path.write_text(path.read_text().replace(",", ";"))
    return path


def nested(folder):
    values = pa.array([{CANARIES[0]: 1}] * 60)
    return write_parquet(folder / "people.parquet", people(age=values))


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (two_parts, ["files a.csv and b.csv: column 'age' and 2 more that the policy lists are in",
                     "in a.csv only", "look at b.csv: if it has no line of column names, put one"]),
        (lambda folder: without_header(folder / "people.csv"),
         ["has no column 'age', 'sex', 'pay', which", "if it has no line of column names, put"]),
        (like_a_column, ["'age' (column 1 has a name like it), 'sex' (column 2 has a name like"]),
        (otherwise_divided, ["it has one column, with ';' in its name: if that divides"]),
        (quoted_and_divided, ["line 1: a quote ", "or name ';' as input.delimiter if"]),
        (repeated, ["file people.csv: columns 1 and 3 of 3 have the same name; rename"]),
        (one_name_more, ["files a.csv and b.csv: column 4 of 4 in b.csv, which the policy does"]),
        (unlisted, ["people.csv: columns 4, 5 and 6 of 6 are not in the policy; give each a role"]),
        (two_types, ["column 4 of the first is string in one, int64 in the other; store"]),
        (nested, ["column 'age': type struct is not supported; convert it"]),
    ],
)  # fmt: skip
def test_names_from_the_data_are_not_quoted(make, fragments, tmp_path, refuse):
    message = refuse(policy_for(make(tmp_path)), *fragments)
    for canary in (*CANARIES, "aged", "sexy", "payd"):
        assert canary not in message


def test_parquet_is_not_said_to_have_no_line_of_names(tmp_path, refuse):
    other = people().rename_columns(["x", "y", "z"])
    twice = pa.Table.from_arrays([other["x"]] * 2, names=["age", "age"])
    write_parquet(tmp_path / "a.parquet", people())
    write_parquet(tmp_path / "b.parquet", other)
    for name, table in (("other", other), ("twice", twice)):
        write_parquet(tmp_path / f"{name}.parquet", table)
    for name, fragment in (
        ("other", "has no column 'age', 'sex', 'pay', which"),
        ("twice", "columns 1 and 2 of 2 have the same name; rename"),
        ("[ab]", "column 'age' and 2 more that the policy lists are in a.parquet only"),
    ):
        message = refuse(policy_for(tmp_path / f"{name}.parquet"), fragment)
        assert "line of column names" not in message


@pytest.mark.nightly
def test_nothing_of_them_in_what_the_flow_leaves(tmp_path):
    """Streams, folders, home, and the database of Prefect's embedded server."""
    document = policy_for(two_parts(tmp_path))
    policy = write_policy(tmp_path / "policy.yaml", document)
    places = {"HOME": "home", "TMPDIR": "tmp", "PREFECT_HOME": "home/.prefect"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    for name, place in places.items():
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        environment[name] = str(tmp_path / place)
    ended = subprocess.run(
        [sys.executable, "-m", "tclose", "flow", str(policy)],
        capture_output=True, env=environment, check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 2
    assert b"column 'age' and 2 more that the policy lists are in a.csv only" in ended.stderr
    inputs = {tmp_path / "data/a.csv", tmp_path / "data/b.csv"}
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p not in inputs]
    assert any(p.suffix == ".db" for p in written)
    texts = [p.read_bytes() for p in written] + [ended.stdout, ended.stderr]
    assert not [text for text in texts for canary in CANARIES if canary.encode() in text]


@pytest.mark.nightly
@pytest.mark.parametrize("command", every(3, [["run", "--profile"], ["plan"], ["frontier"]]))
def test_unlisted_columns_that_are_dropped_are_named_nowhere(command, tmp_path):
    """Of a file whose names are right but for columns that the policy leaves out."""
    document = policy_for(unlisted(tmp_path), unlisted="drop", engine={"workers": 1})
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(document))
    before = set(tmp_path.rglob("*"))
    ended = subprocess.run(
        [sys.executable, "-m", "tclose", command[0], str(policy), *command[1:]],
        capture_output=True, cwd=tmp_path, check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p not in before]
    texts = [p.read_bytes() for p in written] + [ended.stdout, ended.stderr]
    assert not [text for text in texts for canary in CANARIES if canary.encode() in text]
