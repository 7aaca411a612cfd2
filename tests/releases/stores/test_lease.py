"""The lease: one at a time, taken over when its holder is dead, and never by a clock's word.

The same on a folder whose file system has no locks that hold among machines, and in a bucket.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.cases.people import tree
from support.cases.repositories import fake_id
from support.length import every
from tclose.data.places.bucket_paths import BucketPath
from tclose.data.places.locations import Location, internal_of
from tclose.errors import BusyError, ConflictError, LostLeaseError, OutputError
from tclose.releases.repository.repository import ReleaseRepository, open_store
from tclose.releases.stores import filesystem, lease

DEAD = 0.4  # seconds that a lease stands which nobody renews
ALIVE = 6  # and one that is renewed, also on a busy machine
OLD, NEW = fake_id("a"), fake_id("b")
N_CHECKS = 4  # of the lease, while a release of one file is committed to a bucket


@pytest.fixture(params=["folder", "bucket"])
def repository(request, tmp_path, monkeypatch):
    if request.param == "folder":
        monkeypatch.setattr(filesystem.FolderStore, "_lock", lambda *_: False)
        return ReleaseRepository(tmp_path / "releases", "people")
    return ReleaseRepository(
        request.getfixturevalue("bucket") / "releases", "people", tmp_path / "work"
    )


def lease_of_a_dead_run(repository: ReleaseRepository, **changes) -> str:
    """What a run leaves that was killed on another machine; the name of its file."""
    told = {"token": "0" * 32, "host": "far", "pid": 7, "machine": "other", "expiry": DEAD}
    if not isinstance(repository.root, BucketPath):
        repository.root.mkdir(parents=True)
    name = "claims/0000000000000004"
    assert repository.store.create(name, json.dumps(told | changes).encode())
    return name


def stage(held: ReleaseRepository, release_id: str, made_by: str = "") -> None:
    """Stage a release of one file; of two runs that make it, the manifests differ."""
    folder = held.staging(release_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.txt").write_text(release_id)
    (folder / "internal").mkdir(exist_ok=True)
    (folder / "internal" / "plan.json").write_text(json.dumps({"made_by": made_by}))
    manifest = {"release_id": release_id, "made_by": made_by}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def publish(held: ReleaseRepository, release_id: str, made_by: str = "") -> None:
    """Publish a release of one file."""
    stage(held, release_id, made_by)
    held.commit(held.staging(release_id), release_id)
    held.set_current(release_id)


def test_second_lease_is_refused_while_the_first_is_alive(repository):
    told: list[Any] = []
    with repository.acquire_lease(ALIVE):
        with pytest.raises(BusyError, match=r"another run is working.*process"):
            repository.acquire_lease(ALIVE, told.append).__enter__()
        assert "holds the lease" in told[0]
    with repository.acquire_lease(ALIVE) as held:
        held.check_lease()


def test_nothing_of_a_lease_stays(repository):
    with repository.acquire_lease(ALIVE):
        pass
    assert repository.store.names("claims") == []
    if isinstance(repository.root, BucketPath):
        assert list(repository.root.rglob()) == []
    else:
        assert tree(repository.root.parent) == {}


def test_of_many_at_once_one_gets_it(repository):
    n, got, busy = 6, [], []
    ready, tried = threading.Barrier(n), threading.Barrier(n)

    def attempt(index):
        ready.wait()
        try:
            with repository.acquire_lease(
                5 * ALIVE
            ):  # of which each look has to find it renewed in time
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


def test_lease_of_a_dead_run_is_taken_over_after_its_expiry_and_not_before(repository):
    name = lease_of_a_dead_run(repository)
    started = time.monotonic()
    with repository.acquire_lease() as held:
        assert time.monotonic() - started >= DEAD
        held.check_lease()
        assert repository.store.read(name) is None
        publish(held, NEW)
    assert repository.current() == NEW


def test_lease_is_lost_to_a_higher_one(repository):
    """Though its own file is still there: of two that took over at once the higher number holds."""
    with repository.acquire_lease(ALIVE) as held:
        [own] = repository.store.names("claims")
        higher = f"claims/{int(own) + 1:016d}"
        assert repository.store.create(higher, json.dumps({"token": "1" * 32}).encode())
        with pytest.raises(LostLeaseError):
            held.check_lease()
        repository.store.remove(higher)


def test_lease_is_lost_to_another_of_its_number(repository):
    """Whose holder found no lease: this one's file was removed, so that its number was free."""
    with repository.acquire_lease(ALIVE) as held:
        [own] = [f"claims/{name}" for name in repository.store.names("claims")]
        repository.store.remove(own)
        assert repository.store.create(own, json.dumps({"token": "1" * 32}).encode())
        with pytest.raises(LostLeaseError):
            held.check_lease()
        repository.store.remove(own)


