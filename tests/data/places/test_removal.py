"""Removal of folders that is cut short."""

import os
import shutil
from pathlib import Path

import pytest

from tclose.data.places.removal import REMOVED, remove_folder


class Stopped(BaseException):
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work" / "values").mkdir(parents=True)
    (tmp_path / "work" / "values" / "hashes").write_text("")
    return tmp_path / "work"


def test_nothing_is_left(folder: Path) -> None:
    remove_folder(folder)
    remove_folder(folder)
    assert not list(folder.parent.iterdir())


def test_what_a_kill_leaves_has_another_name_and_goes_the_next_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr(shutil, "rmtree", stop)
    with pytest.raises(Stopped):
        remove_folder(folder)
    monkeypatch.undo()
    [left] = folder.parent.iterdir()
    assert left.name.startswith(f"{REMOVED}work-")
    remove_folder(left)
    assert not list(folder.parent.iterdir())


def test_names_are_of_the_folder_that_is_open(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").write_text("")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        for name in ("link", "file", "missing"):  # are no folders, and stay
            remove_folder(Path(name), descriptor)
        assert (folder / "values" / "hashes").exists()
        remove_folder(Path("work"), descriptor)
    finally:
        os.close(descriptor)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}
