"""Commands of the register on releases in a bucket."""

import json

import pytest

from support.cases.repositories import publish_on
from support.servers.bucket_runs import run
from support.servers.s3_buckets import objects
from tclose.cli.main import main
from tclose.data.places.bucket_client import refusal
from tclose.data.places.bucket_paths import BucketPath
from tclose.policy.policy import parse_policy
from tclose.runtime.run import repository_of

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture
def three(document):
    """Releases by other seeds, a day apart; their ids, the oldest first."""
    return [publish_on(day, document | {"seed": day + 1}) for day in range(3)]


def call(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_commands_of_the_register(three, root, bucket, capsys):
    status, said, _ = call(capsys, "releases", bucket / "out", "--json")
    assert status == 0
    (told,) = json.loads(said)
    assert told["folder"] == str(root)
    assert [entry["release_id"] for entry in told["releases"]] == three[::-1]
    assert told["current"] == three[2]
    assert told["releases"][0]["made_by"]["host"]
    status, said, _ = call(capsys, "show", root, "--json")
    assert (status, json.loads(said)["release"]) == (0, f"{root}/{three[2]}")
    assert json.loads(said)["current"] is True
    status, said, _ = call(capsys, "show", f"{root}/{three[0][:8]}", "--json")
    assert json.loads(said)["manifest"]["release_id"] == three[0]
    status, said, _ = call(capsys, "diff", f"{root}/{three[0]}", f"{root}/{three[1]}")
    assert status == 1
    assert "seed" in said
    assert call(capsys, "audit", root)[0] == 0
    assert call(capsys, "audit", f"{root}/{three[1]}")[0] == 0


@pytest.mark.nightly
def test_whoever_may_not_see_what_is_internal_can_read_and_audit(three, root, capsys, monkeypatch):
    read = BucketPath.read_bytes

    def guarded(path):
        if ".internal" in path.parts:
            raise refusal(path, PermissionError("denied"))
        return read(path)

    monkeypatch.setattr(BucketPath, "read_bytes", guarded)
    assert call(capsys, "audit", root)[0] == 0
    status, said, _ = call(capsys, "releases", root, "--json")
    (told,) = json.loads(said)
    assert (status, told["journal"], told["releases"][0]["made_by"]["user"]) == (0, [], None)
    _, said, _ = call(capsys, "diff", f"{root}/{three[0]}", f"{root}/{three[1]}")
    assert "policies: not compared" in said
    status, _, error = call(capsys, "rollback", root)
    assert status == 1
    assert "no permission" in error


@pytest.mark.nightly
def test_rollback_and_prune(three, root, document, capsys):
    status, said, _ = call(capsys, "rollback", root, "--json")
    assert (status, json.loads(said)["to"]) == (0, three[1])
    assert (root / "CURRENT").read_text().split()[0] == three[1]
    assert run(document | {"seed": 3}).current == three[1]  # a re-run does not undo it
    status, said, _ = call(capsys, "prune", root, "--keep", "1", "--json")
    told = json.loads(said)
    assert (status, told["removed"], told["kept"]) == (0, three[:1], three[2:])
    assert list(told["spared"]) == [three[1]]
    assert repository_of(parse_policy(document)).store.ids() == sorted(three[1:])
    assert not any(three[0] in path for path in objects(root))
    journal = (root / ".internal" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["action"] for line in journal] == ["rollback", "prune"]


@pytest.mark.nightly
def test_rollback_to_a_damaged_release_is_refused(three, root, capsys):
    victim = root / three[1] / "data" / "part-00000.parquet"
    victim.put(victim.read_bytes()[:-1], victim.tag())
    status, _, error = call(capsys, "rollback", root)
    assert status == 3
    assert "CURRENT was not moved" in error
    assert (root / "CURRENT").read_text().split()[0] == three[2]
