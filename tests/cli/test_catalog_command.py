"""The commands of the register: what they print, refuse and leave, and what they import."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from support.cases.people import tree
from support.cases.repositories import (
    fake_id,
    fake_manifest,
    fake_repository,
    make_repository,
    move_current,
    write_fake,
)
from tclose.cli.main import main
from tclose.releases.catalog.catalog import open_repository
from tclose.releases.repository.repository import read_internal

A, B, C = (fake_id(text) for text in ("a1", "b1", "b2"))


@pytest.fixture
def repository(tmp_path):
    return fake_repository(tmp_path, A, B, C)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_repository(tmp_path_factory.mktemp("people"))


@pytest.fixture
def real(made, tmp_path):
    shutil.copytree(made[0].output, tmp_path / "releases")
    return open_repository(tmp_path / "releases" / "people"), made[1]


def call(capsys, *arguments):
    """Exit status, standard output, standard error."""
    status = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_releases_lists_the_newest_first_and_marks_the_current_one(repository, capsys):
    move_current(repository, B)
    status, said, _ = call(capsys, "releases", repository.root)
    assert status == 0
    lines = [line.split() for line in said.splitlines()[2:]]
    assert [next(word for word in line if len(word) == 20) for line in lines] == [C, B, A]
    assert [line[0] == "*" for line in lines] == [False, True, False]
    row = " ".join(lines[0])
    for word in ("2026-02-02T12:00:00+00:00", "PASS", "60", "4 of 3", "0.250000 of 0.3 pay",
                 "0.125", "ann@vault, tclose 0.1.0"):  # fmt: skip
        assert word in row


def test_releases_of_all_names(repository, capsys):
    other = write_fake(repository.output / "animals", fake_manifest(fake_id("d"))).parent
    shutil.rmtree(other / fake_id("d") / "internal")
    (repository.output / "new").mkdir()
    (repository.output / "new" / ".lock").touch()
    status, said, _ = call(capsys, "releases", repository.output)
    assert status == 0
    assert [part.split()[0] for part in said.split("\n\n")] == ["animals", "new:", "people"]
    animals, new, _ = said.split("\n\n")
    assert "ann@vault" not in animals
    assert "no release is current" in animals
    assert new == "new: no releases"
    _, said, _ = call(capsys, "releases", repository.output, "--json")
    assert [(told["name"], len(told["releases"])) for told in json.loads(said)] == [
        ("animals", 1), ("new", 0), ("people", 3)
    ]  # fmt: skip


def test_releases_as_json(repository, capsys):
    _, said, _ = call(capsys, "releases", repository.root, "--json")
    [told] = json.loads(said)
    assert told["current"] == C
    newest = told["releases"][0]
    assert (newest["release_id"], newest["current"], newest["records"]) == (C, True, 60)
    assert newest["privacy"] == fake_manifest(C)["privacy"]
    assert newest["made_by"]["user"] == "ann"
    assert told["journal"] == []


def test_releases_shows_what_cannot_be_read(repository, capsys):
    (repository.release(B) / "manifest.json").write_text("{")
    status, said, _ = call(capsys, "releases", repository.root)
    assert status == 0
    [row] = [line for line in said.splitlines() if B in line]
    assert "its manifest cannot be read" in row
    _, said, _ = call(capsys, "releases", repository.root, "--json")
    [told] = [r for r in json.loads(said)[0]["releases"] if r["release_id"] == B]
    assert told == {"release_id": B, "current": False, "readable": False}


def test_releases_says_which_attribute_is_nearest_to_its_limit(repository, capsys):
    t = {
        "pay": {"asked": 0.3, "largest_emd": 0.25, "distance": "ordered"},
        "debt": {"asked": 0.1, "largest_emd": 0.09, "distance": "ordered"},
    }
    privacy = {"k": {"asked": 3, "achieved": 4}, "t": t}
    write_fake(repository.root, fake_manifest(fake_id("d"), 8, privacy=privacy))
    write_fake(repository.root, fake_manifest(fake_id("e"), 9, privacy=privacy | {"t": {}}))
    _, said, _ = call(capsys, "releases", repository.root)
    assert "0.090000 of 0.1 debt (+1)" in next(x for x in said.splitlines() if fake_id("d") in x)
    assert " 4 of 3  -  " in next(x for x in said.splitlines() if fake_id("e") in x)


def test_nothing_that_a_manifest_says_moves_the_cursor(repository, capsys):
    columns = [c | {"name": f"\x1b[2J{c['name']}"} for c in fake_manifest(A)["columns"]]
    t = {"asked": 0.3, "largest_emd": 0.1, "distance": "ordered"}
    privacy = {"k": {"asked": 3, "achieved": 3}, "t": {"\x1b[2Jpay": t}}
    changes = {"columns": columns, "privacy": privacy, "name": "\x1b[2J", "verdict": "\x1b[2J"}
    run = {"user": "\x1b[2J", "host": "\x1b[2J"}
    write_fake(repository.root, fake_manifest(fake_id("d"), 9, **changes), run=run)
    for arguments in (("releases", repository.root), ("show", repository.root / "d"),
                      ("diff", repository.root / "d", repository.root / "a")):  # fmt: skip
        _, said, _ = call(capsys, *arguments)
        assert "\x1b" not in said
        assert "\\x1b[2J" in said


def test_show_tells_how_many_isolated_records_were_left_out(repository, capsys):
    changed = fake_manifest(fake_id("d"), 9, suppressed={"percent": 2})
    folder = write_fake(repository.root, changed, records_suppressed=6)
    assert "  left out          6 as isolated ones (internal)" in call(capsys, "show", folder)[1]
    (folder / "internal" / "manifest.json").unlink()
    assert "  left out          at most 2 % as isolated ones" in call(capsys, "show", folder)[1]


def test_show_tells_of_one_release(repository, capsys):
    status, said, _ = call(capsys, "show", repository.root / "a")
    assert status == 0
    assert "(current)" not in said
    for line in (
        "  k                 asked 3, achieved 4",
        "  t of pay          asked 0.3, largest EMD 0.250000",
        "  made by           ann@vault, tclose 0.1.0",
        "  columns           1 quasi-identifier, 1 confidential",
        "  method            t-closeness-first",
        "  dropped           7 with a missing value (internal)",
        "  age     quasi-identifier  int16   mean of its class",
        "  data/part-00000.parquet  60    9",
    ):
        assert line in said.splitlines()
    _, said, _ = call(capsys, "show", repository.root)
    assert f"{C} (current)" in said
    _, said, _ = call(capsys, "show", repository.release(B), "--json")
    told = json.loads(said)
    assert told["manifest"] == fake_manifest(B, 1)
    assert told["current"] is False
    assert told["policy"]["privacy"] == {"k": 3, "t": 0.3}


def test_show_tells_what_a_release_changes_for_analysis(real, capsys):
    repository, names = real
    _, said, _ = call(capsys, "show", repository.release(names[0]))
    utility = read_internal(repository.release(names[0])).to_json()["utility"]
    lines = said.splitlines()
    place = lines.index("beside the originals (internal)")
    assert lines[place + 1].split() == ["IL1s", f"{utility['il1s']:.3g}"]
    (mean,) = [line for line in lines if line.strip().startswith("mean, in deviations: age")]
    assert float(mean.split()[-1]) == utility["changes_of_means"]["age"]


def test_show_tells_of_a_release_that_was_handed_out(repository, tmp_path, capsys):
    place = tmp_path / "handed out"
    repository.release(B).rename(place)
    shutil.rmtree(place / "internal")
    status, said, _ = call(capsys, "show", place)
    assert status == 0
    assert "made by           tclose 0.1.0" in said
    assert "dropped" not in said


def test_show_names_so_many_files_and_no_more(repository, capsys):
    file = fake_manifest(A)["files"][0]
    files = [file | {"path": f"data/part-{i:05d}.parquet"} for i in range(25)]
    write_fake(repository.root, fake_manifest(fake_id("d"), 9, files=files))
    _, said, _ = call(capsys, "show", repository.root / "d")
    assert said.count(".parquet") == 20
    assert "and 5 more files" in said


def test_diff_is_0_where_nothing_differs_and_1_where_something_does(repository, capsys):
    status, said, _ = call(capsys, "diff", repository.root / "a", repository.root)
    assert status == 0
    assert "nothing differs" in said
    t = {"asked": 0.3, "largest_emd": 0.2500001, "distance": "ordered"}
    privacy = {"k": {"asked": 4, "achieved": 4}, "t": {"pay": t}}
    write_fake(repository.root, fake_manifest(fake_id("d"), 9, privacy=privacy, records=1_060))
    status, said, _ = call(capsys, "diff", repository.root / "a", repository.root / "d")
    assert status == 1
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "records 60 -> 1,060" in rows
    assert "k.asked 3 -> 4" in rows
    assert "t.pay.largest_emd 0.25 -> 0.2500001" in rows
    status, said, _ = call(capsys, "diff", repository.root / "a", repository.root / "d", "--json")
    assert status == 1
    told = json.loads(said)
    assert told["policies_compared"] is True
    assert {"section": "release", "key": "records", "first": 60, "second": 1_060} in (
        told["differences"]
    )


def test_diff_says_that_policies_were_not_compared(repository, capsys):
    shutil.rmtree(repository.release(A) / "internal")
    status, said, _ = call(capsys, "diff", repository.root / "a", repository.root)
    assert status == 0
    assert "policies: not compared" in said


def test_diff_of_real_releases_tells_the_seed(real, capsys):
    repository, names = real
    status, said, _ = call(
        capsys, "diff", repository.release(names[0]), repository.release(names[1])
    )
    assert status == 1
    assert "seed  1  ->  2" in said


def test_rollback_says_what_it_did_and_releases_shows_it(real, capsys):
    repository, names = real
    status, said, _ = call(capsys, "rollback", repository.root)
    assert status == 0
    assert said.splitlines() == [
        f"{names[1]} passes the audit",
        f"CURRENT of people moved from {names[2]} to {names[1]}",
    ]
    _, said, _ = call(capsys, "releases", repository.root)
    assert f"from {names[2]} to {names[1]}" in said
    status, said, _ = call(capsys, "rollback", repository.root, names[0][:10], "--json")
    assert json.loads(said) == {
        "name": "people", "from": names[1], "to": names[0], "skipped": []
    }  # fmt: skip


def test_rollback_refuses_a_damaged_release(real, capsys):
    repository, names = real
    (repository.release(names[1]) / "dictionary.md").write_text("")
    status, said, error = call(capsys, "rollback", repository.root)
    assert (status, said) == (3, "")
    assert "does not pass the audit; CURRENT was not moved" in error
    assert "dictionary.md: its content has changed" in error


def test_prune_says_what_it_removed(repository, capsys):
    before = tree(repository.root)
    status, said, _ = call(capsys, "prune", repository.root, "--keep", "1", "--dry-run")
    assert status == 0
    assert said.splitlines() == [f"would remove {A}", f"would remove {B}", "kept the newest: 1"]
    assert tree(repository.root) == before
    move_current(repository, A)
    status, said, _ = call(capsys, "prune", repository.root, "--keep", "1")
    assert said.splitlines() == [
        f"removed {B}", f"kept {A}: it is the current one", "kept the newest: 1"
    ]  # fmt: skip
    _, said, _ = call(capsys, "prune", repository.root, "--keep", "1", "--json")
    assert json.loads(said) == {
        "name": "people", "dry_run": False, "removed": [], "kept": [C],
        "spared": {A: "it is the current one"},
    }  # fmt: skip


def test_prune_and_rollback_wait_for_no_run(repository, capsys):
    with repository.acquire_lease():
        for arguments in (("prune", repository.root, "--keep", "1"), ("rollback", repository.root)):
            status, said, error = call(capsys, *arguments)
            assert (status, said) == (1, "")
            assert "another run is working on the releases of 'people'" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("releases", "nobody"), "nobody: no such folder"),
        (("releases", f"people/{A}"), "is a single release; give the folder that holds it"),
        (("show", "people/b"), "'b' is ambiguous, 2 releases begin with it"),
        (("show", "people/c"), "no such release, none begins with 'c'"),
        (("show", ""), "holds releases of people; name one"),
        (("diff", "people/a", "people/c"), "no such release"),
        (("rollback", "people", "c"), "no such release"),
        (("rollback", f"people/{A}"), "is a single release"),
        (("rollback", "people", C), "is the current release already"),
        (("prune", "people", "--keep", "-1"), "--keep -1: has to be at least 0"),
        (("prune", "", "--keep", "1"), "holds releases of people; name one"),
        (("audit", "people/b"), "'b' is ambiguous"),
    ],
)
def test_refuses_by_one_message(arguments, message, repository, monkeypatch, capsys):
    monkeypatch.chdir(repository.output)
    before = tree(repository.output)
    status, said, error = call(capsys, *arguments)
    assert (status, said) == (2, "")
    assert error.startswith("tclose: ")
    assert message in error
    assert tree(repository.output) == before


def test_audit_takes_the_beginning_of_an_id(real, capsys):
    repository, names = real
    status, said, _ = call(capsys, "audit", repository.root / names[0][:12])
    assert status == 0
    assert names[0] in said


@pytest.mark.parametrize("command", ["releases", "show", "diff", "rollback", "prune"])
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"tclose {command} releases/demo" in said
    assert "exit status" in said


HEAVY = (
    "numba",
    "numpy",
    "dask",
    "distributed",
    "pandas",
    "pyarrow",
    "prefect",
    "rich.console",  # widths of texts alone take two milliseconds
)


@pytest.mark.parametrize("command", ["releases", "show", "diff", "prune"])
def test_nothing_heavy_is_imported(command, repository):
    """A look at the repository answers at once."""
    more = {"diff": [str(repository.root / "a")], "prune": ["--keep", "9"]}.get(command, [])
    script = (
        "import sys\n"
        "from tclose.cli.main import main\n"
        f"status = main({[command, str(repository.root), *more]!r})\n"
        f"found = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'imported {found}' if found else status)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=False,
        timeout=300,
        text=True,
        env=os.environ,
    )
    assert ended.returncode == 0, ended.stderr
