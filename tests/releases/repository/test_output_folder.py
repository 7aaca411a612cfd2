"""What others have put into an output folder is not believed, and nothing is moved through it."""

import os
from pathlib import Path

import pytest

from support.cases.people import people, policy_for, release, tree, write_parquet
from tclose.assess.auditing.audit import audit_release
from tclose.errors import OutputError
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.repository.work_folders import open_folder, read_note
from tclose.releases.stores.filesystem import FolderStore
from tclose.runtime.artifacts.artifacts import Artifact, Workspace

NOBODY = 65_534
VALUE = Artifact("value", int)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of another user")


@pytest.fixture
def source(tmp_path):
    return write_parquet(tmp_path / "people.parquet", people())


@pytest.fixture
def released(source):
    return release(policy_for(source)).folder


def key_of(folder: Path) -> Path:
    return folder.parents[1] / ".release-key"


class TestKey:
    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o666])
    def test_one_that_is_open_to_others_is_refused(self, mode, released, source):
        key = key_of(released)
        key.chmod(mode)
        refused = (
            rf"release-key: is open to others \(mode {mode:04o}\).*chmod 600.*into another folder"
        )
        with pytest.raises(OutputError, match=refused):
            release(policy_for(source))
        with pytest.raises(OutputError, match=refused):
            audit_release(released)

    def test_none_where_there_are_releases_is_refused(self, released, source):
        """With another one the same input would be released again, and no seal be checked."""
        key = key_of(released)
        content = key.read_bytes()
        key.unlink()
        refused = "release-key: the release key is missing, and people has releases"
        with pytest.raises(OutputError, match=refused):
            release(policy_for(source))
        assert not key.exists()
        key.write_bytes(content)
        key.chmod(0o600)
        assert release(policy_for(source)).folder == released

    @needs_root
    def test_one_of_another_user_is_refused(self, released, source):
        os.chown(key_of(released), NOBODY, NOBODY)
        refused = rf"belongs to another user \(id {NOBODY}\).*one user makes all releases"
        with pytest.raises(OutputError, match=refused):
            release(policy_for(source))
        with pytest.raises(OutputError, match=refused):
            audit_release(released)

    @needs_root
    def test_root_reads_that_of_the_folders_owner(self, released):
        os.chown(key_of(released), NOBODY, NOBODY)
        os.chown(released.parents[1], NOBODY, NOBODY)
        assert audit_release(released).findings == []

    def test_a_link_is_refused(self, released, source, tmp_path):
        key = key_of(released)
        key.rename(tmp_path / "elsewhere")
        key.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OutputError, match="release-key: is a link"):
            release(policy_for(source))

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
    def test_no_file_is_refused_without_waiting(self, make, released, source):
        key = key_of(released)
        key.unlink()
        make(key, 0o600)
        with pytest.raises(OutputError, match="release-key: is not a regular file"):
            release(policy_for(source))

    def test_it_is_private_whatever_the_mask(self, source):
        before = os.umask(0)
        try:
            folder = release(policy_for(source)).folder
        finally:
            os.umask(before)
        assert key_of(folder).stat().st_mode & 0o777 == 0o600
        assert not {
            folder.parent.stat().st_mode & 0o022,
            folder.parents[1].stat().st_mode & 0o022,
        } - {0}


def test_a_release_is_closed_to_other_writers_whatever_the_mask(source):
    before = os.umask(0)
    try:
        folder = release(policy_for(source)).folder
    finally:
        os.umask(before)
    places = [folder, *folder.rglob("*")]
    assert [place for place in places if place.stat().st_mode & 0o022] == []


class TestNote:
    """Where working files are said to be is a place where files are removed."""

    @needs_root
    def test_one_of_another_user_is_refused(self, tmp_path):
        store = FolderStore(tmp_path)
        store.write("work-path", b"/somewhere")
        assert read_note(store) == Path("/somewhere")
        os.chown(tmp_path / ".work-path", NOBODY, NOBODY)
        with pytest.raises(OutputError, match=r"work-path: belongs to another user"):
            read_note(store)


class TestFolders:
    @pytest.mark.parametrize("name", [".work", ".claims", ".committing", ".failed"])
    def test_links_are_refused_and_nothing_behind_them_is_touched(self, name, source, tmp_path):
        (tmp_path / "theirs" / "prepared-1").mkdir(parents=True)
        (tmp_path / "theirs" / ".profile").write_text("kept")
        repository = ReleaseRepository(tmp_path / "releases", "people")
        repository.root.mkdir(parents=True)
        (repository.root / name).symlink_to(tmp_path / "theirs")
        before = tree(tmp_path / "theirs")
        with pytest.raises(OutputError, match=rf"{name}: is not this user's own folder"):
            release(policy_for(source))
        assert tree(tmp_path / "theirs") == before

    @pytest.mark.parametrize("name", [".work", ".claims", ".failed"])
    def test_files_in_their_place_are_refused(self, name, source, tmp_path):
        root = tmp_path / "releases" / "people"
        root.mkdir(parents=True)
        (root / name).write_text("")
        with pytest.raises(OutputError, match=rf"{name}: is not this user's own folder"):
            release(policy_for(source))
        assert {path.name for path in root.iterdir()} == {name}

    @needs_root
    def test_working_folder_of_another_user_is_refused(self, tmp_path):
        (tmp_path / "work").mkdir()
        os.chown(tmp_path / "work", NOBODY, NOBODY)
        with pytest.raises(OutputError, match="is not this user's own folder"):
            open_folder(tmp_path / "work")


class TestRecords:
    """Checkpoints decide what is not done again: only this user's own are read."""

    def record(self, tmp_path: Path) -> tuple[Workspace, Path]:
        workspace = Workspace(tmp_path / "run")
        workspace.create()
        workspace.save(VALUE, 7)
        assert workspace.load(VALUE) == 7
        return workspace, workspace.task_files("values", "value").path("record")

    def test_one_that_others_can_write_to_is_none(self, tmp_path):
        workspace, path = self.record(tmp_path)
        path.chmod(0o620)
        assert workspace.find(VALUE) is None

    @needs_root
    def test_one_of_another_user_is_none(self, tmp_path):
        workspace, path = self.record(tmp_path)
        os.chown(path, NOBODY, NOBODY)
        assert workspace.find(VALUE) is None

    def test_a_link_is_none(self, tmp_path):
        workspace, path = self.record(tmp_path)
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        assert workspace.find(VALUE) is None


@pytest.mark.parametrize("make", ["folder", "dangling link", "link", "fifo"])
def test_current_that_is_no_file_is_refused_before_any_work(make, source, tmp_path):
    root = tmp_path / "releases" / "people"
    root.mkdir(parents=True)
    current = root / "CURRENT"
    if make == "folder":
        current.mkdir()
    elif make == "fifo":
        os.mkfifo(current)
    else:
        current.symlink_to(tmp_path / "nothing" if "dangling" in make else source)
    with pytest.raises(OutputError, match="CURRENT: is not a regular file; remove it"):
        release(policy_for(source))
    assert {path.name for path in root.iterdir()} == {"CURRENT"}


def test_file_in_the_place_of_a_release_makes_way(released, source):
    at = released.parent / released.name
    at.rename(at.with_name("moved"))
    at.write_text("")
    again = release(policy_for(source)).folder
    assert again == released
    assert (again / "manifest.json").is_file()
    assert not (again.parent / ".work").exists()
