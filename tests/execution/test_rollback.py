"""Rollback: to releases that pass an audit and to no others, and never beside a run."""

import json
import shutil

import pytest

from pipeline.errors import BusyError, OutputError, UsageError, VerificationError
from pipeline.execution import rollback
from pipeline.execution.rollback import Move, roll_back
from pipeline.storage.journal import read_lines
from pipeline.storage.register import open_shelf
from support.cases import policy_for, release, tree
from support.shelves import make_shelf, publish_on


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_shelf(tmp_path_factory.mktemp("people"))


@pytest.fixture
def shelf(made, tmp_path):
    shutil.copytree(made[0].output, tmp_path / "releases")
    return open_shelf(tmp_path / "releases" / "people")


@pytest.fixture
def names(made):
    return made[1]


def test_goes_to_the_release_before_and_writes_it_down(shelf, names):
    before = {name: tree(shelf.release(name)) for name in names}
    assert roll_back(shelf) == Move(names[2], names[1], ())
    assert shelf.current() == names[1]
    assert (shelf.root / "CURRENT").read_text() == f"{names[1]}\n"
    assert {name: tree(shelf.release(name)) for name in names} == before
    [line] = read_lines(shelf)
    assert (line["action"], line["from"], line["to"]) == ("rollback", names[2], names[1])


def test_goes_further_back_and_no_further_than_there_is(shelf, names):
    roll_back(shelf)
    assert roll_back(shelf).reached == names[0]
    with pytest.raises(OutputError, match="no release before"):
        roll_back(shelf)
    assert shelf.current() == names[0]
    assert len(read_lines(shelf)) == 2


def test_goes_to_the_one_that_is_named_also_forward(shelf, names):
    assert roll_back(shelf, names[0][:8]).reached == names[0]
    assert roll_back(shelf, names[2]).reached == names[2]
    assert shelf.current() == names[2]


def test_one_that_was_left_is_passed_over(made, tmp_path):
    """The third was bad and was left; from the fourth the way back leads to the second."""
    shelf, names = make_shelf(tmp_path)
    roll_back(shelf)
    fourth = publish_on(9, policy_for(tmp_path / "people.parquet", seed=9))
    assert shelf.current() == fourth
    assert roll_back(shelf) == Move(fourth, names[1], (names[2],))


def test_run_of_the_policy_that_was_left_does_not_undo_a_rollback(tmp_path):
    shelf, names = make_shelf(tmp_path, 2)
    roll_back(shelf)
    again = release(policy_for(tmp_path / "people.parquet", seed=2))
    assert again.folder.name == names[1]
    assert shelf.current() == names[0]


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
def test_release_that_does_not_pass_is_refused_with_the_reason(harm, message, shelf, names):
    harm(shelf.release(names[1]))
    with pytest.raises(VerificationError, match=message):
        roll_back(shelf, names[1])
    assert shelf.current() == names[2]
    assert read_lines(shelf) == []


def test_unreadable_one_is_no_release_before(shelf, names):
    """Nothing says that it was published before the current one."""
    (shelf.release(names[1]) / "manifest.json").write_text("{}")
    assert roll_back(shelf).reached == names[0]


def test_current_one_is_refused(shelf, names):
    with pytest.raises(UsageError, match="is the current release already"):
        roll_back(shelf, names[2])


def test_lost_pointer_is_set_to_the_one_that_is_named(shelf, names):
    (shelf.root / "CURRENT").unlink()
    with pytest.raises(OutputError, match="no release is current"):
        roll_back(shelf)
    assert roll_back(shelf, names[0]) == Move(None, names[0], ())
    assert shelf.current() == names[0]


def test_current_one_may_be_damaged(shelf, names):
    """That is what a rollback is for."""
    damage_data(shelf.release(names[2]))
    assert roll_back(shelf).reached == names[1]
    shutil.rmtree(shelf.release(names[1]))
    with pytest.raises(OutputError, match="not there"):
        roll_back(shelf)


def test_does_not_race_with_a_run(shelf, names):
    with shelf.claim(), pytest.raises(BusyError, match="another run is working"):
        roll_back(shelf)
    assert shelf.current() == names[2]


def test_claim_is_held_from_the_audit_to_the_switch(shelf, names, monkeypatch):
    seen = []

    def looking(place):
        with pytest.raises(BusyError), shelf.claim():
            pass
        seen.append(place.name)
        return {"findings": []}

    monkeypatch.setattr(rollback, "audit_release", looking)
    roll_back(shelf)
    assert seen == [names[1]]


def test_no_switch_goes_unrecorded(shelf, names, monkeypatch):
    """Stopped between the line and the switch: the line is there, CURRENT stays as it was."""

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(shelf), "set_current", killed)
    with pytest.raises(KeyboardInterrupt):
        roll_back(shelf)
    assert shelf.current() == names[2]
    assert read_lines(shelf)[0]["to"] == names[1]
    monkeypatch.undo()
    assert roll_back(shelf).reached == names[1]
