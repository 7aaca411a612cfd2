"""The releases of a series in a folder: by their numbers, and refused where one cannot be told."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.cases.repositories import fake_id
from tclose.errors import OutputError
from tclose.releases.composition.noise_draws import read_neighbours
from tclose.releases.repository.contents import read_origin
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series import series_history
from tclose.releases.series.series_history import check_number, find_held, find_window, list_series

pytestmark = pytest.mark.every_case  # each takes milliseconds


def publish(output: Path, number: int | None, **keys: Any) -> Path:
    """A release of a series, or of none if it has no number; no file of it is read but these."""
    name, series = keys.pop("name", "people"), keys.pop("series", "panel")
    inside: dict[str, Any] = {"inputs": [], "files": []}
    if number is not None:
        entry = {"series": series, "number": number, "k": 2, "t": {"pay": 0.1}, "window": 3}
        inside["over_time"] = entry | {"departures": "report", "register_sha256": digest(number)}
        inside["over_time"] |= keys.pop("entry", {})
    place = output / name / keys.pop("release_id", fake_id(f"{number or 0:02x}"))
    (place / "internal").mkdir(parents=True)
    (place / "manifest.json").write_text("{}")
    (place / "internal" / "manifest.json").write_text(json.dumps(inside | keys))
    return place


def digest(number: int) -> str:
    return f"{number:064x}"


def numbers(output: Path, series: str = "panel") -> list[int]:
    return [one.entry.number for one in list_series(output, series)]


def test_a_folder_without_releases_has_no_series(tmp_path: Path) -> None:
    assert numbers(tmp_path / "missing") == numbers(tmp_path) == []


def test_releases_come_by_their_numbers_whatever_their_names(tmp_path: Path) -> None:
    publish(tmp_path, 10)
    publish(tmp_path, 2, name="zebra")
    publish(tmp_path, 1)
    found = list_series(tmp_path, "panel")
    assert [one.entry.number for one in found] == [1, 2, 10]
    assert found[1].name == f"zebra/{fake_id('02')}"


def test_releases_of_others_are_passed_over(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    publish(tmp_path, 1, series="other", release_id=fake_id("ff"))
    publish(tmp_path, None)
    (tmp_path / "people" / "notes").mkdir()
    assert numbers(tmp_path) == [1]
    assert numbers(tmp_path, "other") == [1]
    assert numbers(tmp_path, "third") == []


@pytest.mark.parametrize("entry", [{"number": 0}, {"window": 1}, {"register_sha256": "0"}])
def test_a_damaged_manifest_may_be_of_any_series(entry: dict[str, Any], tmp_path: Path) -> None:
    publish(tmp_path, 1, entry=entry)
    message = "so it cannot be told whether it is of series 'other'; put it back as it was"
    with pytest.raises(OutputError, match=message):
        list_series(tmp_path, "other")


def test_so_may_a_release_without_its_internal_manifest(tmp_path: Path) -> None:
    place = publish(tmp_path, 1)
    (place / "internal" / "manifest.json").unlink()
    with pytest.raises(OutputError, match="is missing or cannot be read, so it cannot be told"):
        list_series(tmp_path, "panel")
    (place / "manifest.json").unlink()  # then it is none
    assert numbers(tmp_path) == []


def test_a_link_is_no_release_that_stays(tmp_path: Path) -> None:
    """Its number would be given away where the disk that it leads to is not there."""
    output, disk = tmp_path / "releases", tmp_path / "disk"
    place = publish(output, 1)
    place.rename(disk)
    place.symlink_to(disk)
    refused = f"release {place}: is a link; put what it leads to there itself"
    with pytest.raises(OutputError, match=refused):
        list_series(output, "panel")
    disk.rename(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=refused):
        list_series(output, "panel")
    place.unlink()
    (tmp_path / "elsewhere").rename(place)
    assert numbers(output) == [1]


def test_a_name_may_be_a_link_to_what_is_there_alone(tmp_path: Path) -> None:
    output, disk = tmp_path / "releases", tmp_path / "disk"
    publish(output, 1)
    (output / "people").rename(disk)
    (output / "people").symlink_to(disk)
    assert numbers(output) == [1]
    disk.rename(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=f"{output}/people: is a link to what is not there, so"):
        list_series(output, "panel")
    assert read_neighbours(output).closed == ("people (a broken link)",)


@pytest.mark.parametrize("is_read", [False, True])
def test_a_release_that_is_removed_meanwhile_is_none(
    is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prune of another name is no reason to refuse a release."""
    publish(tmp_path, 1)
    pruned = publish(tmp_path, None, name="other")

    def prune_beside(place: Path) -> Any:
        found = read_origin(place) if is_read else None
        if place == pruned:
            shutil.rmtree(pruned)
        return found if is_read else read_origin(place)

    monkeypatch.setattr(series_history, "read_origin", prune_beside)
    (tmp_path / ".release-key").write_bytes(bytes(32))  # with which seals are looked at
    assert numbers(tmp_path) == [1]
    assert not pruned.exists()


