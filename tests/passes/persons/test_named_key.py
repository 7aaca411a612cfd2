"""The key of registers: which one holds, what of a file is refused, and what a register says."""

from pathlib import Path
from typing import Any

import pytest

from tclose.errors import PolicyError
from tclose.passes.compare.keyed_hashes import KEY_BYTES, derive_key
from tclose.passes.persons.named_key import (
    PERSON_PURPOSE,
    REGISTER_VARIABLE,
    check_register_key,
    find_key_id,
    find_person_key,
    identify_key,
    name_source,
)
from tclose.policy.policy import Policy, parse_policy

pytestmark = pytest.mark.every_case  # each takes milliseconds

RELEASE_KEY, FILE_KEY, OTHER_KEY = b"r" * KEY_BYTES, b"f" * KEY_BYTES, b"o" * KEY_BYTES


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REGISTER_VARIABLE, raising=False)


def policy_of(path: Path | None = None, *, with_persons: bool = True) -> Policy:
    attributes = {"age": "quasi-identifier", "pay": "confidential"}
    document: dict[str, Any] = {
        "name": "people",
        "input": {"path": "people.csv"},
        "attributes": attributes | ({"who": "person"} if with_persons else {}),
        "privacy": {"k": 2, "t": 0.5},
        "output": {"path": "out"},
    }
    if path is not None:
        document["engine"] = {"key_path": str(path)}
    return parse_policy(document)


def write_key(place: Path, content: bytes = FILE_KEY, mode: int = 0o600) -> Path:
    place.write_bytes(content)
    place.chmod(mode)
    return place


def test_without_a_file_it_is_made_of_the_release_key() -> None:
    found = find_person_key(policy_of(), RELEASE_KEY)
    assert found == derive_key(RELEASE_KEY, PERSON_PURPOSE)
    assert found != RELEASE_KEY


def test_without_either_there_is_none() -> None:
    assert find_person_key(policy_of(), None) is None


def test_a_file_takes_the_place_of_the_release_key(tmp_path: Path) -> None:
    policy = policy_of(write_key(tmp_path / "key"))
    for release_key in (RELEASE_KEY, None):
        assert find_person_key(policy, release_key) == derive_key(FILE_KEY, PERSON_PURPOSE)


def test_the_policy_is_asked_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, other = write_key(tmp_path / "key"), write_key(tmp_path / "other", OTHER_KEY)
    monkeypatch.setenv(REGISTER_VARIABLE, str(other))
    assert find_person_key(policy_of(), RELEASE_KEY) == derive_key(OTHER_KEY, PERSON_PURPOSE)
    assert find_person_key(policy_of(named), None) == derive_key(FILE_KEY, PERSON_PURPOSE)
    assert name_source(policy_of()) == f"{REGISTER_VARIABLE} {other}"
    assert name_source(policy_of(named)) == f"engine.key_path {named}"


def test_the_source_is_the_release_key_where_no_file_is_named() -> None:
    assert name_source(policy_of()) == "the release key of out"


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (b"short", 0o600, "has 5 bytes, not 32; put back the key that the series has, or make"),
        (b"", 0o600, "has 0 bytes, not 32"),
        (FILE_KEY + b"\n", 0o600, "has 33 bytes, not 32"),
        (FILE_KEY, 0o640, r"it has to be a file of this user or of root that others cannot read"),
        (FILE_KEY, 0o604, r"\(`chmod 600`\)"),
    ],
)
def test_no_other_file_is_a_key(content: bytes, mode: int, message: str, tmp_path: Path) -> None:
    place = write_key(tmp_path / "key", content, mode)
    with pytest.raises(PolicyError, match=message) as caught:
        find_person_key(policy_of(place), RELEASE_KEY)
    assert str(caught.value).startswith(f"engine.key_path {place}: ")


def test_a_missing_file_is_not_replaced_by_the_release_key(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"cannot be read \(No such file or directory\); put"):
        find_person_key(policy_of(tmp_path / "key"), RELEASE_KEY)


def test_an_id_tells_keys_apart_and_is_not_part_of_them() -> None:
    ids = {identify_key(key) for key in (RELEASE_KEY, FILE_KEY, OTHER_KEY)}
    assert len(ids) == 3
    assert all(len(key_id) == 16 for key_id in ids)
    assert not any(key_id in RELEASE_KEY.hex() for key_id in ids)


def test_a_policy_without_persons_has_no_id(tmp_path: Path) -> None:
    key = derive_key(RELEASE_KEY, PERSON_PURPOSE)
    assert find_key_id(policy_of(), RELEASE_KEY) == identify_key(key)
    without = policy_of(tmp_path / "missing", with_persons=False)
    assert find_key_id(without, RELEASE_KEY) == ""


def test_a_register_of_another_key_is_refused() -> None:
    policy, key = policy_of(), derive_key(RELEASE_KEY, PERSON_PURPOSE)
    check_register_key(policy, "panel", "people/1", identify_key(key), key)
    check_register_key(policy, "panel", "people/1", "", key)  # earlier ones do not say
    with pytest.raises(PolicyError, match=r"not the key of series 'panel': .* of release people/1"):
        check_register_key(policy, "panel", "people/1", identify_key(OTHER_KEY), key)
