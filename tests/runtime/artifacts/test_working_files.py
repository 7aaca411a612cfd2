"""Working files that are there and are not believed: the message says whose they are."""

import os
from pathlib import Path

import pytest

from tclose.errors import OutputError
from tclose.runtime.artifacts.artifacts import Artifact, Workspace

NUMBER = Artifact("number", int)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "run")
    made.create()
    made.save(NUMBER, 3)
    return made


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_one_of_another_user_is_told_as_such(workspace: Workspace) -> None:
    record = workspace.root / "values" / "number.record"
    os.chown(record, 65_534, -1)
    refused = f"{record} belongs to another user .*remove {workspace.root}, and run again"
    with pytest.raises(OutputError, match=refused):
        workspace.load(NUMBER)


def test_one_that_others_can_write_to_is_told_as_such(workspace: Workspace) -> None:
    record = workspace.root / "values" / "number.record"
    record.chmod(0o666)
    with pytest.raises(OutputError, match=f"{record} is open to others .mode 0666."):
        workspace.load(NUMBER)


def test_a_damaged_one_is_damaged(workspace: Workspace) -> None:
    (workspace.root / "values" / "number.record").write_bytes(b"{")
    with pytest.raises(OutputError, match="number is missing or damaged; run again"):
        workspace.load(NUMBER)
