"""Memory that runs out while files are read or written: no fault of the data, and tried again."""

import ast
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from support.cases.people import people, policy_for, write_csv, write_policy
from tclose.cli.main import main
from tclose.data.files import input_partitions
from tclose.runtime.safe_errors import to_safe_error

pytestmark = pytest.mark.usefixtures("small_regions")

SOURCES = Path(__file__).resolve().parents[3]
OUT = pa.ArrowMemoryError("malloc of size 134217728 failed")


def fail(*_, **__):
    raise OUT


@pytest.mark.parametrize(
    ("file", "owner", "name"),
    [
        ("people.csv", pv, "read_csv"),
        ("people.parquet", pq.ParquetFile, "__init__"),
        ("people.parquet", pq.ParquetFile, "iter_batches"),
        ("people.parquet", pq.ParquetWriter, "write_table"),
        ("people.csv", pq.ParquetWriter, "write_table"),
    ],
)
def test_run_ends_with_status_1_and_the_next_one_goes_on(
    file, owner, name, tmp_path, capsys, monkeypatch
):
    path = tmp_path / file
    if path.suffix == ".csv":
        write_csv(path, people())
    else:
        pq.write_table(people(), path)
    policy = write_policy(tmp_path / "policy.yaml", policy_for(path))
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        assert main(["run", str(policy), "--quiet"]) == 1
    message = capsys.readouterr().err
    assert "out of memory; give engine.memory_per_worker more" in message
    assert message.count("\n") == 1
    assert main(["run", str(policy), "--quiet"]) == 0


def test_cast_that_runs_out_of_memory_is_not_damage():
    class Column:
        cast = fail

    reading = input_partitions.Reading(("age",), (pa.int64(),), ("age",), (), ",")
    with pytest.raises(MemoryError):
        input_partitions._plain({"age": Column()}, "people.parquet", reading)


def test_it_may_pass():
    assert to_safe_error(OUT, "encode, task 3").retryable
    assert to_safe_error(MemoryError(), "encode, task 3").retryable


def names_of(handler: ast.ExceptHandler) -> set[str]:
    return set() if handler.type is None else {ast.unparse(n) for n in ast.walk(handler.type)}


def test_nowhere_is_pyarrows_error_of_memory_taken_for_another():
    """It is an ``ArrowException``: whoever catches those has to let it pass first."""
    n_seen = 0
    for path in (file for root in ("pipeline", "flows") for file in (SOURCES / root).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Try):
                continue
            passed = False
            for handler in node.handlers:
                named = names_of(handler)
                passed |= any("MemoryError" in name for name in named)
                if "pa.ArrowException" in named:
                    n_seen += 1
                    assert passed, f"{path.name}:{handler.lineno}"
    assert n_seen > 5
