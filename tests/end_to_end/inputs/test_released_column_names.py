"""Columns of unusual names: read back whole by pandas, pyarrow and dask, or refused by name."""

from itertools import product
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, PASSTHROUGH, QUASI, Released, policy_for, release
from support.length import every
from tclose.assess.auditing.audit import audit_release
from tclose.errors import PolicyError

# Of dask's own use of pandas.
pytestmark = [
    pytest.mark.usefixtures("small_regions"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]
N_RECORDS = 60
ROLES = [QUASI, CONFIDENTIAL, PASSTHROUGH]
SKIPPED = ["_x", ".x", "..", "_", "__index_level_0__", "__HIVE_DEFAULT_PARTITION__"]
NAMES = [
    *SKIPPED,
    *(
        "a.b",
        "count_all",
        "a/b",
        "a=b",
        "a%20b",
        " a",
        "a ",
        "a\nb",
        'a"b',
        "a'b",
        "{a}",
        "$x",
        "*",
    ),
    *("position", "q0", "c0", "x0", "o0", "d0", "k0", "end", "count", "value", "record", "name"),
    *("index", "nan", "0", "id,b", "data", "Ä", "x" * 300),
]


def release_with(
    name: str, role: str, folder: Path, partition_by: tuple[str, ...] = ()
) -> Released:
    rng = np.random.default_rng(1)
    table = {
        "age": rng.integers(18, 90, N_RECORDS),
        "pay": rng.integers(0, 9, N_RECORDS),
        name: np.where(np.arange(N_RECORDS) % 2, "u", "v"),
    }
    pq.write_table(pa.table(table), folder / "in.parquet")
    own: Any = {"role": role, "t": 1} if role == CONFIDENTIAL else role
    document = policy_for(
        folder / "in.parquet",
        attributes={"age": QUASI, "pay": CONFIDENTIAL, name: own},
        privacy={"k": 4, "t": 0.5},
        output={"path": str(folder / "out"), "partition_by": list(partition_by)},
    )
    return release(document)


def check_readable(made: Released, name: str) -> None:
    """Every reader finds every row and column, and the values of the unusual one."""
    data = made.folder / "data"
    frames = [
        pd.read_parquet(data),
        ds.dataset(data, partitioning="hive").to_table().to_pandas(),
        dd.read_parquet(data).compute(),
    ]
    for frame in frames:
        assert len(frame) == N_RECORDS
        assert set(frame.columns) == {"age", "pay", name}
        assert set(frame[name].astype(str)) <= {"u", "v"}
    assert audit_release(made.folder).findings == []


@pytest.mark.parametrize(("name", "role"), every(4, product(NAMES, ROLES)))
def test_a_column(name: str, role: str, tmp_path: Path) -> None:
    check_readable(release_with(name, role, tmp_path), name)


@pytest.mark.parametrize(
    ("name", "role"),
    every(3, product([name for name in NAMES if name not in SKIPPED][:-1], [QUASI, PASSTHROUGH])),
)
def test_a_partition_column(name: str, role: str, tmp_path: Path) -> None:
    check_readable(release_with(name, role, tmp_path, (name,)), name)


@pytest.mark.parametrize("role", [QUASI, PASSTHROUGH])
@pytest.mark.parametrize("name", SKIPPED)
def test_folders_that_readers_skip(name: str, role: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="folders that do are skipped by pandas, pyarrow and Spa"):
        release_with(name, role, tmp_path, (name,))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("role", [QUASI, PASSTHROUGH])
def test_folders_that_are_too_long(role: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot name folders"):
        release_with("x" * 300, role, tmp_path, ("x" * 300,))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("name", "what"), [("", "no name"), ("__null_dask_index__", "an index")])
def test_columns_that_are_refused(name: str, what: str, role: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=f"{what}, cannot be released; rename it in the data"):
        release_with(name, role, tmp_path)


def test_an_identifier_may_be_called_anything(tmp_path: Path) -> None:
    assert set(release_with("", "identifier", tmp_path).table.column_names) == {"age", "pay"}


def test_partition_column_that_differs_by_case_alone(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="'AGE' and 'age' differ by case alone"):
        release_with("AGE", PASSTHROUGH, tmp_path, ("AGE",))
    check_readable(release_with("AGE", PASSTHROUGH, tmp_path), "AGE")
