"""Commands that write files on a disk that is full, and are called again once it is not."""

import errno
import os
from pathlib import Path

import pytest

from support.cases.people import people, write_csv
from tclose.cli.main import main


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fill_disk(monkeypatch: pytest.MonkeyPatch, n_files: int) -> None:
    """Let the disk be full after so many files."""
    left = n_files

    def force(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", force)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("n_files", [0, 1])
class TestFilesOnAFullDisk:
    def test_keys_are_a_pair_or_none(self, n_files, monkeypatch, capsys):
        with monkeypatch.context() as patch:
            fill_disk(patch, n_files)
            assert main(["keys", "--out", "keys"]) == 2
        assert "keys keys: cannot be written (No space left on device)" in capsys.readouterr().err
        assert list(Path("keys").iterdir()) == []
        assert main(["keys", "--out", "keys"]) == 0
        assert len(list(Path("keys").iterdir())) == 2

    def test_drafted_policy_is_whole_or_not_there(self, n_files, monkeypatch, capsys):
        write_csv(Path("people.csv"), people())
        with monkeypatch.context() as patch:
            fill_disk(patch, n_files)
            assert main(["init", "people.csv"]) == 2
        assert "people.yaml: cannot be written (No space left" in capsys.readouterr().err
        assert not Path("people.yaml").exists()
        assert main(["init", "people.csv"]) == 0


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    "command", ["show {name}", "keys --out {name}", "init people.csv --out {name}/a.yaml"]
)
def test_a_name_that_no_file_can_have_is_wrong_usage(command, capsys):
    write_csv(Path("people.csv"), people())
    assert main(command.format(name="n" * 300).split()) == 2
    told = capsys.readouterr().err
    assert "File name too long; give files and folders shorter names" in told
    assert list(Path().iterdir()) == [Path("people.csv")]
