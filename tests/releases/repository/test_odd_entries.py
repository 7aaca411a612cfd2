"""Entries of an output folder that are of another kind than they should be: one message each."""

import os
import re
from pathlib import Path

import pytest

from support.cases.people import people, policy_for, release, tree, write_parquet, write_policy
from tclose.cli.main import main

COMMANDS = ("run", "releases", "show", "audit", "rollback", "prune")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Folder of a name with a release, beside the policy that it was made by."""
    document = policy_for(write_parquet(tmp_path / "people.parquet", people()))
    write_policy(tmp_path / "policy.yaml", document)
    return release(document).folder.parent


def make_folder(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_file(path: Path) -> None:
    path.write_text("")


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def call(command: str, root: Path) -> int:
    given = {
        "run": [str(root.parents[1] / "policy.yaml"), "--quiet"],
        "prune": [str(root), "--keep", "1"],
    }
    return main([command, *given.get(command, [str(root)])])


# What each command may answer; 1 is what another run or a later try may pass.
ODD = {
    "CURRENT": (make_folder, make_pipe, make_loop),
    ".claims": (make_file, make_pipe, make_loop),
    ".work": (make_file, make_pipe, make_loop),
    ".journal.jsonl": (make_folder, make_pipe, make_loop),
    ".lock": (make_folder, make_loop),
}
CASES = [(name, make) for name, kinds in ODD.items() for make in kinds]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "make"), CASES)
def test_one_message_and_nothing_half_done(name, make, command, root, capsys):
    path = root / name
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    make(path)
    before = tree(root)
    status = call(command, root)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert status in (0, 2), printed.err
    if status:
        assert printed.err.startswith("tclose: ")
        assert len(printed.err.splitlines()) == 1
        assert name in printed.err or re.search("no release (is current|before)", printed.err)
    after = tree(root)
    assert {n for n in after if n not in before} <= {".lock"}
    assert {n: c for n, c in after.items() if n in before} == before


@pytest.mark.timeout(300)
@pytest.mark.parametrize("make", [make_file, make_pipe, make_loop])
@pytest.mark.parametrize("above", [0, 1])
def test_output_that_is_no_folder(make, above, root, capsys):
    policy = root.parents[1] / "policy.yaml"
    place = (root, root.parent)[above]
    place.rename(place.with_name("aside"))
    make(place)
    assert main(["run", str(policy), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tclose: output ")
    assert len(said.splitlines()) == 1
