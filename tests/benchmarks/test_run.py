"""The command that the tables of time are measured by makes releases."""

from pathlib import Path

import pytest

from benchmarks.run import run_case
from benchmarks.timings import Case


@pytest.mark.nightly
def test_a_case_is_measured(tmp_path: Path) -> None:
    result = run_case(Case(2000, 5, 0.2, 1, "off"), tmp_path)
    assert result.manifest["verification"]["verdict"] == "PASS"
    assert result.manifest["records"]["released"] == 2000
    assert result.release.seconds > 0
