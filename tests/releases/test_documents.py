"""What describes a release beside its manifest: valid, covered by the audit, and nothing new."""

import json
import re
import shutil
from datetime import datetime
from typing import Any

import jsonschema
import pytest

from support.cases.people import Released, people, policy_for, read_document, release, write_parquet
from support.cases.published import edit_manifest
from support.cases.repositories import fake_manifest, publish_on, write_people
from tclose.assess.auditing.audit import audit_release
from tclose.data.formats.parquet_format import Parquet
from tclose.releases.documents import list_documents, make_documents
from tclose.releases.manifest.datapackage import (
    PROFILE,
    describe_field,
    describe_package,
    field_type,
)
from tclose.releases.manifest.dictionary import escape, write_dictionary
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.repository.repository import DOCUMENTS, file_sha256, is_intact, read_manifest
from tclose.releases.site.write_site import write_site
from tclose.render.release_tables import release_rows
from tclose.security.printable_text import printable

FIELD_TYPES = (
    *("string", "number", "integer", "boolean", "object", "array", "list", "datetime", "date"),
    *("time", "year", "yearmonth", "duration", "geopoint", "geojson", "any"),
)
DATED = ("datapackage.json", "dictionary.md")  # the report has the same bytes at any time
# What the standard (Data Package 2.0: package, resource and table schema) demands of the keys that
# are used here.
SCHEMA = {
    "type": "object",
    "required": ["resources"],
    "properties": {
        "$schema": {"const": "https://datapackage.org/profiles/2.0/datapackage.json"},
        "name": {"type": "string", "pattern": "^[a-z0-9._-]+$"},
        "id": {"type": "string"},
        "title": {"type": "string"},
        "created": {"type": "string", "pattern": r"^\d{4}(-\d\d){2}T\d\d(:\d\d){2}[+-]\d\d:\d\d$"},
        "resources": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "path"],
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-z0-9._-]+$"},
                    "type": {"const": "table"},
                    "path": {
                        "type": "string",
                        "pattern": r"^(?=[^./~])(?!file:)((?!/\.\./)(?!\\)(?!://).)*$",
                    },
                    "format": {"type": "string"},
                    "mediatype": {"type": "string", "pattern": "^(.+)/(.+)$"},
                    "bytes": {"type": "integer"},
                    "hash": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
                    "schema": {
                        "type": "object",
                        "required": ["fields"],
                        "properties": {
                            "fields": {
                                "type": "array",
                                "minItems": 1,
                                "items": {
                                    "type": "object",
                                    "required": ["name"],
                                    "properties": {
                                        "name": {"type": "string"},
                                        "type": {"enum": list(FIELD_TYPES)},
                                        "categories": {
                                            "type": "array",
                                            "minItems": 1,
                                            "uniqueItems": True,
                                        },
                                        "categoriesOrdered": {"type": "boolean"},
                                    },
                                    "dependencies": {"categoriesOrdered": ["categories"]},
                                },
                            }
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    grades = ["low", "middle", "high"] * 20
    source = write_parquet(folder / "people.parquet", people(grade=grades))
    document = policy_for(source, name="People.1")
    document["attributes"] |= {
        "grade": {"role": "quasi-identifier", "type": "ordinal", "order": ["low", "middle", "high"]}
    }
    document["output"] |= {"rows_per_file": 25}
    return release(document)


@pytest.fixture
def published(made, tmp_path):
    folder = tmp_path / made.folder.name
    shutil.copytree(made.folder, folder)
    return folder


def test_package_is_as_the_standard_demands(made):
    package = json.loads((made.folder / "datapackage.json").read_text())
    jsonschema.Draft7Validator(SCHEMA).validate(package)
    assert package["$schema"] == PROFILE
    assert (package["name"], package["title"]) == ("people.1", "People.1")
    names = [resource["name"] for resource in package["resources"]]
    assert len(set(names)) == len(names) == 3
    for resource, file in zip(package["resources"], made.manifest["files"], strict=True):
        assert resource["path"] == file["path"]
        assert resource["bytes"] == (made.folder / file["path"]).stat().st_size
        assert resource["hash"] == f"sha256:{file['sha256']}"
        assert (resource["format"], resource["mediatype"]) == ("parquet", Parquet.media_type)


def manifest_of(made: Released) -> Manifest:
    manifest = read_manifest(made.folder)
    assert manifest is not None
    return manifest


def test_fields_are_the_columns_of_the_files_in_their_order(made):
    package = describe_package(manifest_of(made))
    resources: Any = package["resources"]
    for resource in resources:
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == made.schema.names
    types = {field["name"]: field["type"] for field in fields}
    assert types == {"age": "integer", "sex": "string", "pay": "integer", "grade": "string"}
    [grade] = [field for field in fields if field["name"] == "grade"]
    assert grade["categories"] == ["low", "middle", "high"]
    assert grade["categoriesOrdered"] is True


@pytest.mark.parametrize(
    ("arrow", "told"),
    [
        ("int16", "integer"),
        ("uint8", "integer"),
        ("double", "number"),
        ("float", "number"),
        ("decimal128(10, 2)", "number"),
        ("bool", "boolean"),
        ("string", "string"),
        ("large_string", "string"),
        ("date32[day]", "date"),
        ("timestamp[us, tz=UTC]", "datetime"),
        ("time64[us]", "time"),
        ("duration[s]", "duration"),
        ("null", "any"),
    ],
)
def test_every_type_has_a_name_that_the_standard_knows(arrow, told):
    assert field_type(arrow) == told
    assert told in FIELD_TYPES


def test_partition_columns_are_described_apart(tmp_path):
    table = people(site=["a/b", "c d"] * 30)
    document = policy_for(write_parquet(tmp_path / "p.parquet", table), privacy={"k": 3, "t": 0.5})
    document["attributes"] |= {"site": "non-confidential"}
    document["output"] |= {"partition_by": ["site"]}
    found = release(document)
    package = json.loads((found.folder / "datapackage.json").read_text())
    jsonschema.Draft7Validator(SCHEMA).validate(package)
    assert [field["name"] for field in package["partitionFields"]] == ["site"]
    resources: Any = package["resources"]
    for resource in resources:
        assert [f["name"] for f in resource["schema"]["fields"]] == found.schema.names
        assert "site" not in found.schema.names
    text = (found.folder / "dictionary.md").read_text()
    assert "The values of site stand in the names of folders" in text
    assert audit_release(found.folder).findings == []


def test_dictionary_says_in_words_what_was_asked_and_reached(tmp_path):
    document = policy_for(write_parquet(tmp_path / "people.parquet", people()))
    models = [{"name": "distinct-l-diversity", "l": 2}]
    document["privacy"] |= {"models": models}
    found = release(document)
    text = (found.folder / "dictionary.md").read_text()
    [model] = found.manifest["privacy"]["models"]
    assert f"| distinct-l-diversity of pay | l = 2 | {model['reached']:g} |" in text
    table = text.partition("## Columns")[0]
    assert not {"{", '"'} & set(table)
    assert "counted" not in table


def test_prepared_values_are_said_to_be_compared_as_such(tmp_path):
    document = policy_for(write_parquet(tmp_path / "people.parquet", people(debt=range(60))))
    document["attributes"] |= {
        "pay": {"role": "confidential", "round": 1000},
        "debt": "non-confidential",
    }
    found = release(document)
    manifest = manifest_of(found)
    said = "in pay, debt: identical. Of pay those of the input were prepared likewise first."
    assert said in (found.folder / "dictionary.md").read_text()
    rows = dict(release_rows(manifest))
    assert rows["records compared"] == "identical to the input's in pay (as prepared), debt"


def test_words_of_several_lines_are_told_on_one(tmp_path):
    document = policy_for(write_parquet(tmp_path / "people.parquet", people()))
    words = "Of all staff.\n\nAs of May.\n"
    document["about"] = {"description": words, "citation": words}
    document["attributes"]["pay"] = {"role": "confidential", "description": words}
    folder = release(document).folder
    for name, n_told in (("dictionary.md", 3), ("report.html", 3)):
        text = (folder / name).read_text()
        assert text.count("Of all staff. As of May.") == n_told
        assert "\\n" not in text
    write_site(folder.parents[1], tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        assert "Of all staff. As of May." in page.read_text()


def test_dictionary_says_of_each_column_what_it_is_and_how_it_was_treated(made):
    text = (made.folder / "dictionary.md").read_text()
    sections = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
    assert list(sections) == [column["name"] for column in made.manifest["columns"]]
    for column in made.manifest["columns"]:
        section = sections[column["name"]]
        for key in ("role", "type", "kind", "treatment"):
            assert escape(column[key]) in section
    assert (
        f"information loss: {made.manifest['information_loss']['per_attribute']['age']:.3g}"
        in (sections["age"])
    )
    assert "values, lowest first: low, middle, high" in sections["grade"]
    assert "| k: records of a class | at least 3 |" in text


def test_documents_come_from_the_public_manifest_alone(made):
    """No reading of anything else, and the same bytes from the same manifest."""
    written = {name: (made.folder / name).read_bytes() for name in DOCUMENTS}
    manifest = manifest_of(made)
    assert make_documents(manifest) == written
    assert list_documents(written) == manifest.documents
    later = manifest.model_copy(update={"published_at": "2030-01-01T00:00:00+00:00"})
    for name, content in make_documents(later).items():
        before = manifest.published.isoformat(timespec="seconds").encode()
        assert written[name].count(before) == (name in DATED)
        assert content == written[name].replace(before, later.published_at.encode())


def test_documents_hold_no_figure_that_the_manifest_lacks(made):
    """Every number in the dictionary is one of the manifest's, but for how it is rounded."""
    text = write_dictionary(manifest_of(made))
    figures = re.findall(r"(?<![\w.])\d[\d,]*\.?\d*(?![\w-])", text)
    numbers = {float(figure.replace(",", "")) for figure in figures}
    moment = manifest_of(made).published.isoformat(timespec="seconds")
    text = json.dumps(made.manifest) + moment
    told = {float(n) for n in re.findall(r"-?\d+\.?\d*", text)}
    known = told | {float(f"{n:.6f}") for n in told} | {float(f"{n:.2f}") for n in told}
    known |= {float(f"{n:.3g}") for n in told} | {float(len(made.manifest["files"]))}
    assert numbers
    assert numbers <= known


def test_same_release_made_again_has_the_same_documents_but_for_the_time(tmp_path):
    document = policy_for(write_people(tmp_path))
    texts = []
    for day in (0, 1):
        folder = tmp_path / "releases" / "people" / publish_on(day, document)
        date = read_document(folder)["published_at"]
        date = datetime.fromisoformat(date).isoformat(timespec="seconds")
        texts.append([(folder / name).read_text().replace(date, "TIME") for name in DOCUMENTS])
        times = [text.count("TIME") for text in texts[-1]]
        assert times == [int(name in DATED) for name in DOCUMENTS]
        shutil.rmtree(folder)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("place", [0, 40, -1])
def test_changed_byte_is_found(name, place, published):
    assert audit_release(published).findings == []
    assert is_intact(published)
    content = bytearray((published / name).read_bytes())
    content[place] ^= 1
    (published / name).write_bytes(bytes(content))
    assert audit_release(published).findings == [f"{name}: its content has changed"]
    assert not is_intact(published)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_missing_document_is_found(name, published):
    (published / name).unlink()
    assert audit_release(published).findings == [f"{name}: is missing"]


def test_documents_that_the_manifest_no_longer_lists_are_found(published):
    edit_manifest(published, lambda manifest: manifest.pop("documents"))
    findings = audit_release(published).findings
    assert findings == [f"{name}: does not belong to the release" for name in DOCUMENTS]
    for name in DOCUMENTS:
        (published / name).unlink()
    findings = audit_release(published).findings
    assert findings == ["manifest.json: 'documents' differs from the internal manifest"]


@pytest.mark.parametrize("name", ["raw.csv", "internal/manifest.json", "../raw.csv"])
def test_no_other_file_can_be_listed_as_a_document(name, published):
    (published / "raw.csv").write_text("patient_id\n")
    (published.parent / "raw.csv").write_text("patient_id\n")
    entry = {"path": name, "bytes": 11, "sha256": file_sha256(published / "raw.csv")}
    edit_manifest(published, lambda manifest: manifest["documents"].append(entry))
    assert "raw.csv: does not belong to the release" in audit_release(published).findings


def test_release_without_documents_passes(published):
    """One that an earlier version has made."""
    for folder in (published, published / "internal"):
        edit_manifest(folder, lambda manifest: manifest.pop("documents"))
    for name in DOCUMENTS:
        (published / name).unlink()
    assert audit_release(published).findings == []
    assert is_intact(published)


def test_names_are_shown_as_they_are():
    """Whatever a column is called, it makes no row, heading, link or colour of its own."""
    names = ["a|b", "<img src=x>", "line\nbreak", "*bold*", "_x_", "[a](b)", "\x1b[31m", "\u202e"]
    columns = [
        {"name": n, "role": "confidential", "kind": "numeric", "type": "int8", "treatment": "as is"}
        for n in names
    ]
    manifest = {
        "format": 3,
        "name": "n",
        "release_id": "i",
        "published_at": "2026-01-31",
        "verdict": "pass",
        "method": "m",
        "records": 1,
        "classes": {"n_classes": 1, "smallest": 1, "largest": 1, "mean": 1.0},
        "privacy": {"k": {"asked": 1, "achieved": 1}, "t": {}, "l": {"asked": 2}},
        "information_loss": {"total": 0.0, "per_attribute": {}},
        "partition_by": [],
        "columns": [columns[0] | {"cells": [1, 2]}, *columns[1:]],
        "files": [],
        "code": {"tclose": "0"},
    }
    text = write_dictionary(Manifest.model_validate(manifest))
    assert printable(text.replace("\n", "")) == text.replace("\n", "")
    assert text.count("\n### ") == len(names)
    rows = [line for line in text.split("\n") if line.startswith("| ") and " int8 " in line]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5] * len(names)
    assert not re.search(r"(?<!\\)(<img|\*bold|\[a|_x)", text)
    assert "- cells: \\[1, 2\\]" in text
    assert '| l | {"asked": 2} |  |' in text


def test_escapes():
    assert escape("length_of_stay") == "length_of_stay"
    assert escape("_a_b_") == r"\_a_b\_"
    assert escape("a|b") == r"a\|b"
    assert printable("tab\tend") == r"tab\tend"


def test_generalised_values_are_none_of_the_categories():
    """Sets and intervals of ordered values are no longer these values."""
    column = Manifest.model_validate(fake_manifest("0" * 20)).columns[1]
    assert describe_field(column)["categories"] == ["poor", "rich"]
    for change in ({"generalised": True}, {"type": "int8"}):
        assert "categories" not in describe_field(column.model_copy(update=change))


NOISE = {
    "epsilon": 0.5, "mechanism": "randomised response", "low": None, "high": None, "step": 1.0,
    "values": ["poor", "rich"], "stochastic_t": 2.0,
}  # fmt: skip


def test_noise_is_described_with_its_column():
    manifest = fake_manifest("0" * 20)
    assert "as in the whole table, within t" in write_dictionary(Manifest.model_validate(manifest))
    manifest["privacy"]["t"] = {}
    manifest["columns"][1] |= {"treatment": "differentially private noise", "noised": True}
    manifest["noise"] = {"pay": NOISE}
    text = write_dictionary(Manifest.model_validate(manifest))
    assert "within t" not in text
    assert "noised" not in text
    assert '- noise, epsilon: 0.5\n- noise, mechanism: "randomised response"' in text
