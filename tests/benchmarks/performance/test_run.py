"""The command that the tables of time are measured by makes releases."""

from pathlib import Path

import pytest

from benchmarks.performance.run import run_case
from benchmarks.performance.timings import Case


@pytest.mark.nightly
def test_a_case_is_measured(tmp_path: Path) -> None:
    result = run_case(Case(2000, 5, 0.2, 1, "off"), tmp_path)
    assert result.manifest["verdict"] == "pass"
    assert result.multiple is not None
    assert result.multiple > 0
