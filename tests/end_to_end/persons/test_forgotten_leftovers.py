"""A person is forgotten where runs, clean-ups and prunes were killed: her hash is left nowhere."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.cases.people import Released, release
from support.cases.series_months import SeriesMonths, read_classes
from tclose.errors import BusyError, OutputError, PolicyError
from tclose.passes.compare.keyed_hashes import derive_key
from tclose.passes.persons.named_key import PERSON_PURPOSE
from tclose.passes.publish import publish as publishing
from tclose.passes.series.forget_person import ForgottenPerson, forget_person, hash_spellings
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.stores.folder_entries import COMMITTING
from tclose.runtime.run import Run

pytestmark = pytest.mark.usefixtures("small_regions")


class Stopped(BaseException):
    """As a kill: nothing is cleaned up."""


def stop(*_: Any, **__: Any) -> None:
    raise Stopped


def forget(place: SeriesMonths, person: str) -> ForgottenPerson:
    return forget_person(parse_policy(place.policy(0)), person, lambda _: None)


def find_files(place: SeriesMonths, person: str) -> list[Path]:
    """Working files and registers that were taken away which have her hash."""
    key = (place.folder / "releases" / ".release-key").read_bytes()
    own = [row.tobytes()[:8] for row in hash_spellings(person, derive_key(key, PERSON_PURPOSE))]
    found = [path for path in place.folder.rglob(".work/**/*") if path.is_file()]
    return [path for path in found if any(one in path.read_bytes() for one in own)]


def stop_removal(patch: pytest.MonkeyPatch) -> None:
    """Stop the removal of a run's working files once what tells whose they are is deleted."""
    remove = shutil.rmtree

    def cut_short(place: Path, **options: Any) -> None:
        remove(place / "values", **options)
        raise Stopped

    patch.setattr(shutil, "rmtree", cut_short)


def test_clean_up_of_a_published_run_was_killed(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_current = publishing._make_current

    def make_current_and_stop(run: Run) -> None:
        make_current(run)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_make_current", make_current_and_stop)
        with pytest.raises(Stopped):
            copied.publish(3)
    [values] = (copied.folder / "releases" / "panel-3" / ".work").glob("*/values")
    shutil.rmtree(values)  # as by an earlier version, which renamed nothing before
    assert find_files(copied, person)
    assert len(forget(copied, person).releases) == 4
    assert not find_files(copied, person)
    assert not (copied.folder / "releases" / "panel-3" / ".work").exists()


def test_clean_up_of_a_refused_run_was_killed(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name has no release of the series, and nothing that is left says what it was of."""

    def refuse(*_: Any) -> None:
        stop_removal(monkeypatch)
        raise PolicyError("refused")

    monkeypatch.setattr(publishing, "_check_series", refuse)
    with pytest.raises(Stopped):
        release(copied.policy(3) | {"name": "new"})
    monkeypatch.undo()
    assert find_files(copied, person)
    forget(copied, person)
    assert not find_files(copied, person)


@pytest.mark.parametrize("moved", ["prepared-token/release", "removed-release"])
def test_prune_was_killed(copied: SeriesMonths, person: str, moved: str) -> None:
    """After it had moved a release away, once or twice: the name has no other."""
    folder = copied.folder / "releases" / "panel-0"
    [place] = folder.glob("[0-9a-f]*")
    (folder / ".work" / moved).parent.mkdir(parents=True)
    place.rename(folder / ".work" / moved)
    assert find_files(copied, person)
    assert len(forget(copied, person).releases) == 2
    assert not find_files(copied, person)
    assert not (folder / ".work").exists()


@pytest.mark.parametrize("moved", ["prepared-token/release", "removed-release"])
def test_prune_was_killed_that_took_her_last_register(
    made: list[Released], copied: SeriesMonths, moved: str
) -> None:
    """No register has her any more; what is left of that which had her is deleted all the same."""
    first, *others = (set(read_classes(one)) for one in made)
    person = min(first.difference(*others))
    folder = copied.folder / "releases" / "panel-0"
    [place] = folder.glob("[0-9a-f]*")
    (folder / ".work" / moved).parent.mkdir(parents=True)
    place.rename(folder / ".work" / moved)
    assert find_files(copied, person)
    with pytest.raises(PolicyError, match=r"no register has that person.* is deleted, which"):
        forget(copied, person)
    assert not find_files(copied, person)
    assert not (folder / ".work").exists()
    with pytest.raises(PolicyError, match=r"no register has that person.* nothing was"):
        forget(copied, person)


def test_run_was_killed_after_she_was_forgotten(
    copied: SeriesMonths, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Her input has her still; whoever forgets her again finds no register to change."""
    forget(copied, person)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_check_series", stop)
        with pytest.raises(Stopped):
            copied.publish(3)
    assert find_files(copied, person)
    assert len(forget(copied, person).already) == 3
    assert not find_files(copied, person)


def test_what_cannot_be_deleted_is_named_and_nothing_is_decided(
    copied: SeriesMonths, person: str
) -> None:
    left = copied.folder / "releases" / "panel-1" / ".work" / "no-folder"
    left.parent.mkdir()
    left.write_text("")
    registers = sorted((copied.folder / "releases").rglob("register.parquet"))
    before = [path.read_bytes() for path in registers]
    with pytest.raises(OutputError, match="no-folder: cannot be deleted; remove it by hand"):
        forget(copied, person)
    assert [path.read_bytes() for path in registers] == before
    left.unlink()
    assert len(forget(copied, person).releases) == 3


def test_run_of_the_series_that_may_yet_commit_is_waited_for(
    copied: SeriesMonths, person: str
) -> None:
    """It lost the lease of the series after its last check; its release would have her hash."""
    other = ReleaseRepository(copied.folder / "releases", "new")
    with other.acquire_lease():
        with ReleaseRepository(copied.folder / "releases", "panel").acquire_lease() as series:
            series.store.create(f"{COMMITTING}/token", b"new")
        with pytest.raises(BusyError, match="working on the releases of 'new'"):
            forget(copied, person)
    assert len(forget(copied, person).releases) == 3
