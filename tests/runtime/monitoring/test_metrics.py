"""Metrics of runs, read by Prometheus's own parser."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.cases.people import people_policy
from tclose.errors import PolicyError
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.monitoring.metrics import FOLDER
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "metrics"
    place.mkdir()
    monkeypatch.setenv(FOLDER, str(place))
    return place


def policy_of(tmp_path: Path, *overrides: str) -> Policy:
    document = people_policy(tmp_path)
    return parse_policy(document, overrides)


def read(folder: Path) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    [file] = folder.iterdir()
    assert file.name == "tclose-people.prom"
    families = text_string_to_metric_families(file.read_text())
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_runs_are_counted_and_the_last_release_is_described(folder: Path, tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    made = run_release(policy, Progress("none"))
    run_release(policy, Progress("none"))
    with pytest.raises(PolicyError):
        run_release(policy_of(tmp_path, "privacy.k=100000"), Progress("none"))

    found = read(folder)
    for result in ("published", "already_published", "failed"):
        assert found["tclose_runs_total", *sorted(("people", result))] == 1
        assert found["tclose_last_run_timestamp_seconds", *sorted(("people", result))] > 1e9
    assert found["tclose_last_release_pass", "people"] == 1
    assert found["tclose_last_release_records", "people"] == made.manifest.records
    for name, one in made.manifest.privacy.t.items():
        share = found["tclose_last_release_distance_over_t", *sorted((name, "people"))]
        assert share == one.largest_emd / one.asked
        assert 0 <= share <= 1
    assert found["tclose_last_release_pass_seconds", *sorted(("people", "verify"))] >= 0
    assert (folder / "tclose-people.prom").stat().st_mode & 0o444 == 0o444


def test_they_are_off_unless_switched_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER)
    run_release(policy_of(tmp_path), Progress("none"))
    assert not list(folder.iterdir())


@pytest.mark.parametrize("damage", ["no folder", "another file"])
def test_what_cannot_be_kept_is_a_warning(
    damage: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if damage == "no folder":
        folder.rmdir()
    else:
        (folder / "tclose-people.prom").write_text("a {{ b\n")
    assert run_release(policy_of(tmp_path), Progress("none")).manifest.verdict == "pass"
    reason = "No such file or directory" if damage == "no folder" else "ValueError"
    message = f"TCLOSE_METRICS: metrics could not be kept in {folder} ({reason})\n"
    assert message in capsys.readouterr().err