def test_lease_that_begins_beside_another_ends_itself(repository, monkeypatch):
    """Which somebody took in the time since the dead one was looked at, and who may be alive."""
    lease_of_a_dead_run(repository)
    other = "claims/0000000000000006"
    watch = lease._watch

    def take_meanwhile(store, *others):
        seen = watch(store, *others)
        assert store.create(other, json.dumps({"token": "1" * 32}).encode())
        return seen

    monkeypatch.setattr(lease, "_watch", take_meanwhile)
    with pytest.raises(BusyError, match="it has just begun"):
        repository.acquire_lease(ALIVE).__enter__()
    assert repository.store.read(other) is not None
    assert "0000000000000005" not in repository.store.names("claims")


@pytest.mark.parametrize("ends", ["itself", "and is taken over"])
def test_number_that_is_given_again_is_of_another_lease(ends, repository, monkeypatch):
    """The one that was looked at has ended since, and a run that is alive has its number."""
    name = lease_of_a_dead_run(repository)
    watch = lease._watch

    def give_again(store, *others):
        if ends == "itself":
            store.remove(name)
        seen = watch(store, *others)
        store.remove(name)
        assert store.create(name, json.dumps({"token": "1" * 32}).encode())
        return seen

    monkeypatch.setattr(lease, "_watch", give_again)
    with pytest.raises(BusyError, match="it has just begun"):
        repository.acquire_lease(ALIVE).__enter__()
    assert json.loads(repository.store.read(name))["token"] == "1" * 32
    assert repository.store.names("claims") == ["0000000000000004"]


@pytest.mark.parametrize("said", ["soon", -1, 1e12, None, [1]])
def test_lease_that_was_damaged_is_over_in_the_usual_time(said, repository, monkeypatch):
    monkeypatch.setattr(lease, "EXPIRY", DEAD)
    lease_of_a_dead_run(repository, expiry=said)
    with repository.acquire_lease(ALIVE) as held:
        held.check_lease()


def test_wall_clocks_decide_nothing(repository, monkeypatch):
    """Neither a clock that jumps here, nor what another machine believes the time to be."""
    monkeypatch.setattr(time, "time", lambda: 4e9)
    with repository.acquire_lease(ALIVE), pytest.raises(BusyError):
        repository.acquire_lease(ALIVE).__enter__()


def test_dead_of_this_machine_are_not_waited_for(tmp_path):
    repository = ReleaseRepository(tmp_path / "releases", "people")
    lease_of_a_dead_run(repository, machine=filesystem.name_machine(), expiry=600)
    told: list[Any] = []
    with repository.acquire_lease(notify=told.append):
        assert told == []  # nor said to be


@pytest.fixture
def lost(repository, monkeypatch):
    """The repository of a run that was stopped, whose lease another one has taken over since."""
    with monkeypatch.context() as patch:
        patch.setattr(lease._Holder, "_renew", lambda _: None)
        context = repository.acquire_lease(DEAD)
        held = context.__enter__()
    yield held
    context.__exit__(None, None, None)


def test_run_that_lost_its_lease_publishes_nothing(repository, lost):
    stage(lost, OLD)
    with repository.acquire_lease(ALIVE) as other:
        for step in (
            lost.check_lease,
            lambda: publish(lost, OLD),
            lambda: lost.set_current(OLD),
            lambda: lost.delete_release(OLD),
        ):
            with pytest.raises(LostLeaseError, match="nothing was published"):
                step()
        publish(other, NEW)
    assert repository.current() == NEW
    assert repository.store.ids() == [NEW]


def test_run_without_lease_writes_nothing(repository):
    with pytest.raises(LostLeaseError):
        repository.set_current(NEW)


