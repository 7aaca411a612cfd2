"""Working files away from the releases: private, shared by all workers, gone after success."""

import contextlib
import os
import tempfile

import pytest

from support.cases.people import people, policy_for, release, tree, write_parquet
from support.passes import run_passes
from tclose.errors import OutputError
from tclose.passes import release as recipe
from tclose.passes.release import open_release
from tclose.passes.summarise import summarise_task
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.repository.work_folders import open_folder, work_folders
from tclose.runtime.engines.engine import InProcess
from tclose.runtime.monitoring.progress import Progress

NOBODY = 65_534
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can give folders away")


@pytest.fixture
def source(tmp_path):
    return write_parquet(tmp_path / "people.parquet", people())


def document(source, place, work):
    engine = {} if work is None else {"work_path": str(work)}
    return policy_for(source, output={"path": str(place)}, engine=engine)


def test_release_does_not_depend_on_where_working_files_are(source, tmp_path):
    beside = release(document(source, tmp_path / "a", None))
    away = release(document(source, tmp_path / "b", tmp_path / "work"))
    assert away.data == beside.data
    root = away.folder.parent
    assert {path.name for path in root.iterdir()} == {away.folder.name, "CURRENT", ".lock"}
    assert tree(tmp_path / "work") == {}


QUIET = Progress("none")


def summarise_and_crash(policy):
    """Pass 1, and an error that nobody foresaw; the folder of the run."""
    seen = []
    with contextlib.suppress(RuntimeError), open_release(policy, QUIET) as run:
        seen.append(run.root)
        run_passes(run, QUIET, "summarise")
        raise RuntimeError
    return seen[0]


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("a", None), (None, "b")])
def test_what_a_crash_left_is_removed_though_the_policy_names_another_place(
    first, second, source, tmp_path
):
    places = [None if name is None else tmp_path / name for name in (first, second)]
    left = summarise_and_crash(parse_policy(document(source, tmp_path / "out", places[0])))
    assert left.is_dir()
    root = release(document(source, tmp_path / "out", places[1])).folder.parent
    for place in filter(None, places):
        assert tree(place) == {}
    assert {path.name for path in root.iterdir() if path.name[0] == "."} == {".lock", ".failed"}


def test_run_that_crashed_goes_on_from_where_they_are(source, tmp_path, monkeypatch):
    policy = parse_policy(document(source, tmp_path / "out", tmp_path / "work"))
    root = summarise_and_crash(policy)
    assert root.is_relative_to(tmp_path / "work")
    for folder in (root, root.parent, root.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(summarise_task, "summarise_table", None)  # it is not needed
    assert recipe.run_release(policy, QUIET).release.is_dir()
    assert tree(tmp_path / "work") == {}


def test_output_folders_of_one_path_on_two_machines_have_their_own(source, tmp_path):
    """Which share the folder of the working files: the second run leaves the first one's alone."""
    policy = parse_policy(document(source, tmp_path / "out", tmp_path / "work"))
    first = summarise_and_crash(policy)
    (tmp_path / "out").rename(tmp_path / "away")
    second = summarise_and_crash(policy)
    assert first.parent.parent != second.parent.parent
    assert recipe.run_release(policy, QUIET).release.is_dir()
    assert first.is_dir()
    assert not second.exists()
    (tmp_path / "out").rename(tmp_path / "other")
    (tmp_path / "away").rename(tmp_path / "out")
    assert recipe.run_release(policy, QUIET).release.is_dir()
    assert tree(tmp_path / "work") == {}


def test_folders_that_were_named_by_the_path_alone_are_cleared(source, tmp_path):
    """As version 0.1.0 named them, where its note leads to them."""
    policy = parse_policy(document(source, tmp_path / "out", tmp_path / "work"))
    folder = work_folders(tmp_path / "work", tmp_path / "out", policy.name)[-1]
    (folder / "a run").mkdir(parents=True)
    (folder / "a run" / "records").touch()
    (tmp_path / "out" / policy.name).mkdir(parents=True)
    note = tmp_path / "out" / policy.name / ".work-path"
    note.write_text(str(tmp_path / "work"))
    note.chmod(0o600)
    summarise_and_crash(policy)
    assert not folder.exists()
    assert note.exists()


def test_workers_that_do_not_see_them_are_refused(source, tmp_path, monkeypatch):
    monkeypatch.setattr(InProcess, "sees", lambda *_: False)
    with pytest.raises(OutputError, match=r"not every worker sees them.*engine\.work_path"):
        release(document(source, tmp_path / "out", tmp_path / "work"))
    assert not (tmp_path / "out").exists()
    assert tree(tmp_path / "work") == {}


def test_usual_place_is_the_users_cache_or_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outer, folder, inner = work_folders(None, tmp_path / "out", "people")
    assert outer == tmp_path / "cache" / "tclose" / "work"
    assert (folder.parent, inner) == (outer, folder / "people")
    assert work_folders(None, tmp_path / "other", "people")[1] != folder
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr("tclose.releases.repository.work_folders.os.access", lambda *_: False)
    outer = work_folders(None, tmp_path / "out", "people")[0]
    assert str(outer.parent) == tempfile.gettempdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(OutputError, match=r"TMPDIR .*missing: cannot be written"):
        work_folders(None, tmp_path / "out", "people")


def test_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "theirs")
    with pytest.raises(OutputError, match="is not this user's own folder"):
        open_folder(tmp_path / "work")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot be written .*engine\.work_path"):
        open_folder(tmp_path / "file" / "work")


