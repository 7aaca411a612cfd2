"""The key of the registers in a file elsewhere: which files are taken, and which key goes on."""

import base64
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.cases.people import Released, release
from support.cases.series_months import SeriesMonths
from support.cases.visits import visit_policy, write_visits
from tclose.assess.auditing.audit import audit_release
from tclose.assess.over_time.attack import attack_releases
from tclose.assess.over_time.series_audit import add_series
from tclose.errors import PolicyError
from tclose.passes.persons import person_keys
from tclose.passes.persons.named_key import find_person_key, identify_key
from tclose.passes.publish import publish as publishing
from tclose.passes.series.forget_person import forget_person, hash_spellings
from tclose.passes.summarise import summarise_task
from tclose.policy.policy import parse_policy
from tclose.releases.series.register_file import read_register
from tclose.releases.stores.filesystem import FolderStore
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(autouse=True)
def _without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TCLOSE_REGISTER_KEY", raising=False)


def write_key(path: Path, content: bytes, mode: int = 0o600) -> str:
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def with_key(place: SeriesMonths, month: int, path: str) -> dict[str, Any]:
    return place.policy(month) | {"engine": {"key_path": path}}


def test_series_with_a_key_elsewhere(
    months: SeriesMonths,
    made: list[Released],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same bytes; hashes that the release key does not give; one key for the whole series."""
    place = SeriesMonths(tmp_path, months.files)
    key = write_key(tmp_path / "key", bytes(range(32)))
    first = release(with_key(place, 0, key))
    assert first.data == made[0].data
    with monkeypatch.context() as patch:
        patch.setenv("TCLOSE_REGISTER_KEY", key)
        second = release(place.policy(1))
    assert second.data == made[1].data
    registers = [
        read_register((one.folder / "internal" / "register.parquet").read_bytes())
        for one in (first, second, made[0])
    ]
    assert registers[0].key_id == registers[1].key_id != registers[2].key_id
    assert add_series(audit_release(second.folder)).findings == []
    policies = [parse_policy(with_key(place, month, key)) for month in (0, 1)]
    places = [first.folder, second.folder]
    result = attack_releases(places, policies, None, ["income"], Progress("none"))
    assert result.classes_known is not None
    refuse_other_keys(place, tmp_path)


class Stopped(BaseException):
    """As a kill: nothing is cleaned up."""


def stop(*_: Any) -> None:
    raise Stopped


def test_working_files_of_a_killed_run_do_not_have_the_key(
    months: SeriesMonths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be backed up with the registers that it opens."""
    place = SeriesMonths(tmp_path, months.files)
    path = write_key(tmp_path / "key", bytes(range(32)))
    secret = find_person_key(parse_policy(with_key(place, 0, path)), None)
    assert secret is not None
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_check_series", stop)
        patch.setattr(FolderStore, "abandon", lambda *_: None)  # which a killed run does not
        with pytest.raises(Stopped):
            release(with_key(place, 0, path))
    left = [one for one in (tmp_path / "releases").rglob("*") if one.is_file()]
    assert [one for one in left if one.name == "register.parquet"]
    spellings = (secret, secret.hex().encode(), base64.b64encode(secret))
    assert [one for one in left if any(each in one.read_bytes() for each in spellings)] == []
    assert secret.hex() not in repr(person_keys.PersonKey(secret))


@pytest.mark.nightly
def test_stopped_series_run_goes_on_with_another_key(
    months: SeriesMonths, made: list[Released], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its register is of one key: its persons are found again in the next month."""
    place = SeriesMonths(tmp_path, months.files)
    key = write_key(tmp_path / "key", bytes(range(32)))
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_check_series", stop)
        with pytest.raises(Stopped):
            place.publish(0)
    first = release(with_key(place, 0, key))
    second = release(with_key(place, 1, key))
    assert [first.data, second.data] == [one.data for one in made[:2]]
    register = read_register((first.folder / "internal" / "register.parquet").read_bytes())
    secret = find_person_key(parse_policy(with_key(place, 0, key)), None)
    assert secret is not None
    assert register.key_id == identify_key(secret)
    persons = pq.read_table(months.files[0])["person_id"].to_pylist()
    known = {row.tobytes() for one in persons for row in hash_spellings(one, secret)}
    assert {row.tobytes() for row in register.hashes} <= known


def test_stopped_run_over_persons_goes_on_with_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is counted once for each key."""
    source = write_visits(tmp_path, 800, 200, row_group_size=200)
    document = visit_policy(source, tmp_path / "releases")
    hash_of = person_keys.hash_partition
    done: list[int] = []

    def stopping(*arguments: Any) -> Any:
        done.append(len(done))
        return stop() if len(done) > 2 else hash_of(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(summarise_task, "hash_partition", stopping)
        with pytest.raises(Stopped):
            release(document)
    monkeypatch.setenv("TCLOSE_REGISTER_KEY", write_key(tmp_path / "key", bytes(range(32))))
    assert release(document).manifest["privacy"]["persons"]["persons"] == 200


def refuse_other_keys(place: SeriesMonths, folder: Path) -> None:
    """The release key, and another file: neither is the key of the series."""
    other = write_key(folder / "other", bytes(32))
    message = r"is not the key of series 'panel': the register of release panel-0/.* another one;"
    for document, where in (
        (place.policy(2), "the release key of"),
        (with_key(place, 2, other), "engine.key_path"),
    ):
        with pytest.raises(PolicyError, match=f"^{where} .*{message}"):
            release(document)
        with pytest.raises(PolicyError, match=f"^{where} .*{message}"):
            forget_person(parse_policy(document), "anybody", print)
    assert not list((folder / "releases").glob("panel-2/[0-9a-f]*"))


def test_files_that_are_no_key(months: SeriesMonths, tmp_path: Path) -> None:
    place = SeriesMonths(tmp_path, months.files)
    link = tmp_path / "link"
    link.symlink_to(link)
    for path, message in (
        (str(tmp_path / "none"), "cannot be read (No such file or directory); put back the key"),
        (write_key(tmp_path / "open", bytes(32), 0o644), "is open to others (mode 0644); it has"),
        (write_key(tmp_path / "short", bytes(31)), "has 31 bytes, not 32; put back the key that"),
        (write_key(tmp_path / "line", bytes(33)), "has 33 bytes, not 32"),
        (str(tmp_path), "is not a regular file"),
        (str(link), "cannot be read ("),
    ):
        with pytest.raises(PolicyError) as caught:
            release(with_key(place, 0, path))
        assert str(caught.value).startswith(f"engine.key_path {path}: {message}")
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "releases").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
def test_key_of_another_user(months: SeriesMonths, tmp_path: Path) -> None:
    path = write_key(tmp_path / "key", bytes(32))
    os.chown(path, 12_345, 12_345)
    with pytest.raises(PolicyError, match="belongs to another user"):
        release(with_key(SeriesMonths(tmp_path, months.files), 0, path))
