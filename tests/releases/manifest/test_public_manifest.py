"""The public manifest as a type: read, written, described by a JSON Schema."""

import contextlib
import copy
import io
import json

import jsonschema
import pytest

from support.cases.people import mixed_people, mixed_policy, read_document, release, write_parquet
from support.cases.repositories import fake_manifest
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.data.places.untrusted_files import MalformedError, dump_json
from tclose.releases.manifest.public_manifest import parse_manifest
from tclose.releases.repository.contents import read_internal, read_manifest

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    source = write_parquet(folder / "in.parquet", mixed_people(150))
    return release(mixed_policy(source, folder / "releases", ("sex",))).folder


@pytest.fixture(scope="module")
def schema():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["schema", "--manifest"]) == 0
    found = json.loads(printed.getvalue())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def test_a_manifest_fits_its_schema(made, schema):
    schema.validate(read_document(made))
    schema.validate(read_document(made / "internal"))  # which has all of it, and more
    assert schema.schema["properties"]["records"]["minimum"] == 0
    keys = schema.schema["$defs"]["KResult"]["properties"]
    assert keys["achieved"]["description"]


@pytest.mark.parametrize(
    "harm",
    [
        lambda m: m.pop("privacy"),
        lambda m: m.update(records="60"),
        lambda m: m["columns"][0].update(role="key"),
        lambda m: m["files"][0].update(path="../in.parquet"),
        lambda m: m["privacy"]["k"].update(asked=0),
    ],
)
def test_what_the_schema_refuses_is_refused(harm, schema):
    manifest = fake_manifest("0" * 20)
    schema.validate(manifest)
    parse_manifest(json.dumps(manifest).encode())
    harm(manifest)
    assert not schema.is_valid(manifest)
    with pytest.raises(MalformedError, match="is damaged"):
        parse_manifest(json.dumps(manifest).encode())


def test_written_again_it_is_the_same_bytes(made):
    for folder, manifest in ((made, read_manifest(made)), (made / "internal", read_internal(made))):
        assert dump_json(manifest.to_json()) == (folder / "manifest.json").read_bytes()


def test_keys_of_later_versions_are_let_through_and_noted(made, schema):
    later = copy.deepcopy(read_document(made))
    later["licence"] = "CC0"
    later["privacy"]["k"]["median"] = 7
    later["columns"][0]["measure"] = "years"
    schema.validate(later)
    manifest = parse_manifest(json.dumps(later).encode())
    assert manifest.to_json() == later
    assert list(manifest.unknown_keys()) == ["licence", "privacy.k.median", "columns.0.measure"]
    before = (made / "manifest.json").read_bytes()
    try:
        (made / "manifest.json").write_bytes(dump_json(later))
        notes = audit_release(made).notes
    finally:
        (made / "manifest.json").write_bytes(before)
    [note] = [note for note in notes if "does not know" in note]
    assert note.endswith("licence, privacy.k.median, columns.0.measure")


def test_a_later_format_is_named(made):
    later = read_document(made) | {"format": 5, "privacy": "otherwise"}
    with pytest.raises(MalformedError, match="is of format 5; audit it with a later version"):
        parse_manifest(json.dumps(later).encode())


def test_a_damaged_internal_manifest_is_a_finding(made):
    path = made / "internal" / "manifest.json"
    before = path.read_bytes()
    try:
        path.write_bytes(before.replace(b'"format": 4', b'"format": "4"'))
        findings = audit_release(made).findings
    finally:
        path.write_bytes(before)
    assert any(f.startswith("internal/manifest.json: is damaged (format:") for f in findings)
