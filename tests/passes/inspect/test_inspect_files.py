"""The inspect pass: what it says of each file, and the files of which it says nothing."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.data.files.inspection import FileContent
from tclose.errors import DataError
from tclose.passes.inspect.inspect_files import INSPECT
from tclose.policy.policy import parse_policy
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pipeline, run_pipeline
from tclose.runtime.run import INSPECTION, Run

pytestmark = pytest.mark.every_case  # each takes milliseconds

ATTRIBUTES: dict[str, Any] = {"age": "quasi-identifier", "pay": "confidential"}


def inspect(folder: Path, attributes: dict[str, Any] | None = None, **keys: Any) -> list[Any]:
    """What the pass keeps of the files in ``folder/in``."""
    document = {
        "name": "people",
        "input": {"path": str(folder / "in")},
        "attributes": attributes or ATTRIBUTES,
        "privacy": {"k": 2, "t": 0.5},
    }
    run = Run(parse_policy(document | keys), "trial", folder / "work", InProcess())
    run_pipeline(Pipeline((), (INSPECT,)), run, Progress("none"))
    found: list[FileContent] = run.workspace.load(INSPECTION)
    return found


def write(folder: Path, name: str, columns: dict[str, Any], rows: int | None = None) -> Path:
    place = folder / "in" / name
    place.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), place, row_group_size=rows)
    return place


def write_text(folder: Path, name: str, content: bytes) -> Path:
    place = folder / "in" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    return place


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    places = [
        write(tmp_path, name, {"age": [1, 2, number], "pay": [3, 4, 5]})
        for number, name in enumerate(["b.parquet", "c.parquet", "a.parquet"])
    ]
    found = inspect(tmp_path)
    assert [one.file.name for one in found] == ["a.parquet", "b.parquet", "c.parquet"]
    digest_of = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in places}
    assert {one.file.name: one.file.sha256 for one in found} == digest_of


def test_a_piece_is_a_row_group_that_has_rows(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", {"age": list(range(5)), "pay": list(range(5))}, rows=2)
    write(tmp_path, "b.parquet", {"age": pa.array([], "int64"), "pay": pa.array([], "int64")})
    some, none = inspect(tmp_path)
    assert some.pieces == ((0, 0, 2), (1, 0, 2), (2, 0, 1))
    assert none.pieces == ()
    assert none.schema == some.schema


def test_a_piece_of_csv_has_whole_records_without_the_header(tmp_path: Path) -> None:
    content = b"age,pay\n1,2\n3,4\n"
    write_text(tmp_path, "a.csv", content)
    [found] = inspect(tmp_path)
    assert found.file.format == "csv"
    assert found.pieces == ((-1, content.index(b"1"), len(content)),)
    assert found.schema.types == [pa.string(), pa.string()]


@pytest.mark.parametrize(
    ("role", "partition_by", "of_held"),
    [
        ("quasi-identifier", (), 2),
        ("non-confidential", (), 1),
        ("non-confidential", ("year",), 2),
        ("identifier", (), 1),
    ],
)
def test_a_column_is_wide_where_it_is_read_for_the_classes(
    role: str, partition_by: tuple[str, ...], of_held: int, tmp_path: Path
) -> None:
    rows = list(range(1_000))
    write(tmp_path, "a.parquet", {"age": rows, "year": rows})
    attributes = {"age": "quasi-identifier", "year": role}
    [found] = inspect(tmp_path, attributes, output={"partition_by": partition_by})
    [width] = found.widths
    assert width.held == of_held * 8_000
    assert width.passthrough == 8_000 * (role == "non-confidential" and not partition_by)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"age": [1]}, r"column 'pay' is in a\.parquet only; make them alike"),
        ({"age": [1], "pay": ["2"]}, "column 'pay' is .* in one, .* in the other; store it as one"),
        ({"age": [1], "pay": [2], "cat": [3]}, "b.parquet, which the policy does not list, is not"),
    ],
)
def test_another_schema_is_refused(other: dict[str, Any], message: str, tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", {"age": [1], "pay": [2]})
    write(tmp_path, "b.parquet", other)
    with pytest.raises(DataError, match=message):
        inspect(tmp_path)


def test_a_column_that_the_policy_does_not_list_is_named_by_its_place(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", {"age": [1], "pay": [2], "secret": [3]})
    write(tmp_path, "b.parquet", {"age": [1], "pay": [2], "secret": ["3"]})
    with pytest.raises(DataError, match="column 3 of the first") as caught:
        inspect(tmp_path, unlisted="drop")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"b\.csv: is empty \(0 bytes\)"),
        (b"\x1f\x8b\x08\x00", r"b\.csv: is compressed; decompress it first"),
        (b"pay,age\n2,1\n", "their columns are in different orders; use one order"),
        (b"age,age\n2,1\n", r"b\.csv"),
    ],
)
def test_files_that_cannot_be_used_are_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    write_text(tmp_path, "a.csv", b"age,pay\n1,2\n")
    write_text(tmp_path, "b.csv", content)
    with pytest.raises(DataError, match=message):
        inspect(tmp_path)


def test_an_input_has_one_format(tmp_path: Path) -> None:
    write_text(tmp_path, "a.csv", b"age,pay\n1,2\n")
    write(tmp_path, "b.parquet", {"age": ["1"], "pay": ["2"]})
    with pytest.raises(DataError, match="one is CSV, one is Parquet; an input has one format"):
        inspect(tmp_path)


def test_of_a_damaged_file_nothing_is_kept(tmp_path: Path) -> None:
    place = write(tmp_path, "a.parquet", {"age": [1], "pay": [2]})
    place.write_bytes(place.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"a\.parquet"):
        inspect(tmp_path)
    assert not list((tmp_path / "work").rglob("*inspection*"))
