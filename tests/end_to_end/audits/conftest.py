"""A release that is made once, and a copy of it for each test to change."""

from pathlib import Path

import pytest

from support.cases import joint_cases, method_cases, model_cases, noise_cases, patients
from support.cases.discharge_policies import write_discharges
from support.cases.people import folder_of, publish
from support.cases.published import copy_at_home, hand_out, publish_discharges

FOLDERS = ("mondrian in folders", "mdav by site")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in several files, below an output folder that has the release key."""
    return publish_discharges(tmp_path_factory.mktemp("made"), 3_000)


@pytest.fixture
def published(made: Path, tmp_path: Path) -> Path:
    """The release, at home: the release key is at hand."""
    return copy_at_home(made, tmp_path)


@pytest.fixture
def handed_out(made: Path, tmp_path: Path) -> Path:
    """The release as a recipient has it: no internal part, and no key."""
    return hand_out(made, tmp_path / "received")


@pytest.fixture(scope="session")
def varied(made: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Releases of several kinds, as recipients have them: a manifest has what its method needs."""
    folder = tmp_path_factory.mktemp("varied")
    table = patients.write_patients(folder / "patients.parquet", 600)
    discharges = write_discharges(folder / "discharges.parquet", 600)
    releases = [made]
    for case in (*FOLDERS, "few buckets", "stages in buckets", "ills by tree in buckets"):
        method, changes = method_cases.CASES[case]
        document = patients.patient_document(table, folder / case, method, **changes)
        releases.append(folder_of(publish(document)))
    models = [model_cases.MODELS[name] for name in ("recursive", "supersets", "ratio")]
    releases.append(folder_of(model_cases.run(discharges, folder / "models", *models)))
    source = joint_cases.write_pieces(folder / "pieces", joint_cases.patients(600))
    document = joint_cases.document(source, folder / "joint")
    releases.append(folder_of(publish(document)))
    noised = {"pay": noise_cases.PAY, "ill": noise_cases.ILL}
    document = noise_cases.document_of(table, folder / "noise", attributes=noised)
    releases.append(folder_of(publish(document)))
    return [hand_out(release, folder / "out" / str(i)) for i, release in enumerate(releases)]
