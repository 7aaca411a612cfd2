"""Who made a release: said inside, and nowhere that is handed out."""

import os
import pwd

import pytest

from support.cases.people import people, policy_for, release, write_parquet
from tclose.releases import provenance
from tclose.releases.provenance import git_state, who
from tclose.releases.repository.repository import DOCUMENTS


def test_user_and_host_are_named_inside_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tclose.releases.provenance.platform.node", lambda: "canary-host")
    made = release(policy_for(write_parquet(tmp_path / "people.parquet", people())))
    run = made.internal["run"]
    assert run["host"] == "canary-host"
    assert run["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert run["flow_run"] is None
    assert run["lineage_run"] in (made.folder / "internal" / "lineage.jsonl").read_text()
    for name in ("manifest.json", *DOCUMENTS):
        assert "canary-host" not in (made.folder / name).read_text()
    assert "run" not in made.manifest


def test_user_is_the_systems_not_the_environments(monkeypatch):
    monkeypatch.setenv("USER", "somebody-else")
    monkeypatch.setenv("LOGNAME", "somebody-else")
    assert who()["user"] != "somebody-else"


def test_user_without_a_name_is_a_number(monkeypatch):
    def unknown(_):
        raise KeyError

    monkeypatch.setattr("tclose.releases.provenance.pwd.getpwuid", unknown)
    assert who()["user"] == f"uid {os.getuid()}"


def test_git_is_asked_once(monkeypatch):
    found = git_state()
    monkeypatch.setattr(provenance, "_git", lambda *_: pytest.fail("was asked again"))
    assert git_state() == found
