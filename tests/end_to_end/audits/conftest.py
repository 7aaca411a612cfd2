"""A release that is made once, and a copy of it for each test to change."""

import shutil

import pytest

from support import joint_cases, method_cases, model_cases, noise_cases, patients
from support.policies import discharge_policy, write_discharges
from tclose.passes.release import run_release
from tclose.runtime.progress import Progress

FOLDERS = ("mondrian in folders", "mdav by site")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A release in several files, below an output folder that has the release key."""
    folder = tmp_path_factory.mktemp("made")
    path = write_discharges(folder / "discharges.parquet", 3_000)
    output = {"path": str(folder / "releases"), "rows_per_file": 1_500}
    policy = discharge_policy(path, folder / "releases", output=output)
    return run_release(policy, Progress("none")).release


@pytest.fixture
def published(made, tmp_path):
    """The release, at home: the release key is at hand."""
    shutil.copytree(made.parents[1], tmp_path / "releases")
    return tmp_path / "releases" / made.parent.name / made.name


@pytest.fixture
def handed_out(made, tmp_path):
    """The release as a recipient has it: no internal part, and no key."""
    place = tmp_path / "received" / made.name
    shutil.copytree(made, place, ignore=shutil.ignore_patterns("internal"))
    return place


@pytest.fixture(scope="session")
def varied(made, tmp_path_factory):
    """Releases of several kinds, as recipients have them: a manifest has what its method needs."""
    folder = tmp_path_factory.mktemp("varied")
    table = patients.write_patients(folder / "patients.parquet", 600)
    discharges = write_discharges(folder / "discharges.parquet", 600)
    releases = [made]
    for case in (*FOLDERS, "few buckets", "stages in buckets", "ills by tree in buckets"):
        method, changes = method_cases.CASES[case]
        document = patients.patient_document(table, folder / case, method, **changes)
        releases.append(method_cases.publish(document).release)
    models = [model_cases.MODELS[name] for name in ("recursive", "supersets", "ratio")]
    releases.append(model_cases.run(discharges, folder / "models", *models).release)
    source = joint_cases.write_pieces(folder / "pieces", joint_cases.patients(600))
    releases.append(method_cases.publish(joint_cases.document(source, folder / "joint")).release)
    noised = {"pay": noise_cases.PAY, "ill": noise_cases.ILL}
    document = noise_cases.document_of(table, folder / "noise", attributes=noised)
    releases.append(method_cases.publish(document).release)
    places = [folder / "out" / str(i) / release.name for i, release in enumerate(releases)]
    for release, place in zip(releases, places, strict=True):
        shutil.copytree(release, place, ignore=shutil.ignore_patterns("internal"))
    return places