def test_a_number_is_of_one_release(tmp_path: Path) -> None:
    publish(tmp_path, 4)
    publish(tmp_path, 4, name="copy")
    message = f"same number 4 in series 'panel' as copy/{fake_id('04')}; take the copy out"
    with pytest.raises(OutputError, match=message):
        list_series(tmp_path, "panel")


def test_two_releases_of_a_number_that_are_no_copies(tmp_path: Path) -> None:
    """Whoever runs either again is told, and so is whoever adds one; not of other series."""
    first = publish(tmp_path, 4)
    second = publish(tmp_path, 4, name="other", release_id=fake_id("ff"))
    unlike = publish(tmp_path, 4, name="third", series="third", release_id=fake_id("fe"))
    message = "neither was made with regard to the other: take the one that was not handed out"
    with pytest.raises(OutputError, match=rf"in series 'panel' as other/\w+; {message}"):
        list_series(tmp_path, "panel")
    for own, other in ((first, second), (second, first)):
        with pytest.raises(OutputError, match=f"release {own}: .*{other.name}; {message}"):
            check_number(own)
    check_number(unlike)
    (second / "internal" / "manifest.json").write_text("damaged")
    check_number(first)


def test_the_first_release_is_held_to_none(tmp_path: Path) -> None:
    window, held = find_window(tmp_path, "panel", 3)
    assert (window.series, window.number, window.releases, window.registers) == (
        "panel", 1, (), (),
    )  # fmt: skip
    assert held == ()


@pytest.mark.parametrize(("size", "first"), [(2, 5), (3, 4), (5, 2), (6, 1), (12, 1)])
def test_a_window_counts_the_new_release(size: int, first: int, tmp_path: Path) -> None:
    for number in range(1, 6):
        publish(tmp_path, number)
    window, held = find_window(tmp_path, "panel", size)
    expected = list(range(first, 6))
    assert window.number == 6
    assert [one.entry.number for one in held] == expected
    assert window.releases == tuple(f"people/{fake_id(f'{n:02x}')}" for n in expected)
    assert window.registers == tuple(map(digest, expected))


def test_a_release_that_is_missing_counts_in_its_window_alone(tmp_path: Path) -> None:
    for number in (1, 2, 4, 5):
        publish(tmp_path, number)
    assert find_window(tmp_path, "panel", 3)[0].number == 6
    message = "release number 3 is not in the output folder, .* or take privacy.over_time.window: 3"
    with pytest.raises(OutputError, match=message):
        find_window(tmp_path, "panel", 4)


def test_the_window_that_a_message_names_is_one(tmp_path: Path) -> None:
    publish(tmp_path, 2)
    with pytest.raises(OutputError, match=r"release number 1 is not .*over_time\.window: 2$"):
        find_window(tmp_path, "panel", 12)
    assert find_window(tmp_path, "panel", 2)[0].number == 3


def test_what_was_published_is_not_made_anew(tmp_path: Path) -> None:
    own = publish(tmp_path, 1)
    with pytest.raises(OutputError, match="was published in series 'panel' and is damaged"):
        find_window(tmp_path, "panel", 3, own=own)
    assert find_window(tmp_path, "panel", 3, own=own.with_name(fake_id("ff")))[0].number == 2


def held_of(output: Path, name: str = "people") -> dict[str, str]:
    return find_held(ReleaseRepository(output, name))


def test_the_newest_release_and_those_of_its_window_are_held(tmp_path: Path) -> None:
    for number in range(1, 6):
        publish(tmp_path, number)
    publish(tmp_path, None)
    assert held_of(tmp_path) == {fake_id(f"0{number}"): "panel" for number in (3, 4, 5)}


def test_releases_of_another_name_count_and_are_not_listed(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    publish(tmp_path, 2)
    publish(tmp_path, 3)
    publish(tmp_path, 4, name="other")
    assert held_of(tmp_path) == {fake_id("02"): "panel", fake_id("03"): "panel"}
    assert held_of(tmp_path, "other") == {fake_id("04"): "panel"}


def test_a_name_may_be_of_several_series(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    publish(tmp_path, 1, series="second", release_id=fake_id("aa"))
    assert held_of(tmp_path) == {fake_id("01"): "panel", fake_id("aa"): "second"}


def test_without_a_series_nothing_is_held(tmp_path: Path) -> None:
    publish(tmp_path, None)
    assert held_of(tmp_path) == {}