@dataclass
class Interrupted:
    """A check after which, before the step that it allows, another run takes the lease over."""

    repository: ReleaseRepository
    held: ReleaseRepository
    at: int
    n_checks: int = 0
    other: contextlib.ExitStack | None = None

    def __call__(self) -> None:
        self.held.check_lease()
        self.n_checks += 1
        if self.n_checks == self.at:
            self.other = contextlib.ExitStack()
            self.other.enter_context(self.repository.acquire_lease(ALIVE))


@pytest.mark.parametrize("from_the_last", every(2, range(N_CHECKS)))
def test_commit_that_comes_too_late_fails_though_its_check_had_passed(
    from_the_last, repository, lost
):
    """The step itself has a condition: safety does not hang on how quickly it follows."""
    stage(lost, OLD)
    n_checks = N_CHECKS if isinstance(repository.root, BucketPath) else 1
    late = Interrupted(repository, lost, max(n_checks - from_the_last, 1))
    with pytest.raises((LostLeaseError, ConflictError), match="nothing was published"):
        lost.store.commit(lost.staging(OLD), OLD, lost.lease_token.token, late)
    assert late.other is not None
    with late.other:
        assert repository.store.ids() == []
        assert repository.current() is None


def test_current_that_is_moved_too_late_does_not_undo_what_came_after(repository, lost):
    """The holder was stopped before CURRENT moved; a rollback to the same release came between."""
    publish(lost, OLD)

    def overtaken():
        with repository.acquire_lease(ALIVE) as other:
            publish(other, NEW)
            other.set_current(OLD)
            other.set_current(NEW)
            other.set_current(OLD)

    with pytest.raises((LostLeaseError, ConflictError)):
        lost.store.point(fake_id("c"), lost.lease_token.token, overtaken)
    assert repository.current() == OLD


@dataclass
class Overtaken:
    """A check after which, before the step that it allows, another run begins, works and ends."""

    repository: ReleaseRepository
    held: ReleaseRepository
    work: Callable[[ReleaseRepository], None]
    at: int = 1
    n_checks: int = 0

    def __call__(self) -> None:
        self.held.check_lease()
        self.n_checks += 1
        if self.n_checks == self.at:
            with self.repository.acquire_lease(ALIVE) as other:
                self.work(other)


@pytest.mark.parametrize(("stands", "at"), every(3, product([True, False], range(1, N_CHECKS + 1))))
def test_commit_that_comes_too_late_leaves_what_another_has_published(stands, at, repository, lost):
    """The same release, damaged or not there before: both runs set out to make it."""
    if stands:
        publish(lost, OLD, "a run before")
    stage(lost, OLD, "the late one")
    elsewhere = replace(
        repository, work_path=repository.work_path and repository.work_path / "elsewhere"
    )
    late = Overtaken(elsewhere, lost, lambda other: publish(other, OLD, "the other"), at)
    with contextlib.suppress(LostLeaseError, ConflictError):
        lost.store.commit(lost.staging(OLD), OLD, lost.lease_token.token, late)
    if late.n_checks < at:
        assert not isinstance(repository.root, BucketPath)
        assert at > 1
        return  # there are not so many: the commit has come in time
    assert repository.current() == OLD
    for place in (
        repository.release(OLD) / "manifest.json",
        internal_of(repository.release(OLD)) / "plan.json",
    ):
        assert json.loads(place.read_text())["made_by"] == "the other"


def test_current_is_not_moved_to_what_was_removed_meanwhile(repository, lost):
    """A rollback was stopped before its last step; a prune came between."""
    publish(lost, OLD)
    publish(lost, NEW)
    late = Overtaken(repository, lost, lambda other: other.delete_release(OLD))
    with pytest.raises((LostLeaseError, ConflictError)):
        lost.store.point(OLD, lost.lease_token.token, late)
    assert repository.current() == NEW
    assert repository.store.ids() == [NEW]


@pytest.mark.parametrize("repository", ["folder"], indirect=True)
def test_prune_that_comes_too_late_does_not_remove_the_current_release(repository, lost):
    """It was stopped before its last step; a rollback came between."""
    publish(lost, OLD)
    publish(lost, NEW)
    late = Overtaken(repository, lost, lambda other: other.set_current(OLD))
    with pytest.raises(LostLeaseError):
        lost.store.delete_release(OLD, lost.lease_token.token, late)
    assert repository.current() == OLD
    assert OLD in repository.store.ids()


