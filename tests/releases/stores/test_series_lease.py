"""The lease of a series, which runs of several names hold beside their own.

The same on a folder whose file system has no locks that hold among machines, and in a bucket.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import pytest

from support.cases.repositories import fake_id
from support.length import every
from tclose.data.places.bucket_paths import BucketPath
from tclose.errors import BusyError, ConflictError, LostLeaseError, OutputError
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.stores import filesystem, lease
from tclose.releases.stores.folder_entries import COMMITTING

DEAD, ALIVE = 0.4, 6  # seconds that a lease lasts which nobody renews, and one that is renewed
ONE, OTHER = fake_id("a"), fake_id("b")
N_CHECKS = 4  # of the leases, while a release of one file is committed to a bucket


@pytest.fixture(params=["folder", "bucket"])
def series(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ReleaseRepository:
    if request.param == "folder":
        monkeypatch.setattr(filesystem.FolderStore, "_lock", lambda *_: False)
        return ReleaseRepository(tmp_path / "releases", "series")
    bucket = request.getfixturevalue("bucket")
    return ReleaseRepository(bucket / "releases", "series", tmp_path / "work")


@contextlib.contextmanager
def hold(series: ReleaseRepository, name: str, expiry: float) -> Iterator[ReleaseRepository]:
    """Hold the leases of a name and of its series, as a run does."""
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(replace(series, name=name).acquire_lease(expiry))
        beside = None
        if name != series.name:
            beside = stack.enter_context(series.acquire_lease(expiry))
        (beside or own).fence_beside(own, expiry)
        yield replace(own, beside=beside)


@pytest.fixture
def lost(series: ReleaseRepository, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseRepository]:
    """The repository of a run that is paused: nobody renews its leases."""
    with monkeypatch.context() as patch:
        patch.setattr(lease._Holder, "_renew", lambda _: None)
        context = hold(series, "first", DEAD)
        held = context.__enter__()
    yield held
    context.__exit__(None, None, None)


@dataclass(frozen=True)
class Paused(ReleaseRepository):
    """One whose run is paused between a check of its leases and the step that it allows."""

    at: int = 1
    meanwhile: Callable[[], None] = print
    checks: list[str] = field(default_factory=list)

    def check_lease(self) -> None:
        super().check_lease()
        self.checks.append("passed")
        if len(self.checks) == self.at:
            self.meanwhile()


def pause(held: ReleaseRepository, at: int, meanwhile: Callable[[], None]) -> Paused:
    own = (held.output, held.name, held.work_path, held.lease_token, held.beside)
    return Paused(*own, at, meanwhile)


def stage(held: ReleaseRepository, release_id: str) -> Path:
    folder = held.staging(release_id)
    (folder / "internal").mkdir(parents=True)
    for name in ("data.txt", "internal/plan.json", "manifest.json"):
        (folder / name).write_text("{}")
    return folder


def publish(series: ReleaseRepository, name: str) -> None:
    """A whole run of the series, on another machine."""
    elsewhere = replace(series, work_path=series.work_path and series.work_path / "elsewhere")
    with hold(elsewhere, name, ALIVE) as held:
        held.commit(stage(held, OTHER), OTHER)
        held.set_current(OTHER)


def count_checks(series: ReleaseRepository) -> int:
    return N_CHECKS if isinstance(series.root, BucketPath) else 1


@pytest.mark.parametrize(
    ("from_the_last", "name"), every(3, product(range(N_CHECKS), ["second", "series"]))
)
def test_commit_that_comes_too_late_fails_though_its_check_had_passed(
    from_the_last: int, name: str, series: ReleaseRepository, lost: ReleaseRepository
) -> None:
    """Nobody else works on its own name: the lease of the series alone was taken over."""
    at = max(count_checks(series) - from_the_last, 1)
    paused = pause(lost, at, lambda: publish(series, name))
    with pytest.raises((LostLeaseError, ConflictError), match="nothing was published"):
        paused.commit(stage(lost, ONE), ONE)
    assert len(paused.checks) == at
    assert lost.store.ids() == []
    other = replace(series, name=name)
    assert (other.store.ids(), other.current()) == ([OTHER], OTHER)
    assert series.store.names(COMMITTING) == []


def test_so_it_does_if_who_took_the_lease_over_died_at_once(
    series: ReleaseRepository, lost: ReleaseRepository
) -> None:
    """Before anything was fenced: whoever is next does it, and finds no lease to wait for."""

    def take_over_twice() -> None:
        with series.acquire_lease(ALIVE):
            pass
        publish(series, "second")

    paused = pause(lost, count_checks(series), take_over_twice)
    with pytest.raises((LostLeaseError, ConflictError), match="nothing was published"):
        paused.commit(stage(lost, ONE), ONE)
    assert lost.store.ids() == []


def test_what_was_committed_in_time_is_seen_by_who_takes_the_lease_over(
    series: ReleaseRepository, lost: ReleaseRepository
) -> None:
    lost.commit(stage(lost, ONE), ONE)
    assert series.store.names(COMMITTING) == []
    with hold(series, "second", ALIVE):
        assert lost.store.ids() == [ONE]
        with pytest.raises(LostLeaseError):
            lost.set_current(ONE)


@pytest.mark.parametrize("series", ["bucket"], indirect=True)
def test_rows_of_a_run_that_died_before_its_manifest_do_not_stay(
    series: ReleaseRepository, lost: ReleaseRepository
) -> None:
    """Recipients could read them, and no release of the series would be held to them."""

    def die() -> None:
        raise SystemExit

    paused = pause(lost, N_CHECKS, die)
    with pytest.raises(SystemExit):
        paused.commit(stage(lost, ONE), ONE)
    rows = lost.release(ONE) / "data.txt"
    assert rows.exists()
    with hold(series, "second", ALIVE):
        assert not rows.exists()


def test_series_waits_for_a_name_whose_run_may_yet_commit(series: ReleaseRepository) -> None:
    """Such a run has lost the lease of the series, and renews that of its name."""
    with replace(series, name="first").acquire_lease(ALIVE), series.acquire_lease(ALIVE) as held:
        series.store.create(f"{COMMITTING}/token", b"first")
        with pytest.raises(BusyError, match="working on the releases of 'first'"):
            held.fence_beside(held, ALIVE)
    assert series.store.names(COMMITTING) == ["token"]
    with hold(series, "first", ALIVE):  # a run of that name has fenced what was staged there
        assert series.store.names(COMMITTING) == []


@pytest.mark.parametrize("content", [b"", b"..", b"../elsewhere"])
def test_damaged_note_is_refused(content: bytes, series: ReleaseRepository) -> None:
    with series.acquire_lease(ALIVE) as held:
        series.store.create(f"{COMMITTING}/token", content)
        with pytest.raises(OutputError, match=r"token: is damaged.*then remove it"):
            held.fence_beside(held, ALIVE)
