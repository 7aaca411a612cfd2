"""Files of several releases that are replaced together: all that was decided, or nothing."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from support.cases.repositories import fake_id
from tclose.errors import BusyError, LostLeaseError, OutputError
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.series.rewriting import (
    FOLDER,
    LIST,
    Replaced,
    add_rewritten,
    decide_rewriting,
    finish_rewriting,
)

pytestmark = pytest.mark.every_case  # each takes milliseconds

OLD, NEW = b"old", b"new"
EXPIRY = 60.0
FILE = "register.parquet"


@pytest.fixture
def series(tmp_path: Path) -> Iterator[ReleaseRepository]:
    """The repository of the series ``panel``, whose lease is held, with a release of two names."""
    for name in ("panel", "other"):
        place = release_of(tmp_path, name)
        (place / "internal").mkdir(parents=True)
        (place / "manifest.json").write_text("{}")
        (place / "internal" / FILE).write_bytes(OLD)
    with ReleaseRepository(tmp_path, "panel").acquire_lease() as held:
        yield held


def release_of(output: Path, name: str) -> Path:
    return output / name / fake_id("a1")


def content_of(output: Path, name: str, file: str = FILE) -> bytes:
    return (release_of(output, name) / "internal" / file).read_bytes()


def replaced_of(name: str, content: bytes = NEW, file: str = FILE) -> Replaced:
    return Replaced(name, fake_id("a1"), file, hashlib.sha256(content).hexdigest())


def add(series: ReleaseRepository, *names: str) -> list[Replaced]:
    replaced: list[Replaced] = []
    for name in names:
        replaced.append(replaced_of(name))
        add_rewritten(series, replaced, NEW)
    return replaced


def is_clear(series: ReleaseRepository) -> bool:
    return series.store.names(FOLDER) == [] and series.store.read(LIST) is None


def test_nothing_is_to_be_done_where_nothing_was_begun(series: ReleaseRepository) -> None:
    assert not finish_rewriting(series, series, EXPIRY)


def test_what_was_not_decided_is_removed(series: ReleaseRepository, tmp_path: Path) -> None:
    add(series, "panel", "other")
    assert len(series.store.names(FOLDER)) == 2
    assert not finish_rewriting(series, series, EXPIRY)
    assert is_clear(series)
    assert content_of(tmp_path, "panel") == content_of(tmp_path, "other") == OLD


def test_what_was_decided_is_put_into_place_once(series: ReleaseRepository, tmp_path: Path) -> None:
    decide_rewriting(series, add(series, "panel", "other"))
    assert content_of(tmp_path, "panel") == OLD
    assert finish_rewriting(series, series, EXPIRY)
    assert content_of(tmp_path, "panel") == content_of(tmp_path, "other") == NEW
    assert is_clear(series)
    assert not finish_rewriting(series, series, EXPIRY)


def test_a_run_of_another_name_uses_its_own_lease(
    series: ReleaseRepository, tmp_path: Path
) -> None:
    decide_rewriting(series, add(series, "panel", "other"))
    with ReleaseRepository(tmp_path, "other").acquire_lease() as own:
        assert finish_rewriting(series, own, EXPIRY)
    assert content_of(tmp_path, "other") == NEW


def test_a_name_that_another_run_works_on_is_waited_for(
    series: ReleaseRepository, tmp_path: Path
) -> None:
    decide_rewriting(series, add(series, "panel", "other"))
    with (
        ReleaseRepository(tmp_path, "other").acquire_lease(),
        pytest.raises(BusyError, match="another run is working on the releases of 'other'"),
    ):
        finish_rewriting(series, series, EXPIRY)
    assert content_of(tmp_path, "other") == OLD
    assert series.store.read(LIST) is not None
    assert finish_rewriting(series, series, EXPIRY)  # as often as it takes
    assert content_of(tmp_path, "other") == NEW


def test_a_release_that_was_removed_meanwhile_stays_so(
    series: ReleaseRepository, tmp_path: Path
) -> None:
    decide_rewriting(series, add(series, "panel", "other"))
    (release_of(tmp_path, "other") / "manifest.json").unlink()
    assert finish_rewriting(series, series, EXPIRY)
    assert content_of(tmp_path, "other") == OLD
    assert content_of(tmp_path, "panel") == NEW


def test_damaged_content_is_put_nowhere(series: ReleaseRepository, tmp_path: Path) -> None:
    decide_rewriting(series, add(series, "panel"))
    series.store.write(f"{FOLDER}/0", b"damaged")
    with pytest.raises(OutputError, match="has registers that somebody was forgotten in, and is"):
        finish_rewriting(series, series, EXPIRY)
    assert content_of(tmp_path, "panel") == OLD
    assert series.store.read(LIST) is not None


def test_missing_content_is_damage(series: ReleaseRepository) -> None:
    decide_rewriting(series, add(series, "panel"))
    series.store.remove(f"{FOLDER}/0")
    with pytest.raises(OutputError, match="is damaged; put it back as it was"):
        finish_rewriting(series, series, EXPIRY)


GOOD = asdict(replaced_of("panel"))


@pytest.mark.parametrize(
    "listed",
    [
        b"",
        b"not json",
        b"{}x",
        json.dumps([GOOD | {"more": 1}]).encode(),
        json.dumps([{"name": "panel"}]).encode(),
        json.dumps([GOOD | {"file": "../../secret"}]).encode(),
        json.dumps([GOOD | {"file": "plan.json"}]).encode(),
        json.dumps([GOOD | {"release_id": "../other"}]).encode(),
        json.dumps([GOOD | {"name": "../elsewhere"}]).encode(),
    ],
)
def test_a_list_that_nobody_wrote_is_not_followed(
    listed: bytes, series: ReleaseRepository, tmp_path: Path
) -> None:
    add(series, "panel")
    series.store.write(LIST, listed)
    with pytest.raises(OutputError, match="is damaged; put it back as it was"):
        finish_rewriting(series, series, EXPIRY)
    assert content_of(tmp_path, "panel") == OLD


def test_nothing_is_written_without_the_lease(tmp_path: Path) -> None:
    free = ReleaseRepository(tmp_path, "panel")
    with pytest.raises(LostLeaseError):
        add_rewritten(free, [replaced_of("panel")], NEW)
    with pytest.raises(LostLeaseError):
        decide_rewriting(free, [replaced_of("panel")])
    assert not (tmp_path / "panel").exists()
