"""The patients of joint cases, in files that number their illnesses each in another way."""

from pathlib import Path

import pytest

from support.cases.joint_cases import patients, write_pieces


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("input") / "patients", patients())
