"""A release id has the versions that its bytes depend on, and no others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.cases.method_cases import STAGE
from support.cases.patients import patient_document, write_patients
from support.cases.people import publish
from support.golden import read_golden
from tclose.data.formats.parquet_format import Parquet
from tclose.methods.microaggregation.microaggregation import Mdav
from tclose.methods.mondrian.mondrian_method import Mondrian
from tclose.passes import release
from tclose.passes.release import RELEASE
from tclose.policy.policy import parse_policy
from tclose.privacy.models.diversity_models import DistinctDiversity, EntropyDiversity
from tclose.releases import provenance
from tclose.releases.provenance import byte_versions
from tclose.runtime import open_run
from tclose.runtime.run import INSPECTION

N_RECORDS = 200


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "in", N_RECORDS)


def document_of(source: Path, place: Path) -> dict[str, Any]:
    document = patient_document(
        source, place, {"name": "mondrian"}, attributes={"stage": STAGE}, seed=3
    )
    models = [{"name": "distinct-l-diversity", "l": 2, "attributes": ["stage"]}]
    document["privacy"] = {"k": 5, "t": 0.8, "models": models}
    return document


def test_another_comment_makes_no_other_release(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish(document_of(source, tmp_path))
    monkeypatch.setattr(provenance, "source_digest", lambda: "of other sources")
    monkeypatch.setattr(open_run, "source_digest", lambda: "of other sources")
    monkeypatch.setattr(provenance, "VERSION", "77.0")
    second = publish(document_of(source, tmp_path))
    assert second.already_published
    assert second.release == first.release


@pytest.mark.parametrize(
    ("registered", "is_other"),
    [
        (Mondrian, True),
        (Mdav, False),
        (DistinctDiversity, True),
        (EntropyDiversity, False),
        (Parquet, True),
    ],
)
def test_versions_of_what_is_used_alone_make_another_release(
    registered: type[Any],
    is_other: bool,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = publish(document_of(source, tmp_path))
    monkeypatch.setattr(registered, "version", registered.version + 1)
    second = publish(document_of(source, tmp_path))
    assert (second.release != first.release) is is_other
    assert second.already_published is not is_other


@pytest.mark.parametrize("name", RELEASE.after(INSPECTION).versions)
def test_version_of_a_pass_makes_another_release(
    name: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish(document_of(source, tmp_path))
    passes = [
        replace(one, version=one.version + 1) if one.name == name else one for one in RELEASE.passes
    ]
    monkeypatch.setattr(release, "RELEASE", replace(RELEASE, passes=tuple(passes)))
    second = publish(document_of(source, tmp_path))
    assert second.release != first.release


def test_weights_have_a_version_of_their_own_and_other_policies_have_not(
    source: Path, tmp_path: Path
) -> None:
    def versions_of(age: Any) -> dict[str, dict[str, int]]:
        document = document_of(source, tmp_path) | {"method": {"name": "t-closeness-first"}}
        document["attributes"]["age"] = age
        return byte_versions(parse_policy(document), RELEASE.after(INSPECTION).versions)

    without = versions_of("quasi-identifier")
    weighed = versions_of({"role": "quasi-identifier", "weight": 0.5})
    assert weighed == without | {"columns": {"weights": provenance.WEIGHTS_VERSION}}


def test_golden_files_have_the_versions_of_today() -> None:
    passes = [entry["versions"]["passes"] for entry in read_golden()["cases"].values()]
    assert all(one == RELEASE.after(INSPECTION).versions for one in passes)
