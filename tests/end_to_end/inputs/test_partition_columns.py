"""Partition columns that are released as they are: no class mixes their values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.assess.auditing.audit import audit_release
from tclose.errors import InfeasibleError, PolicyError
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


def write(path, sites, *, missing=0, row_group_size=1_000_000):
    n_rows = len(sites)
    ages = [None if i < missing else (i * 37) % 60 for i in range(n_rows)]
    table = pa.table({"age": ages, "site": sites, "pay": [(i * 53) % 97 for i in range(n_rows)]})
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def policy(path, place, t=0.5, roles=()) -> Policy:
    return parse_policy(
        {
            "name": "sites",
            "input": {"path": str(path)},
            "attributes": {
                "age": "quasi-identifier",
                "site": "non-confidential",
                "pay": "confidential",
                **dict(roles),
            },
            "privacy": {"k": 3, "t": t},
            "missing": "drop",
            "output": {"path": str(place), "partition_by": ["site"]},
        }
    )


def test_classes_lie_in_one_partition(tmp_path):
    path = write(tmp_path / "in.parquet", ["a", "b", "b", "c"] * 30)
    made = run_release(policy(path, tmp_path / "out"), Progress("none"))
    frame = pq.read_table(made.release / "data").to_pandas()
    assert frame.groupby(["age", "site"], observed=True).size().min() >= 3
    assert frame["site"].value_counts().to_dict() == {"b": 60, "a": 30, "c": 30}
    assert audit_release(made.release).findings == []


def test_row_group_without_a_complete_record(tmp_path):
    path = write(tmp_path / "in.parquet", ["a", "b"] * 20, missing=20, row_group_size=20)
    made = run_release(policy(path, tmp_path / "out"), Progress("none"))
    assert made.manifest.records == 20


def test_value_of_a_small_partition_is_not_named(tmp_path):
    path = write(tmp_path / "in.parquet", ["a"] * 20 + ["secret-place"])
    with pytest.raises(InfeasibleError, match="a partition: has 1 record,") as refused:
        run_release(policy(path, tmp_path / "out"), Progress("none"))
    assert "secret-place" not in str(refused.value)
    assert not [p for p in (tmp_path / "out").rglob("*") if b"secret" in p.name.encode()]


@pytest.mark.parametrize("value", ["", "x" * 300, "__HIVE_DEFAULT_PARTITION__", "A"])
def test_values_that_name_no_folder_are_refused(value, tmp_path):
    path = write(tmp_path / "in.parquet", ["a", value] * 20)
    with pytest.raises(PolicyError, match="values that cannot name folders"):
        run_release(policy(path, tmp_path / "out"), Progress("none"))
    assert not (tmp_path / "out").exists()


def test_partition_far_from_the_table_is_proved_infeasible(tmp_path):
    table = pa.table(
        {"age": list(range(40)), "site": ["a"] * 20 + ["b"] * 20, "pay": list(range(40))}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InfeasibleError, match=r"site=\w.*'pay' is at distance 0\.256410"):
        run_release(policy(tmp_path / "in.parquet", tmp_path / "out", t=0.2), Progress("none"))


def test_value_of_a_partition_of_one_person_is_not_named(tmp_path):
    """Where persons count, a folder of k records may have one of them."""
    columns = {"site": ["a"] * 30 + ["secret-place"] * 10, "who": [*range(30), *[30] * 10]}
    table = pa.table({"age": list(range(40)), **columns, "pay": [*range(30), *[9] * 10]})
    pq.write_table(table, tmp_path / "in.parquet")
    place, roles = tmp_path / "out", {"who": "person"}
    asked = policy(tmp_path / "in.parquet", place, t=0.2, roles=roles)
    with pytest.raises(InfeasibleError, match="a partition: 'pay' is at distance") as refused:
        run_release(asked, Progress("none"))
    assert "secret-place" not in str(refused.value)