SHARED = [
    pytest.param(0o777, -1, id="all"),
    pytest.param(0o770, NOBODY, id="a group", marks=AS_ROOT),
    pytest.param(0o1777, NOBODY, id="sticky, and another user's", marks=AS_ROOT),
    pytest.param(0o755, NOBODY, id="another user's", marks=AS_ROOT),
]


@pytest.mark.parametrize(("mode", "other"), SHARED)
def test_folder_that_others_could_move_is_refused(mode, other, source, tmp_path):
    """Before there are records in it: an output folder in a shared one, or one above."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    os.chown(shared, other if mode in (0o1777, 0o755) else -1, other if mode == 0o770 else -1)
    reason = "belongs to another user" if mode in (0o1777, 0o755) else "can be written to by others"
    refused = rf"working files .*\.work: {shared} {reason} \(.*`chmod go-w`.*engine\.work_path"
    with pytest.raises(OutputError, match=refused):
        release(document(source, shared / "a", None))
    assert not list(shared.iterdir())
    away = release(document(source, shared / "a", tmp_path / "work"))
    assert {path.name for path in away.folder.parent.iterdir()} >= {away.folder.name, "CURRENT"}
    with pytest.raises(OutputError, match=refused.replace("\\.work", ".*")):
        release(document(source, tmp_path / "b", shared / "work"))


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o700])
def test_folder_that_others_cannot_move_is_used(mode, source, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    assert release(document(source, shared / "a", None)).data


def test_output_folder_is_refused_too(source, tmp_path):
    (tmp_path / "out" / "people").mkdir(parents=True)
    (tmp_path / "out" / "people").chmod(0o777)
    with pytest.raises(OutputError, match=r"people can be written to by others \(mode 0777\)"):
        release(document(source, tmp_path / "out", None))


def test_what_a_link_leads_to_is_not_removed(tmp_path):
    """One that came into the place after it was looked at."""
    (tmp_path / "theirs" / "kept").mkdir(parents=True)
    repository = ReleaseRepository(tmp_path / "out", "people")
    repository.work.parent.mkdir(parents=True)
    repository.work.symlink_to(tmp_path / "theirs")
    repository.clear_work()
    assert (tmp_path / "theirs" / "kept").is_dir()
