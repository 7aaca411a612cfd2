"""Folders in an output folder that are closed to this user: passed over, or said by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cases.noise_cases import PAY
from support.cases.people import people, policy_for, publish, release, write_parquet, write_policy
from support.cases.repositories import fake_id, fake_repository
from support.checks.permissions import run_bound

DENIED = "cannot be read (Permission denied); give this user read permission, or name another\n"


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """The output folder of three releases, in one name's folder."""
    fake_repository(tmp_path, *map(fake_id, ("a1", "b2", "c3")))
    return tmp_path / "releases"


@contextmanager
def closing(folder: Path) -> Iterator[None]:
    """Close a folder to everybody in the block."""
    folder.chmod(0)
    try:
        yield
    finally:
        folder.chmod(0o755)


def test_lost_and_found_of_a_disk_is_passed_over(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "people.parquet", people())
    write_policy(tmp_path / "policy.yaml", policy_for(source))
    lost = tmp_path / "releases" / "lost+found"
    lost.mkdir(parents=True)
    with closing(lost):
        ended = run_bound("-m", "tclose", "run", "policy.yaml", "--quiet", folder=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
        listed = run_bound("-m", "tclose", "releases", "releases", folder=tmp_path)
        assert (listed.returncode, listed.stderr) == (0, "")
        assert listed.stdout.startswith("people\n")


def test_other_names_do_not_need_a_closed_one(releases: Path, tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "people.parquet", people())
    write_policy(tmp_path / "policy.yaml", policy_for(source, name="others"))
    with closing(releases / "people"):
        ended = run_bound("-m", "tclose", "run", "policy.yaml", "--quiet", folder=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
        listed = run_bound("-m", "tclose", "releases", "releases", folder=tmp_path)
        assert (listed.returncode, listed.stdout) == (2, "")
        assert listed.stderr == f"tclose: releases/people: {DENIED}"


def test_noise_that_could_be_in_it_is_warned_of(releases: Path, tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "people.parquet", people())
    document = policy_for(
        source, name="others", method={"name": "dp-confidential"}, privacy={"k": 5}
    )
    document["attributes"]["pay"] = PAY
    write_policy(tmp_path / "policy.yaml", document)
    with closing(releases / "people"):
        ended = run_bound("-m", "tclose", "run", "policy.yaml", "--quiet", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = "this user may not look into people in the output folder; if noise on the same records"
    assert ended.stderr.count(told) == 1


@pytest.mark.parametrize("closed", ["people", f"people/{fake_id('b2')}"])
def test_releases_of_a_series_could_be_in_it(closed: str, releases: Path, tmp_path: Path) -> None:
    """A number that was used once more would be of a release that is held to too little."""
    with closing(releases / closed):
        ended = run_bound(
            "-c",
            "import pathlib\n"
            "from tclose.errors import OutputError\n"
            "from tclose.releases.series.series_history import list_series\n"
            "try:\n"
            "    list_series(pathlib.Path('releases'), 'panel')\n"
            "except OutputError as error:\n"
            "    print(error)\n",
            folder=tmp_path,
        )
    assert ended.stderr == ""
    assert f"releases/{closed}: " in ended.stdout
    assert "cannot be read" in ended.stdout


@pytest.mark.parametrize(
    "command",
    [
        *("audit PLACE", "releases PLACE", "show PLACE", "diff PLACE PLACE", "rollback PLACE"),
        *("prune PLACE --keep 1", "site PLACE --out site"),
    ],
)
def test_commands_name_it(command: str, releases: Path, tmp_path: Path) -> None:
    words = [word.replace("PLACE", "releases/people") for word in command.split()]
    with closing(releases):
        ended = run_bound("-m", "tclose", *words, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"tclose: releases/people: {DENIED}"


def test_plan_needs_to_know_the_releases(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "people.parquet", people())
    write_policy(tmp_path / "policy.yaml", policy_for(source))
    (tmp_path / "releases").mkdir()
    with closing(tmp_path / "releases"):
        ended = run_bound("-m", "tclose", "plan", "policy.yaml", "--quiet", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.endswith(f"releases: {DENIED}")


def test_damaged_release_that_cannot_be_replaced_is_named(tmp_path: Path) -> None:
    """A folder in which this user may not write cannot be moved aside."""
    document = policy_for(write_parquet(tmp_path / "people.parquet", people()))
    write_policy(tmp_path / "policy.yaml", document)
    place = release(document).folder
    with closing(place):
        ended = run_bound("-m", "tclose", "run", "policy.yaml", "--quiet", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    refused = (
        f"tclose: {place}: is in the way, and cannot be moved (Permission denied); remove it\n"
    )
    assert ended.stderr == refused
    assert publish(document).already_published
