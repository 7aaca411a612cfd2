"""The patients that the methods are tried on."""

from pathlib import Path

import pyarrow as pa
import pytest

from support.cases.method_cases import N_RECORDS
from support.cases.patients import patients, write_patients


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return patients(N_RECORDS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "input", N_RECORDS)
