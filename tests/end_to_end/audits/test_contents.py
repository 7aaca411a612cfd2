"""Whatever stands in a release beside its own regular files is found, and nothing else is read."""

import json
import os
import shutil
import socket

import pytest

from support.cases.published import edit_manifest
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.releases.repository.contents import file_sha256, is_intact

pytestmark = pytest.mark.usefixtures("small_regions")

PART = "data/part-00001.parquet"


def find(release):
    assert not is_intact(release)
    return audit_release(release).findings


@pytest.mark.parametrize(
    "name",
    [
        PART,
        "dictionary.md",
        "datapackage.json",
        "report.html",
        "internal/plan.json",
        "internal/report.html",
        "manifest.json",
    ],
)
@pytest.mark.parametrize("absolute", [True, False])
def test_link_in_the_place_of_a_file_is_found(published, tmp_path, name, absolute):
    """Even to the same bytes: whoever owns the target may change them."""
    file = published / name
    aside = tmp_path / "aside"
    file.rename(aside)
    file.symlink_to(aside if absolute else os.path.relpath(aside, file.parent))
    assert f"{name}: is a symbolic link" in find(published)


@pytest.mark.parametrize("name", ["data", "internal"])
def test_link_in_the_place_of_a_folder_is_found(published, tmp_path, name):
    aside = tmp_path / "aside"
    (published / name).rename(aside)
    (published / name).symlink_to(aside)
    assert f"{name}: is a symbolic link" in find(published)


@pytest.mark.parametrize("name", ["data/x", "x", "internal/x", "data/_x", "data/.x"])
def test_empty_folder_is_found(published, name):
    (published / name).mkdir()
    assert find(published) == [f"{name}: is a folder without a file of the release"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notes.txt", "does not belong to the release"),
        (".hidden", "does not belong to the release"),
        ("internal/x.csv", "does not belong to the release"),
        ("data/_x.parquet", "is not in the manifest"),
        ("data/.x", "is not in the manifest"),
        ("data/part-00009.parquet", "is not in the manifest"),
    ],
)
def test_extra_file_is_found(published, name, words):
    (published / name).write_bytes(b"patient_id\n")
    assert find(published) == [f"{name}: {words}"]


def test_extra_folder_with_files_is_found_once(published):
    shutil.copytree(published / "data", published / "data" / "copy")
    assert find(published) == ["data/copy: is a folder without a file of the release"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [PART, "dictionary.md", "internal/seal.json", "data/x", "x"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_pipes_and_sockets_are_found_and_not_waited_for(published, monkeypatch, name, kind):
    monkeypatch.chdir(published)
    file = published / name
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
    assert f"{name}: is not a regular file" in find(published)


@pytest.mark.timeout(300)
def test_pipe_in_the_place_of_the_internal_manifest_is_not_waited_for(published):
    (published / "internal" / "manifest.json").unlink()
    os.mkfifo(published / "internal" / "manifest.json")
    assert "internal/manifest.json: is not a regular file" in find(published)


def test_name_that_is_no_text_is_found(published, capsys):
    (published / os.fsdecode(b"\xff\x1b[31m")).write_bytes(b"")
    assert main(["audit", str(published)]) == 3
    shown = capsys.readouterr().out
    assert r"\xff" in shown
    assert "\x1b" not in shown


def test_hard_link_is_mentioned(published, tmp_path):
    os.link(published / PART, tmp_path / "backup")
    audit = audit_release(published)
    assert audit.findings == []
    assert audit.notes == [f"{PART}: has another hard link, through which it can be changed"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("what", ["pipe", "folder", "outside", "binary", "absolute"])
def test_current_that_names_no_release_is_refused(published, tmp_path, what, capsys):
    current = published.parent / "CURRENT"
    current.unlink()
    (published.parent / ".lock").touch()
    shutil.copytree(published, tmp_path / "outside")
    if what == "pipe":
        os.mkfifo(current)
    elif what == "folder":
        current.mkdir()
    else:
        content = {"outside": b"../../outside\n", "binary": b"\xff\xfe\n"}
        current.write_bytes(content.get(what, os.fsencode(tmp_path / "outside")))
    assert main(["audit", str(published.parent)]) == 2
    error = capsys.readouterr().err
    assert "no release is current" in error or "CURRENT names" in error
    assert "Traceback" not in error


@pytest.mark.timeout(300)
@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"action": ' + b"9" * 10_000 + b"}"])
def test_damaged_line_of_a_journal_is_passed_over(published, content):
    (published.parent / ".journal.jsonl").write_bytes(content + b"\n")
    assert main(["releases", str(published.parent)]) == 0


def test_documents_that_were_edited_are_told_to_whoever_has_no_seals(handed_out):
    """Their digests can be written anew; what they say can be compared with the manifest."""
    assert not audit_release(handed_out).notes
    path = handed_out / "dictionary.md"
    path.write_text(path.read_text() + "Safe for everybody.\n")
    manifest = json.loads((handed_out / "manifest.json").read_text())
    [entry] = [e for e in manifest["documents"] if e["path"] == path.name]
    entry |= {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
    (handed_out / "manifest.json").write_text(json.dumps(manifest))
    audit = audit_release(handed_out)
    assert audit.findings == []
    assert any(note.startswith("dictionary.md: is not what this version") for note in audit.notes)


@pytest.mark.parametrize(
    ("change", "finding", "not_made"),
    [
        (lambda m: m.pop("figures"), "has no figures, as all of its format have", ["report.html"]),
        (
            lambda m: m.update(format=3),
            "has figures, report.html, as none of its format has",
            ["datapackage.json", "dictionary.md", "report.html"],
        ),
    ],
    ids=["figures", "format"],
)
def test_manifest_that_says_too_little_to_compare_documents_is_found(
    change, finding, not_made, handed_out
):
    """A report of which nothing is made anew could say anything."""
    edit_manifest(handed_out, change)
    audit = audit_release(handed_out)
    assert audit.findings == [f"manifest.json: {finding}"]
    told = [note.partition(":")[0] for note in audit.notes if "is not compared" in note]
    assert told == not_made


def test_document_that_was_taken_out_is_found(handed_out):
    (handed_out / "report.html").unlink()
    manifest = json.loads((handed_out / "manifest.json").read_text())
    manifest["documents"] = [e for e in manifest["documents"] if e["path"] != "report.html"]
    (handed_out / "manifest.json").write_text(json.dumps(manifest))
    assert audit_release(handed_out).findings == ["report.html: is missing"]
