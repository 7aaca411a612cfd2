"""Prune: the oldest go, the current one never, and a crash leaves no half release."""

import shutil
from dataclasses import replace

import pytest

from support.cases.people import tree
from support.cases.repositories import fake_id, fake_repository, move_current
from tclose.errors import BusyError, OutputError
from tclose.releases.catalog.catalog import list_releases, pick_id
from tclose.releases.catalog.prune import plan_pruning, prune
from tclose.releases.repository.operations_log import read_lines
from tclose.runtime.artifacts.artifacts import Workspace

IDS = [fake_id(text) for text in "edcba"]


@pytest.fixture
def repository(tmp_path):
    return fake_repository(tmp_path, *IDS)


def standing(repository):
    return [entry.release_id for entry in list_releases(repository)]


@pytest.mark.parametrize("keep", [1, 2, 4])
def test_newest_stay_and_the_others_go(keep, repository):
    done = prune(repository, keep)
    assert done.removed == tuple(IDS[:-keep])
    assert done.kept == tuple(IDS[-keep:])
    assert standing(repository) == IDS[-keep:]
    assert {path.name for path in repository.root.iterdir()} == {
        *IDS[-keep:], "CURRENT", ".lock", ".journal.jsonl"
    }  # fmt: skip
    [line] = read_lines(repository)
    assert line["removed"] == IDS[:-keep]


@pytest.mark.parametrize("keep", [5, 6, 100])
def test_nothing_goes_where_enough_may_stay(keep, repository):
    before = tree(repository.root)
    assert prune(repository, keep).removed == ()
    assert tree(repository.root) == before


@pytest.mark.parametrize("current", IDS)
def test_current_one_stays_however_old_it_is(current, repository):
    move_current(repository, current)
    done = prune(repository, 1)
    assert standing(repository) == [name for name in IDS if name in (current, IDS[-1])]
    skipped = {} if current == IDS[-1] else {current: "it is the current one"}
    assert dict(done.skipped) == skipped
    assert repository.current() == current


@pytest.mark.parametrize("current", IDS)
def test_current_one_can_stay_alone(current, repository):
    move_current(repository, current)
    done = prune(repository, 0)
    assert standing(repository) == [current]
    assert done.removed == tuple(name for name in IDS if name != current)


def test_one_whose_run_has_not_ended_stays(repository):
    repository.open_work()
    Workspace(repository.work_folder(IDS[0])).create()
    done = prune(repository, 1)
    assert done.skipped == ((IDS[0], "its run has not ended; run its policy again"),)
    assert standing(repository) == [IDS[0], IDS[-1]]
    assert Workspace(repository.work_folder(IDS[0])).root.is_dir()


def test_one_whose_run_has_not_ended_stays_wherever_its_working_files_are(repository, tmp_path):
    """The policy said where, and a prune knows no policy."""
    away = replace(repository, work_path=tmp_path / "work")
    with away.acquire_lease() as held:
        held.open_work()
        Workspace(held.work_folder(IDS[0])).create()
        held.leave_work()
    assert prune(repository, 1).skipped == (
        (IDS[0], "its run has not ended; run its policy again"),
    )
    Workspace(away.work_folder(IDS[0])).remove()
    assert prune(repository, 1).removed == (IDS[0],)


def test_one_of_unknown_age_stays_and_does_not_count(repository):
    (repository.release(IDS[-2]) / "manifest.json").write_text("{")
    done = prune(repository, 2)
    assert standing(repository) == [IDS[-2], IDS[-3], IDS[-1]]
    [(name, reason)] = done.skipped
    assert name == IDS[-2]
    assert "cannot be read" in reason


def test_a_removed_release_is_said_to_be(repository):
    prune(repository, 2)
    [line] = read_lines(repository)
    for text in (IDS[0], IDS[0][:4]):
        with pytest.raises(OutputError, match=f"{text}' was removed by tclose prune") as refusal:
            pick_id(repository, text)
        assert str(line["at"]) in str(refusal.value)
    with pytest.raises(OutputError, match="no such release"):
        pick_id(repository, "zz")
    assert pick_id(repository, IDS[-1][:4]) == IDS[-1]


def test_plan_says_what_prune_does_and_writes_nothing(repository):
    before = tree(repository.root)
    planned = plan_pruning(repository, 2)
    assert tree(repository.root) == before
    assert prune(repository, 2) == planned


@pytest.mark.parametrize("content", [None, f"{fake_id('f')}\n"])
def test_nothing_goes_where_the_current_one_is_not_known(content, repository):
    if content is None:
        (repository.root / "CURRENT").unlink()
    else:
        (repository.root / "CURRENT").write_text(content)
    with pytest.raises(OutputError, match=r"no release is current|not there"):
        prune(repository, 1)
    assert standing(repository) == IDS


def test_nothing_goes_while_a_run_is_at_work(repository):
    with repository.acquire_lease(), pytest.raises(BusyError, match="another run is working"):
        prune(repository, 1)
    assert standing(repository) == IDS


class KilledError(Exception):
    pass


@pytest.mark.parametrize("when", ["before", "within"])
def test_stopped_prune_leaves_whole_releases_and_the_next_clears_up(when, repository, monkeypatch):
    """Stopped after the rename, or with half of the files deleted."""
    whole = {name: tree(repository.release(name)) for name in IDS}

    def killed(folder, **_):
        if when == "within":
            (folder / "manifest.json").unlink()
        raise KilledError

    monkeypatch.setattr("tclose.releases.stores.filesystem.shutil.rmtree", killed)
    with pytest.raises(KilledError):
        prune(repository, 2)
    monkeypatch.undo()
    assert standing(repository) == IDS[1:]
    assert all(tree(repository.release(name)) == whole[name] for name in IDS[1:])
    left = repository.root / ".work"
    assert [path.name for path in left.iterdir()] == [f"removed-{IDS[0]}"]
    assert left.stat().st_mode & 0o777 == 0o700
    assert prune(repository, 2).removed == tuple(IDS[1:3])
    assert standing(repository) == IDS[3:]
    assert not left.exists()


def test_run_clears_what_a_stopped_prune_has_left(repository, monkeypatch):
    monkeypatch.setattr("tclose.releases.stores.filesystem.shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(OutputError, match=r"removed-.*cannot be deleted; remove it by hand"):
        prune(repository, 4)
    monkeypatch.undo()
    repository.clear_work(keep=IDS[-1])  # as a run does when it begins
    assert not list((repository.root / ".work").iterdir())


def test_release_that_cannot_be_moved_stays_whole(repository, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(repository.root), "rename", refused)
    before = tree(repository.release(IDS[0]))
    with pytest.raises(OutputError, match="cannot be removed"):
        prune(repository, 4)
    assert tree(repository.release(IDS[0])) == before


def test_empty_repository_is_left_alone(repository):
    for name in IDS:
        shutil.rmtree(repository.release(name))
    assert prune(repository, 1).removed == ()
