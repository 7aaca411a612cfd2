"""What reports add: each part is found by the functions that a release calls for it."""

from pathlib import Path

import pytest

from benchmarks.performance.report_costs import PARTS, add_up, describe_policy, profile_release
from tclose.data.synthetic.writing import write_microdata

N_RECORDS = 2_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [path] = write_microdata(tmp_path_factory.mktemp("data") / "in.parquet", N_RECORDS, 1)
    return path


def test_all_parts_are_found_and_take_less_than_the_release(data: Path, tmp_path: Path) -> None:
    stats, seconds, n_records = profile_release(describe_policy(str(data), tmp_path))
    parts = add_up(stats)
    assert n_records == N_RECORDS
    assert list(parts) == list(PARTS)
    assert 0 < sum(parts.values()) < seconds


def test_a_function_that_is_not_called_any_more_is_told(data: Path, tmp_path: Path) -> None:
    stats, _, _ = profile_release(describe_policy(str(data), tmp_path))
    kept = {key: v for key, v in stats.stats.items() if key[2] != "describe_uniques"}  # type: ignore[attr-defined]
    stats.stats = kept  # type: ignore[attr-defined]
    with pytest.raises(LookupError, match="describe_uniques was not called"):
        add_up(stats)
