"""Where the release key is at hand, a release without its seals does not pass."""

import json
import os
import shutil

import pytest

from support.cases.published import hand_out
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.errors import OutputError
from tclose.releases.repository.contents import is_intact

pytestmark = pytest.mark.usefixtures("small_regions")

MISSING = "internal/seal.json: is missing"


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("format_", [1, 2, 3])
def test_removed_internal_part_is_found_whatever_the_format_is_said_to_be(published, format_):
    shutil.rmtree(published / "internal")
    edit(published / "manifest.json", method="mdav", format=format_)
    assert MISSING in audit_release(published).findings


@pytest.mark.parametrize("format_", [2, 3])
def test_removed_seals_are_found_where_both_manifests_were_edited_alike(published, format_):
    (published / "internal" / "seal.json").unlink()
    for path in (published / "manifest.json", published / "internal" / "manifest.json"):
        edit(path, method="mdav", format=format_)
    assert audit_release(published).findings == [MISSING]
    assert not is_intact(published)


def test_seals_are_looked_for_from_wherever_the_audit_is_called(published, monkeypatch):
    """The folder of the key is above the release, not above the path that names it."""
    shutil.rmtree(published / "internal")
    for folder, place in (
        (published, "."),
        (published / "data", ".."),
        (published.parent, published.name),
        (published.parents[2], f"releases/{published.parent.name}/{published.name}"),
    ):
        monkeypatch.chdir(folder)
        assert main(["audit", place]) == 3


def test_seals_hold_by_the_name_of_the_release_from_wherever_the_audit_is_called(
    published, monkeypatch
):
    monkeypatch.chdir(published)
    assert main(["audit", "."]) == 0


def test_release_behind_a_link_to_elsewhere_is_found(published, tmp_path):
    """Else a release without seals could stand where no key is above it."""
    elsewhere = hand_out(published, tmp_path / "elsewhere" / "x")
    shutil.rmtree(published)
    published.symlink_to(elsewhere)
    findings = audit_release(published).findings
    assert findings == [f"{published.name}: is a symbolic link in the place of a release"]


def test_link_by_another_name_shows_the_release(published):
    latest = published.parent / "latest"
    latest.symlink_to(published.name)
    assert main(["audit", str(latest)]) == 0


def test_releases_below_a_linked_folder_are_checked_by_the_key_beside_the_link(published, tmp_path):
    repository = published.parent
    moved = tmp_path / "disk" / "x" / repository.name
    moved.parent.mkdir(parents=True)
    repository.rename(moved)
    repository.symlink_to(moved)
    assert audit_release(published).findings == []
    shutil.rmtree(published / "internal")
    assert audit_release(published).findings == [MISSING]


def test_copy_that_was_handed_out_needs_neither_seals_nor_key(handed_out):
    audit = audit_release(handed_out)
    assert audit.findings == []
    assert audit.checked


@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_key_that_is_no_file_is_refused_without_waiting(published, what):
    key = published.parents[1] / ".release-key"
    key.unlink()
    os.mkfifo(key) if what == "pipe" else key.mkdir()
    with pytest.raises(OutputError, match="is not a regular file"):
        audit_release(published)


def test_seals_that_could_not_be_checked_are_mentioned(published):
    (published.parents[1] / ".release-key").unlink()
    audit = audit_release(published)
    assert audit.findings == []
    assert audit.notes == [
        "internal/seal.json: not checked, because the release key is not available"
    ]


@pytest.mark.parametrize("content", [b"", b"k" * 31, b"k" * 33])
def test_damaged_key_is_no_finding_about_the_release(content, published):
    (published.parents[1] / ".release-key").write_bytes(content)
    with pytest.raises(OutputError, match=r"\.release-key: is not a release key; put back the 32"):
        audit_release(published)


def test_no_file_stands_in_for_another_with_its_seal(published):
    names = ("internal/plan.json", "internal/lineage.jsonl")
    contents = [(published / name).read_bytes() for name in names]
    path = published / "internal" / "seal.json"
    seals = json.loads(path.read_text())
    for name, other, content in zip(names, names[::-1], contents[::-1], strict=True):
        (published / name).write_bytes(content)
        seals = seals | {name: json.loads(path.read_text())[other]}
    path.write_text(json.dumps(seals, indent=2) + "\n")
    findings = audit_release(published).findings
    assert findings == [f"{name}: its content has changed" for name in names]


@pytest.mark.parametrize("name", ["plan.json", "lineage.jsonl"])
def test_sealed_file_that_is_missing_is_found(published, name):
    (published / "internal" / name).unlink()
    assert audit_release(published).findings == [f"internal/{name}: is missing"]
    assert not is_intact(published)


def test_other_key_is_named_where_all_that_is_sealed_seems_changed(published):
    edit(published / "internal" / "manifest.json", method="mdav")
    assert not any("release key" in finding for finding in audit_release(published).findings)
    (published.parents[1] / ".release-key").write_bytes(b"k" * 32)
    findings = audit_release(published).findings
    assert any("internal/plan.json: its content has changed, or the re" in one for one in findings)
