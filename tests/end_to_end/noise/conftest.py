"""The patients whose attributes noise is drawn for."""

from pathlib import Path

import pytest

from support.cases.noise_cases import N_RECORDS
from support.cases.patients import write_patients


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "input", N_RECORDS)
