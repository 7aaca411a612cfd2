"""The discharges that further models are asked of."""

from pathlib import Path

import pytest

from support.cases.discharge_policies import write_discharges


@pytest.fixture(scope="module")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_discharges(tmp_path_factory.mktemp("input") / "discharges.parquet", 3_000)
