"""Releases that version 0.1.0 made, before its package was called ``tclose``.

`releases-0.1.0.tar.xz` holds what commit fe4fb16 made of 300 generated discharges (``tclose
generate --rows 300 --seed 7``) and of the policies beside them; user, host and system are made up.
"""

import tarfile
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).with_name("releases-0.1.0.tar.xz")


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them: ``releases``, ``policies`` and ``discharges``, in the folder for work."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path