def test_release_that_a_dead_run_had_committed_becomes_current(repository, lost):
    stage(lost, OLD)
    lost.commit(lost.staging(OLD), OLD)
    assert repository.current() is None
    told: list[str] = []
    with repository.acquire_lease(ALIVE, told.append) as held:
        assert repository.current() == OLD
        assert f"release {OLD}, which a stopped run has published, is current now" in told
        publish(held, NEW)
    assert repository.store.names("begun") == []
    with repository.acquire_lease(ALIVE):
        assert repository.current() == NEW


@pytest.mark.parametrize("repository", ["folder"], indirect=True)
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_note_of_a_release_that_was_moved_stays(error, repository, lost, monkeypatch):
    """Though the commit ended in an error, or by an interrupt, right after it."""
    publish(lost, NEW)
    stage(lost, OLD)

    def fail(folder: Path) -> None:
        if folder == repository.root:
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(filesystem, "force_to_disk", fail)
        with pytest.raises(error):
            lost.commit(lost.staging(OLD), OLD)
    assert repository.current() == NEW
    with repository.acquire_lease(ALIVE):
        assert repository.current() == OLD


@pytest.mark.parametrize("repository", ["folder"], indirect=True)
def test_note_of_a_commit_that_failed_moves_nothing(repository, lost):
    """Another run can have made the same release, and a rollback have left it."""
    with pytest.raises(LostLeaseError):
        lost.store.commit(lost.staging(OLD) / "missing", OLD, lost.lease_token.token, lambda: None)
    publish(lost, OLD)
    publish(lost, NEW)
    with repository.acquire_lease(ALIVE):
        assert repository.current() == NEW
    assert repository.store.names("begun") == []


def test_what_a_failed_run_has_staged_is_removed(repository, lost):
    stage(lost, OLD)
    lost.abandon()
    assert not repository.store.has_leftovers()


@pytest.mark.parametrize("repository", ["bucket"], indirect=True)
def test_release_that_was_withdrawn_can_be_published_again(repository, lost):
    stage(lost, OLD)
    late = Interrupted(repository, lost, N_CHECKS)
    with pytest.raises(ConflictError):
        lost.store.commit(lost.staging(OLD), OLD, lost.lease_token.token, late)
    late.other.close()
    with repository.acquire_lease(ALIVE) as held:
        held.clear_leftovers()
        publish(held, OLD)
    assert repository.store.ids() == [OLD]


def test_leftovers_of_a_commit_that_was_stopped(repository, lost):
    assert not repository.store.has_leftovers()
    stage(lost, OLD)
    if isinstance(repository.root, BucketPath):
        late = Interrupted(repository, lost, N_CHECKS)
        with pytest.raises(ConflictError):
            lost.store.commit(lost.staging(OLD), OLD, lost.lease_token.token, late)
        late.other.close()
    assert repository.store.has_leftovers()
    with repository.acquire_lease(ALIVE) as held:
        held.clear_leftovers()
    assert not repository.store.has_leftovers()  # a mark of withdrawal is none


def test_server_without_conditions_is_refused(bucket, monkeypatch):
    put = BucketPath._call

    def unconditional(place, method, **arguments):
        for name in ("IfMatch", "IfNoneMatch"):
            arguments.pop(name, None)
        return put(place, method, **arguments)

    monkeypatch.setattr(BucketPath, "_call", unconditional)
    with pytest.raises(OutputError, match="ignores conditional writes"):
        ReleaseRepository(bucket, "people").acquire_lease().__enter__()
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
        ReleaseRepository(bucket, "people").acquire_lease().__enter__()


def test_file_is_made_whole_or_not_at_all(repository: ReleaseRepository):
    with repository.acquire_lease(ALIVE) as held:
        place: Location = held.root
        assert open_store(place).create("failed/1", b"first")
        assert not open_store(place).create("failed/1", b"second")
        assert open_store(place).read("failed/1") == b"first"


def test_run_that_is_refused_leaves_the_lock_of_another(tmp_path, monkeypatch):
    """Both found no folder, so that either may take it for its own."""
    store = filesystem.FolderStore(tmp_path / "releases" / "people")
    with store.lock():
        monkeypatch.setattr(filesystem.FolderStore, "_make_folders", lambda one: [one.root])
        with pytest.raises(BusyError):
            store.lock().__enter__()
        assert (store.root / filesystem.LOCK).exists()
    assert not store.root.exists()
