"""The register: which releases stand where, and which one is meant."""

import pytest

from support.cases.published import edit_manifest
from support.cases.repositories import fake_id, fake_manifest, fake_repository, write_fake
from tclose.errors import OutputError
from tclose.releases.catalog.catalog import (
    current_id,
    find_release,
    find_repositories,
    list_releases,
    open_repository,
    pick_id,
)

OLD, MIDDLE, NEW = (fake_id(text) for text in ("e1", "a2", "a3"))


@pytest.fixture
def repository(tmp_path):
    return fake_repository(tmp_path, OLD, MIDDLE, NEW)


def test_releases_come_by_date_not_by_id(repository):
    entries = list_releases(repository)
    assert [entry.release_id for entry in entries] == [OLD, MIDDLE, NEW]
    assert all(entry.is_readable for entry in entries)


def test_dates_are_compared_as_moments(repository):
    """12:00 in UTC+14 is before 12:00 in UTC, and no zone is UTC."""
    edit_manifest(
        repository.release(NEW), lambda m: m.update(published_at="2026-02-02T12:00:00+14:00")
    )
    edit_manifest(
        repository.release(MIDDLE), lambda m: m.update(published_at="2026-02-02T00:00:00")
    )
    assert [entry.release_id for entry in list_releases(repository)] == [OLD, NEW, MIDDLE]


@pytest.mark.parametrize(
    "harm",
    [
        lambda m: m.pop("privacy"),
        lambda m: m.update(published_at="yesterday"),
        lambda m: m.update(published_at="0001-01-01T00:00:00+14:00"),
        lambda m: m.update(published_at="9999-12-31T23:59:59-01:00"),
        lambda m: m["information_loss"].update(total=-0.5),
        lambda m: m.update(records="60"),
        lambda m: m["columns"].append("age"),
        lambda m: m["privacy"]["t"].update(pay={}),
        lambda m: m.update(files=None),
        lambda m: m.update(release_id=OLD),
    ],
)
def test_what_is_no_manifest_of_the_release_is_not_readable(harm, repository):
    edit_manifest(repository.release(NEW), harm)
    entries = {entry.release_id: entry.is_readable for entry in list_releases(repository)}
    assert entries == {NEW: False, OLD: True, MIDDLE: True}
    assert next(iter(entries)) == NEW


def test_only_folders_named_by_an_id_are_releases(repository):
    (repository.root / "notes").mkdir()
    (repository.root / fake_id("f").upper()).mkdir()
    (repository.root / fake_id("b")).symlink_to(repository.release(OLD))
    (repository.root / fake_id("c")).touch()
    (repository.root / ".work").mkdir()
    (repository.root / ".work" / fake_id("d")).mkdir()
    assert {entry.release_id for entry in list_releases(repository)} == {OLD, MIDDLE, NEW}


def test_release_is_found_by_folder_by_name_and_by_the_beginning_of_its_id(repository):
    assert find_release(repository.release(OLD)) == repository.release(OLD)
    assert find_release(repository.root) == repository.release(NEW)
    assert find_release(repository.root / "e") == repository.release(OLD)
    assert find_release(repository.root / "a2") == repository.release(MIDDLE)
    assert pick_id(repository, MIDDLE) == MIDDLE


def test_release_outside_its_repository_is_found(repository, tmp_path):
    place = tmp_path / "handed out"
    repository.release(OLD).rename(place)
    assert find_release(place) == place


def test_paths_from_inside_are_understood(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    assert open_repository(type(repository.root)()) == repository
    assert find_release(type(repository.root)("e1")).resolve() == repository.release(OLD)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("people/a", f"'a' is ambiguous, 2 releases begin with it: {MIDDLE}, {NEW}"),
        ("people/b", "no such release, none begins with 'b'"),
        ("nobody", "no such folder"),
        ("nobody/a", "no such folder"),
        ("", "holds releases of people; name one, as in"),
        (f"people/{OLD}/data", "is neither a release nor a folder of releases"),
        ("people/CURRENT", "is neither a release nor a folder of releases"),
    ],
)
def test_no_release_is_refused_with_the_reason(place, message, repository):
    with pytest.raises(OutputError, match=message):
        find_release(repository.output / place)


def test_release_without_manifest_is_refused(repository):
    (repository.release(OLD) / "manifest.json").unlink()
    with pytest.raises(OutputError, match=r"is not a release \(it has no manifest.json\)"):
        find_release(repository.release(OLD))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", f"{fake_id('c')}\n".encode(), b"../people"])
def test_current_that_names_no_release_is_refused(content, repository):
    (repository.root / "CURRENT").write_bytes(content)
    with pytest.raises(OutputError, match=r"no release is current|a release that is not there"):
        current_id(repository)
    with pytest.raises(OutputError):
        find_release(repository.root)


def test_one_release_is_no_folder_of_releases(repository):
    with pytest.raises(OutputError, match="is a single release; give the folder that holds it"):
        open_repository(repository.release(OLD))


def test_output_folder_gives_all_names(repository):
    other = repository.output / "Animals"
    write_fake(other, fake_manifest(fake_id("d")))
    (repository.output / "beginning").mkdir()
    (repository.output / "beginning" / ".lock").touch()
    (repository.output / "empty").mkdir()
    assert [s.name for s in find_repositories(repository.output)] == [
        "Animals",
        "beginning",
        "people",
    ]
    assert [s.name for s in find_repositories(other)] == ["Animals"]
    with pytest.raises(OutputError, match="is neither a release nor a folder of releases"):
        find_repositories(repository.output / "empty")
