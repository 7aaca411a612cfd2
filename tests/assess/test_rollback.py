"""Rollback: to releases that pass an audit and to no others, and never beside a run."""

import json
import shutil

import pytest

from support.cases.people import policy_for, release, tree
from support.cases.repositories import make_repository, publish_on
from tclose.assess import rollback
from tclose.assess.auditing.audit_result import AuditResult
from tclose.assess.rollback import Move, roll_back
from tclose.errors import BusyError, OutputError, UsageError, VerificationError
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository.operations_log import read_lines

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("people"))


@pytest.fixture
def repository(made, tmp_path):
    shutil.copytree(made[0].output, tmp_path / "releases")
    return open_repository(tmp_path / "releases" / "people")


@pytest.fixture
def names(made):
    return made[1]


def test_goes_to_the_release_before_and_writes_it_down(repository, names):
    before = {name: tree(repository.release(name)) for name in names}
    assert roll_back(repository) == Move(names[2], names[1], ())
    assert repository.current() == names[1]
    assert (repository.root / "CURRENT").read_text() == f"{names[1]}\n"
    assert {name: tree(repository.release(name)) for name in names} == before
    [line] = read_lines(repository)
    assert (line["action"], line["from"], line["to"]) == ("rollback", names[2], names[1])


def test_goes_further_back_and_no_further_than_there_is(repository, names):
    roll_back(repository)
    assert roll_back(repository).current == names[0]
    with pytest.raises(OutputError, match="no release before"):
        roll_back(repository)
    assert repository.current() == names[0]
    assert len(read_lines(repository)) == 2


def test_goes_to_the_one_that_is_named_also_forward(repository, names):
    assert roll_back(repository, names[0][:8]).current == names[0]
    assert roll_back(repository, names[2]).current == names[2]
    assert repository.current() == names[2]


def test_one_that_was_left_is_passed_over(made, tmp_path):
    """The third was bad and was left; from the fourth the way back leads to the second."""
    repository, names = make_repository(tmp_path)
    roll_back(repository)
    fourth = publish_on(9, policy_for(tmp_path / "people.parquet", seed=9))
    assert repository.current() == fourth
    assert roll_back(repository) == Move(fourth, names[1], (names[2],))


def test_run_of_the_policy_that_was_left_does_not_undo_a_rollback(tmp_path):
    repository, names = make_repository(tmp_path, 2)
    roll_back(repository)
    again = release(policy_for(tmp_path / "people.parquet", seed=2))
    assert again.folder.name == names[1]
    assert repository.current() == names[0]


def damage_data(folder):
    victim = next((folder / "data").iterdir())
    victim.write_bytes(victim.read_bytes()[:-1])


def edit_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"achieved": 3', '"achieved": 9'))


def ask_for_more(folder):
    """Both manifests say that a larger k was asked: what the rows do not keep."""
    for path in (folder / "manifest.json", folder / "internal" / "manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["privacy"]["k"]["asked"] = 50
        path.write_text(json.dumps(manifest))


def take_another(folder):
    other = next(
        p for p in folder.parent.iterdir() if p.is_dir() and p != folder and len(p.name) == 20
    )
    shutil.rmtree(folder)
    shutil.copytree(other, folder)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage_data, "its content has changed"),
        (edit_manifest, "k differs from what the rows say"),
        (ask_for_more, "k: asked at least 50"),
        (lambda f: (f / "raw.csv").touch(), "raw.csv: does not belong to the release"),
        (lambda f: (f / "dictionary.md").unlink(), "dictionary.md: is missing"),
        (lambda f: shutil.rmtree(f / "internal"), "internal/manifest.json: is missing or damaged"),
        (lambda f: (f / "manifest.json").write_text("{}"), "manifest.json: is damaged"),
        (take_another, "manifest.json: is that of another release"),
    ],
)
def test_release_that_does_not_pass_is_refused_with_the_reason(harm, message, repository, names):
    harm(repository.release(names[1]))
    with pytest.raises(VerificationError, match=message):
        roll_back(repository, names[1])
    assert repository.current() == names[2]
    assert read_lines(repository) == []


def test_unreadable_one_is_no_release_before(repository, names):
    """Nothing says that it was published before the current one."""
    (repository.release(names[1]) / "manifest.json").write_text("{}")
    assert roll_back(repository).current == names[0]


def test_current_one_is_refused(repository, names):
    with pytest.raises(UsageError, match="is the current release already"):
        roll_back(repository, names[2])


def test_lost_pointer_is_set_to_the_one_that_is_named(repository, names):
    (repository.root / "CURRENT").unlink()
    with pytest.raises(OutputError, match="no release is current"):
        roll_back(repository)
    assert roll_back(repository, names[0]) == Move(None, names[0], ())
    assert repository.current() == names[0]


def test_current_one_may_be_damaged(repository, names):
    """That is what a rollback is for."""
    damage_data(repository.release(names[2]))
    assert roll_back(repository).current == names[1]
    shutil.rmtree(repository.release(names[1]))
    with pytest.raises(OutputError, match="not there"):
        roll_back(repository)


def test_does_not_race_with_a_run(repository, names):
    with repository.acquire_lease(), pytest.raises(BusyError, match="another run is working"):
        roll_back(repository)
    assert repository.current() == names[2]


def test_lease_is_held_from_the_audit_to_the_switch(repository, names, monkeypatch):
    seen = []

    def looking(place):
        with pytest.raises(BusyError), repository.acquire_lease():
            pass
        seen.append(place.name)
        return AuditResult(release=place.name)

    monkeypatch.setattr(rollback, "audit_release", looking)
    roll_back(repository)
    assert seen == [names[1]]


def test_no_switch_goes_unrecorded(repository, names, monkeypatch):
    """Stopped between the line and the switch: the line is there, CURRENT stays as it was."""

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(repository), "set_current", killed)
    with pytest.raises(KeyboardInterrupt):
        roll_back(repository)
    assert repository.current() == names[2]
    assert read_lines(repository)[0]["to"] == names[1]
    monkeypatch.undo()
    assert roll_back(repository).current == names[1]
