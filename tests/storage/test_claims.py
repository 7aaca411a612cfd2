"""The claim: one at a time, taken over when its holder is dead, and never by a clock's word.

The same on a folder whose file system has no locks that hold among machines, and in a bucket.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from pipeline.errors import BusyError, ConflictError, LostClaimError, OutputError
from pipeline.storage import claims, folder_store
from pipeline.storage.buckets import BucketPath
from pipeline.storage.places import Place, internal_of
from pipeline.storage.releases import Shelf, open_store
from support.cases import tree
from support.shelves import fake_id

DEAD = 0.4  # seconds that a claim stands which nobody renews
ALIVE = 6  # and one that is renewed, also on a busy machine
OLD, NEW = fake_id("a"), fake_id("b")
N_CHECKS = 4  # of the claim, while a release of one file is committed to a bucket


@pytest.fixture(params=["folder", "bucket"])
def shelf(request, tmp_path, monkeypatch):
    if request.param == "folder":
        monkeypatch.setattr(folder_store.FolderStore, "_lock", lambda *_: False)
        return Shelf(tmp_path / "releases", "people")
    return Shelf(request.getfixturevalue("bucket") / "releases", "people", tmp_path / "work")


def claim_of_a_dead_run(shelf: Shelf, **changes) -> str:
    """What a run leaves that was killed on another machine; the name of its file."""
    told = {"token": "0" * 32, "host": "far", "pid": 7, "machine": "other", "expiry": DEAD}
    if not isinstance(shelf.root, BucketPath):
        shelf.root.mkdir(parents=True)
    name = "claims/0000000000000004"
    assert shelf.store.create(name, json.dumps(told | changes).encode())
    return name


def stage(held: Shelf, release_id: str, made_by: str = "") -> None:
    """Stage a release of one file; of two runs that make it, the manifests differ."""
    folder = held.staging(release_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.txt").write_text(release_id)
    (folder / "internal").mkdir(exist_ok=True)
    (folder / "internal" / "plan.json").write_text(json.dumps({"made_by": made_by}))
    manifest = {"release_id": release_id, "made_by": made_by}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def publish(held: Shelf, release_id: str, made_by: str = "") -> None:
    """Publish a release of one file."""
    stage(held, release_id, made_by)
    held.commit(held.staging(release_id), release_id)
    held.set_current(release_id)


def test_second_claim_is_refused_while_the_first_is_alive(shelf):
    told = []
    with shelf.claim(ALIVE):
        started = time.monotonic()
        with pytest.raises(BusyError, match=r"another run is working.*process"):
            shelf.claim(ALIVE, told.append).__enter__()
        assert time.monotonic() - started < ALIVE  # it was seen to be renewed
        assert "holds the claim" in told[0]
    with shelf.claim(ALIVE) as held:
        held.check_claim()


def test_nothing_of_a_claim_stays(shelf):
    with shelf.claim(ALIVE):
        pass
    assert shelf.store.names("claims") == []
    if isinstance(shelf.root, BucketPath):
        assert list(shelf.root.rglob()) == []
    else:
        assert tree(shelf.root.parent) == {}


def test_of_many_at_once_one_gets_it(shelf):
    n, got, busy = 6, [], []
    ready, tried = threading.Barrier(n), threading.Barrier(n)

    def attempt(index):
        ready.wait()
        try:
            with shelf.claim(ALIVE):
                got.append(index)
                tried.wait()
        except BusyError:
            busy.append(index)
            tried.wait()

    threads = [threading.Thread(target=attempt, args=(index,)) for index in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(busy)) == (1, n - 1)


def test_claim_of_a_dead_run_is_taken_over_after_its_expiry_and_not_before(shelf):
    name = claim_of_a_dead_run(shelf)
    started = time.monotonic()
    with shelf.claim() as held:
        assert time.monotonic() - started >= DEAD
        held.check_claim()
        assert shelf.store.read(name) is None
        publish(held, NEW)
    assert shelf.current() == NEW


@pytest.mark.parametrize("said", ["soon", -1, 1e12, None, [1]])
def test_claim_that_was_damaged_is_over_in_the_usual_time(said, shelf, monkeypatch):
    monkeypatch.setattr(claims, "EXPIRY", DEAD)
    claim_of_a_dead_run(shelf, expiry=said)
    with shelf.claim(ALIVE) as held:
        held.check_claim()


def test_wall_clocks_decide_nothing(shelf, monkeypatch):
    """Neither a clock that jumps here, nor what another machine believes the time to be."""
    monkeypatch.setattr(time, "time", lambda: 4e9)
    with shelf.claim(ALIVE), pytest.raises(BusyError):
        shelf.claim(ALIVE).__enter__()


def test_dead_of_this_machine_are_not_waited_for(tmp_path):
    shelf = Shelf(tmp_path / "releases", "people")
    claim_of_a_dead_run(shelf, machine=folder_store.name_machine(), expiry=600)
    started = time.monotonic()
    with shelf.claim():
        assert time.monotonic() - started < 5


@pytest.fixture
def lost(shelf, monkeypatch):
    """The shelf of a run that was stopped, and whose claim another one has taken over meanwhile."""
    with monkeypatch.context() as patch:
        patch.setattr(claims._Holder, "_renew", lambda _: None)
        context = shelf.claim(DEAD)
        held = context.__enter__()
    yield held
    context.__exit__(None, None, None)


def test_run_that_lost_its_claim_publishes_nothing(shelf, lost):
    stage(lost, OLD)
    with shelf.claim(ALIVE) as other:
        for step in (
            lost.check_claim,
            lambda: publish(lost, OLD),
            lambda: lost.set_current(OLD),
            lambda: lost.take_away(OLD),
        ):
            with pytest.raises(LostClaimError, match="nothing was published"):
                step()
        publish(other, NEW)
    assert shelf.current() == NEW
    assert shelf.store.ids() == [NEW]


def test_run_without_claim_writes_nothing(shelf):
    with pytest.raises(LostClaimError):
        shelf.set_current(NEW)


@dataclass
class Interrupted:
    """A check after which, before the step that it allows, another run takes the claim over."""

    shelf: Shelf
    held: Shelf
    at: int
    n_checks: int = 0
    other: contextlib.ExitStack | None = None

    def __call__(self) -> None:
        self.held.check_claim()
        self.n_checks += 1
        if self.n_checks == self.at:
            self.other = contextlib.ExitStack()
            self.other.enter_context(self.shelf.claim(ALIVE))


@pytest.mark.parametrize("from_the_last", range(N_CHECKS))
def test_commit_that_comes_too_late_fails_though_its_check_had_passed(from_the_last, shelf, lost):
    """The step itself has a condition: safety does not hang on how quickly it follows."""
    stage(lost, OLD)
    n_checks = N_CHECKS if isinstance(shelf.root, BucketPath) else 1
    late = Interrupted(shelf, lost, max(n_checks - from_the_last, 1))
    with pytest.raises((LostClaimError, ConflictError), match="nothing was published"):
        lost.store.commit(lost.staging(OLD), OLD, lost.ticket.token, late)
    assert late.other is not None
    with late.other:
        assert shelf.store.ids() == []
        assert shelf.current() is None


def test_current_that_is_moved_too_late_does_not_undo_what_came_after(shelf, lost):
    """The holder was stopped before CURRENT moved; a rollback to the same release came between."""
    publish(lost, OLD)

    def overtaken():
        with shelf.claim(ALIVE) as other:
            publish(other, NEW)
            other.set_current(OLD)
            other.set_current(NEW)
            other.set_current(OLD)

    with pytest.raises((LostClaimError, ConflictError)):
        lost.store.point(fake_id("c"), lost.ticket.token, overtaken)
    assert shelf.current() == OLD


@dataclass
class Overtaken:
    """A check after which, before the step that it allows, another run begins, works and ends."""

    shelf: Shelf
    held: Shelf
    work: Callable[[Shelf], None]
    at: int = 1
    n_checks: int = 0

    def __call__(self) -> None:
        self.held.check_claim()
        self.n_checks += 1
        if self.n_checks == self.at:
            with self.shelf.claim(ALIVE) as other:
                self.work(other)


@pytest.mark.parametrize("at", range(1, N_CHECKS + 1))
@pytest.mark.parametrize("stands", [False, True])
def test_commit_that_comes_too_late_leaves_what_another_has_published(stands, at, shelf, lost):
    """The same release, damaged or not there before: both runs set out to make it."""
    if stands:
        publish(lost, OLD, "a run before")
    stage(lost, OLD, "the late one")
    elsewhere = replace(shelf, work_path=shelf.work_path and shelf.work_path / "elsewhere")
    late = Overtaken(elsewhere, lost, lambda other: publish(other, OLD, "the other"), at)
    with contextlib.suppress(LostClaimError, ConflictError):
        lost.store.commit(lost.staging(OLD), OLD, lost.ticket.token, late)
    if late.n_checks < at:
        assert not isinstance(shelf.root, BucketPath)
        assert at > 1
        return  # there are not so many: the commit has come in time
    assert shelf.current() == OLD
    for place in (
        shelf.release(OLD) / "manifest.json",
        internal_of(shelf.release(OLD)) / "plan.json",
    ):
        assert json.loads(place.read_text())["made_by"] == "the other"


def test_current_is_not_moved_to_what_was_removed_meanwhile(shelf, lost):
    """A rollback was stopped before its last step; a prune came between."""
    publish(lost, OLD)
    publish(lost, NEW)
    late = Overtaken(shelf, lost, lambda other: other.take_away(OLD))
    with pytest.raises((LostClaimError, ConflictError)):
        lost.store.point(OLD, lost.ticket.token, late)
    assert shelf.current() == NEW
    assert shelf.store.ids() == [NEW]


@pytest.mark.parametrize("shelf", ["folder"], indirect=True)
def test_prune_that_comes_too_late_does_not_remove_the_current_release(shelf, lost):
    """It was stopped before its last step; a rollback came between."""
    publish(lost, OLD)
    publish(lost, NEW)
    late = Overtaken(shelf, lost, lambda other: other.set_current(OLD))
    with pytest.raises(LostClaimError):
        lost.store.take_away(OLD, lost.ticket.token, late)
    assert shelf.current() == OLD
    assert OLD in shelf.store.ids()


@pytest.mark.parametrize("shelf", ["bucket"], indirect=True)
def test_release_that_a_dead_run_had_committed_becomes_current(shelf, lost):
    stage(lost, OLD)
    lost.commit(lost.staging(OLD), OLD)
    assert shelf.current() is None
    with shelf.claim(ALIVE):
        assert shelf.current() == OLD
    assert shelf.store.names("begun") == []


@pytest.mark.parametrize("shelf", ["bucket"], indirect=True)
def test_release_that_was_withdrawn_can_be_published_again(shelf, lost):
    stage(lost, OLD)
    late = Interrupted(shelf, lost, N_CHECKS)
    with pytest.raises(ConflictError):
        lost.store.commit(lost.staging(OLD), OLD, lost.ticket.token, late)
    late.other.close()
    with shelf.claim(ALIVE) as held:
        held.clear_leftovers()
        publish(held, OLD)
    assert shelf.store.ids() == [OLD]


def test_server_without_conditions_is_refused(bucket, monkeypatch):
    put = BucketPath._call

    def unconditional(place, method, **arguments):
        for name in ("IfMatch", "IfNoneMatch"):
            arguments.pop(name, None)
        return put(place, method, **arguments)

    monkeypatch.setattr(BucketPath, "_call", unconditional)
    with pytest.raises(OutputError, match="ignores conditional writes"):
        Shelf(bucket, "people").claim().__enter__()
    monkeypatch.undo()
    assert list(bucket.rglob()) == []


def test_whoever_writes_where_conditions_are_tried_is_told_of(bucket, monkeypatch):
    put = BucketPath.put

    def contested(place, data, tag):
        if place.name.startswith("probe-") and tag is None:
            put(place, b"of somebody else", None)
        return put(place, data, tag)

    monkeypatch.setattr(BucketPath, "put", contested)
    with pytest.raises(ConflictError, match="commit conflict"):
        Shelf(bucket, "people").claim().__enter__()


def test_file_is_made_whole_or_not_at_all(shelf: Shelf):
    with shelf.claim(ALIVE) as held:
        place: Place = held.root
        assert open_store(place).create("failed/1", b"first")
        assert not open_store(place).create("failed/1", b"second")
        assert open_store(place).read("failed/1") == b"first"
