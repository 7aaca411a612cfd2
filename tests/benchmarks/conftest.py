"""What tests of the benchmarks share."""

from pathlib import Path

import pytest

from benchmarks.microdata import sources


@pytest.fixture
def no_real_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the real data, which has none."""
    folder = tmp_path / "real"
    folder.mkdir()
    monkeypatch.setattr(sources, "REAL_DATA", folder)
    return folder
