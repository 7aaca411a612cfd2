"""Prune: the oldest go, the current one never, and a crash leaves no half release."""

import shutil
from dataclasses import replace

import pytest

from pipeline.errors import BusyError, OutputError
from pipeline.storage import folder_store
from pipeline.storage.journal import read_lines
from pipeline.storage.prune import plan_pruning, prune
from pipeline.storage.register import list_entries
from support.cases import tree
from support.shelves import fake_id, fake_shelf, move_current

IDS = [fake_id(text) for text in "edcba"]


@pytest.fixture
def shelf(tmp_path):
    return fake_shelf(tmp_path, *IDS)


def standing(shelf):
    return [entry.release_id for entry in list_entries(shelf)]


@pytest.mark.parametrize("keep", [1, 2, 4])
def test_newest_stay_and_the_others_go(keep, shelf):
    done = prune(shelf, keep)
    assert done.removed == tuple(IDS[:-keep])
    assert done.kept == tuple(IDS[-keep:])
    assert standing(shelf) == IDS[-keep:]
    assert {path.name for path in shelf.root.iterdir()} == {
        *IDS[-keep:], "CURRENT", ".lock", ".journal.jsonl"
    }  # fmt: skip
    [line] = read_lines(shelf)
    assert line["removed"] == IDS[:-keep]


@pytest.mark.parametrize("keep", [5, 6, 100])
def test_nothing_goes_where_enough_may_stay(keep, shelf):
    before = tree(shelf.root)
    assert prune(shelf, keep).removed == ()
    assert tree(shelf.root) == before


@pytest.mark.parametrize("current", IDS)
def test_current_one_stays_however_old_it_is(current, shelf):
    move_current(shelf, current)
    done = prune(shelf, 1)
    assert standing(shelf) == [name for name in IDS if name in (current, IDS[-1])]
    spared = {} if current == IDS[-1] else {current: "it is the current one"}
    assert dict(done.spared) == spared
    assert shelf.current() == current


def test_one_whose_run_has_not_ended_stays(shelf):
    shelf.open_work()
    shelf.workspace(IDS[0]).create()
    done = prune(shelf, 1)
    assert done.spared == ((IDS[0], "its run has not ended; run its policy again"),)
    assert standing(shelf) == [IDS[0], IDS[-1]]
    assert shelf.workspace(IDS[0]).root.is_dir()


def test_one_whose_run_has_not_ended_stays_wherever_its_working_files_are(shelf, tmp_path):
    """The policy said where, and a prune knows no policy."""
    away = replace(shelf, work_path=tmp_path / "work")
    with away.claim() as held:
        held.open_work()
        held.workspace(IDS[0]).create()
        held.leave_work()
    assert prune(shelf, 1).spared == ((IDS[0], "its run has not ended; run its policy again"),)
    away.workspace(IDS[0]).remove()
    assert prune(shelf, 1).removed == (IDS[0],)


def test_one_of_unknown_age_stays_and_does_not_count(shelf):
    (shelf.release(IDS[-2]) / "manifest.json").write_text("{")
    done = prune(shelf, 2)
    assert standing(shelf) == [IDS[-2], IDS[-3], IDS[-1]]
    [(name, reason)] = done.spared
    assert name == IDS[-2]
    assert "cannot be read" in reason


def test_plan_says_what_prune_does_and_writes_nothing(shelf):
    before = tree(shelf.root)
    planned = plan_pruning(shelf, 2)
    assert tree(shelf.root) == before
    assert prune(shelf, 2) == planned


@pytest.mark.parametrize("content", [None, f"{fake_id('f')}\n"])
def test_nothing_goes_where_the_current_one_is_not_known(content, shelf):
    if content is None:
        (shelf.root / "CURRENT").unlink()
    else:
        (shelf.root / "CURRENT").write_text(content)
    with pytest.raises(OutputError, match=r"no release is current|not there"):
        prune(shelf, 1)
    assert standing(shelf) == IDS


def test_nothing_goes_while_a_run_is_at_work(shelf):
    with shelf.claim(), pytest.raises(BusyError, match="another run is working"):
        prune(shelf, 1)
    assert standing(shelf) == IDS


class KilledError(Exception):
    pass


@pytest.mark.parametrize("when", ["before", "within"])
def test_stopped_prune_leaves_whole_releases_and_the_next_clears_up(when, shelf, monkeypatch):
    """Stopped after the rename, or with half of the files deleted."""
    whole = {name: tree(shelf.release(name)) for name in IDS}

    def killed(folder, **_):
        if when == "within":
            (folder / "manifest.json").unlink()
        raise KilledError

    monkeypatch.setattr(folder_store.shutil, "rmtree", killed)
    with pytest.raises(KilledError):
        prune(shelf, 2)
    monkeypatch.undo()
    assert standing(shelf) == IDS[1:]
    assert all(tree(shelf.release(name)) == whole[name] for name in IDS[1:])
    left = shelf.root / ".work"
    assert [path.name for path in left.iterdir()] == [f"removed-{IDS[0]}"]
    assert left.stat().st_mode & 0o777 == 0o700
    assert prune(shelf, 2).removed == tuple(IDS[1:3])
    assert standing(shelf) == IDS[3:]
    assert not left.exists()


def test_run_clears_what_a_stopped_prune_has_left(shelf, monkeypatch):
    monkeypatch.setattr(folder_store.shutil, "rmtree", lambda *_, **__: None)
    with pytest.raises(OutputError, match=r"removed-.*cannot be deleted; remove it by hand"):
        prune(shelf, 4)
    monkeypatch.undo()
    shelf.clear_work(keep=IDS[-1])  # as a run does when it begins
    assert not list((shelf.root / ".work").iterdir())


def test_release_that_cannot_be_moved_stays_whole(shelf, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(shelf.root), "rename", refused)
    before = tree(shelf.release(IDS[0]))
    with pytest.raises(OutputError, match="cannot be removed"):
        prune(shelf, 4)
    assert tree(shelf.release(IDS[0])) == before


def test_empty_shelf_is_left_alone(shelf):
    for name in IDS:
        shutil.rmtree(shelf.release(name))
    assert prune(shelf, 1).removed == ()
