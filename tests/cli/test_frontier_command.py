"""The command ``tclose frontier``: what it prints, writes and refuses, and what it leaves."""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.cases.far_partitions import far_partition, far_policy
from support.cases.people import (
    people,
    people_policy,
    policy_for,
    tree,
    write_csv,
    write_parquet,
    write_policy,
)
from tclose.cli.main import main

pytestmark = pytest.mark.usefixtures("scratch")

N_RECORDS = 240


def run(tmp_path: Path, document: dict[str, Any], *options: str) -> int:
    policy = write_policy(tmp_path / "policy.yaml", document)
    return main(["frontier", str(policy), "--quiet", *options])


def test_writes_what_was_asked_for_and_nothing_else(tmp_path, capsys):
    document = policy_for(write_csv(tmp_path / "people.csv", people(N_RECORDS)))
    write_policy(tmp_path / "policy.yaml", document)
    before = tree(tmp_path)
    assert run(tmp_path, document, "--k", "2,6", "--t", ".1") == 0
    assert tree(tmp_path) == before
    printed = capsys.readouterr().out
    assert "the whole table: 240 records" in printed
    [marked] = [line for line in printed.splitlines() if line.startswith("  *  ")]
    assert marked.split()[1:3] == ["3", "0.3"]
    pytest.importorskip("matplotlib")
    picture_file = tmp_path / "f.svg"
    options = ("--sample", "100", "--set", "privacy.k=4", "--out", str(picture_file))
    assert run(tmp_path, document, *options) == 0
    assert tree(tmp_path).keys() == before.keys() | {"f.svg"}
    printed = capsys.readouterr().out
    assert "a random sample: 100 of 240 records (seed 1)" in printed
    assert "larger than on the whole table" in printed
    picture = ElementTree.parse(picture_file).getroot()
    assert [e.get("id") for e in picture.iter()].count("policy") == 2
    assert "the policy: k = 4, t = 0.3" in [e.text for e in picture.iter()]
    assert run(tmp_path, document, *options, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(p["k"], p["t"]) for p in printed["points"] if p["is_policy"]] == [(4, 0.3)]
    assert "farther away" in printed["caution"]


def test_shows_infeasible_points_and_ends_well(tmp_path, capsys):
    document = far_policy(write_parquet(tmp_path / "people.parquet", far_partition()))
    pytest.importorskip("matplotlib")
    out = tmp_path / "f.svg"
    assert run(tmp_path, document, "--t", ".1", "--k", "3", "--out", str(out)) == 0
    assert "infeasible: partition site=" in capsys.readouterr().out
    picture = ElementTree.parse(out).getroot()
    assert [e.get("id") for e in picture.iter()].count("infeasible") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--t", "2"), "--t 2: has to be numbers above 0"),
        (("--sample", "0"), "--sample 0: has to be at least 2"),
        (("--out", "picture.png"), "--out picture.png: has to end in .svg"),
        (("--out", "nowhere/f.svg"), "--out nowhere/f.svg: cannot be written"),
        (("--set", "privacy.k=1"), "privacy.k: has to be at least 2"),
    ],
)
def test_refuses_by_one_message(options, message, tmp_path, capsys):
    document = people_policy(tmp_path)
    assert run(tmp_path, document, *options) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("tclose: ")
    assert message in said.err


def test_says_what_drawing_needs_before_any_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    document = policy_for(tmp_path / "nothing.csv")
    assert run(tmp_path, document, "--out", str(tmp_path / "f.svg")) == 2
    assert "pip install 'tclose[charts]'" in capsys.readouterr().err


def test_refuses_data_as_a_run_does(tmp_path, capsys):
    table = people(60, pay=[None, *range(59)])
    document = policy_for(write_csv(tmp_path / "people.csv", table))
    assert run(tmp_path, document) == 2
    assert "1 missing value\n" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "people.csv",
        "policy.yaml",
        "scratch",
    ]
    assert not list((tmp_path / "scratch").iterdir())
