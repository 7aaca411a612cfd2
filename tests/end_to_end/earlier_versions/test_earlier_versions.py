"""What earlier versions published is audited, listed, compared and gone back to."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.cases.published import hand_out
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.passes.release import run_release
from tclose.policy.policy import load_policy
from tclose.releases.repository.operations_log import read_lines
from tclose.releases.repository.repository import ReleaseRepository
from tclose.runtime.monitoring.progress import Progress

FIRST, SECOND, THIRD = "d39a69e74723b292b593", "4a20f0dbbec24dd25c0d", "30d08ca2b5cc33708ce3"
POLICIES = {
    "quarter-1": f"quarter/{FIRST}",
    "quarter-2": f"quarter/{SECOND}",
    "quarter-3": f"quarter/{THIRD}",
    "buckets": "buckets",
    "joint": "joint",
    "noise": "noise",
    "sabre": "sabre",
}
# Policies whose methods have made other classes since, or released representatives of them.
OTHER_ROWS = {"buckets", "joint", "quarter-1", "quarter-2"}
METHODS = {
    "buckets": "bucketization",
    "joint": "t-closeness-first",
    "noise": "dp-confidential",
    "quarter": "mondrian",
    "sabre": "sabre",
}

NOT_COMPARED = (
    "is not compared with the manifest, as this version makes none of one like it; what was "
    "checked is what the manifest says"
)


def tell(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == status
    return capsys.readouterr().out


def tell_json(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    return json.loads(tell(capsys, *arguments, "--json", status=status))


def every_release(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("releases/*/*/manifest.json"))


def test_nothing_in_them_names_a_machine(earlier):
    for path in (path for path in earlier.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert not any(word in content for word in (b"/work", b"/root", b"/home", b"/Users"))
    runs = [json.loads((r / "internal/manifest.json").read_text()) for r in every_release(earlier)]
    assert {(r["run"]["user"], r["run"]["host"]) for r in runs} == {("curator", "example")}


def test_every_one_passes_its_audit(earlier, capsys):
    assert len(every_release(earlier)) == 7
    for release in every_release(earlier):
        audit = tell_json(capsys, "audit", str(release))
        assert (audit["findings"], audit["notes"], audit["checked"]) == ([], [], True)
        assert "PASS" in tell(capsys, "audit", str(release))


def test_every_one_passes_where_it_was_handed_out_to(earlier, capsys):
    for release in every_release(earlier):
        copy = hand_out(release, earlier / "elsewhere")
        audit = tell_json(capsys, "audit", str(copy))
        assert (audit["findings"], audit["checked"]) == ([], True)
        names = ["datapackage.json", "dictionary.md"]
        assert audit["notes"] == [f"{name}: {NOT_COMPARED}" for name in names]


@pytest.mark.parametrize("name", METHODS)
def test_what_was_changed_is_found(name, earlier, capsys):
    release = next(r for r in every_release(earlier) if r.parent.name == name)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["records"] += 1
    for place in (release, release / "internal"):
        (place / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    told = tell(capsys, "audit", str(release), status=3)
    assert "manifest.json: its content has changed" in told  # sealed with the key that stands there
    (earlier / "releases" / ".release-key").unlink()
    shutil.rmtree(release / "internal")
    assert "records" in tell(capsys, "audit", str(release), status=3)


def test_they_are_listed_with_who_made_them(earlier, capsys):
    assert tell(capsys, "releases", "releases").count("curator@example, tclose 0.1.0") == 7
    listed = tell_json(capsys, "releases", "releases/quarter")[0]
    assert listed["releases"][0]["release_id"] == THIRD
    assert [entry["readable"] for entry in listed["releases"]] == [True, True, True]
    assert listed["current"] == THIRD
    assert [line["action"] for line in listed["journal"]] == ["rollback", "rollback"]
    maker = listed["releases"][0]["made_by"]
    assert (maker["user"], maker["host"], maker["flow_run"]) == ("curator", "example", None)
    assert maker["git"] == {
        "commit": "fe4fb1686809e5d4bbfd2416be34ab3cd7d9fed0",
        "modified": False,
    }


@pytest.mark.parametrize(("name", "method"), METHODS.items())
def test_each_is_shown_as_it_was_published(name, method, earlier, capsys):
    told = tell_json(capsys, "show", f"releases/{name}")
    published = json.loads((Path(told["release"]) / "manifest.json").read_text())
    assert list(told["manifest"]) == list(published)
    assert told["manifest"] == published
    assert told["policy"]["method"]["name"] == method
    table = tell(capsys, "show", f"releases/{name}")
    assert f"  {method}\n" in table
    assert "curator@example, tclose 0.1.0" in table


def test_two_are_compared(earlier, capsys):
    places = [f"releases/quarter/{name}" for name in (FIRST, SECOND)]
    found = tell_json(capsys, "diff", *places, status=1)
    assert found["policies_compared"]
    told = {(d["section"], d["key"]): (d["first"], d["second"]) for d in found["differences"]}
    assert told["policy", "privacy.t"] == (0.2, 0.15)
    assert told["privacy", "k.asked"] == (3, 5)
    assert told["privacy", "t.charge.asked"] == (0.2, 0.15)
    assert not any(section == "columns" for section, _ in told)
    found = tell_json(capsys, "diff", places[1], f"releases/quarter/{THIRD}", status=1)
    told = {(d["section"], d["key"]): (d["first"], d["second"]) for d in found["differences"]}
    assert told["columns", "severity"] == (None, "there")
    assert told["columns", "age: generalised"] == (None, True)
    assert "nothing differs" in tell(capsys, "diff", places[0], places[0])


def test_one_is_gone_back_to(earlier, capsys):
    repository = ReleaseRepository(earlier / "releases", "quarter")
    assert f"to {FIRST}" in tell(capsys, "rollback", "releases/quarter", FIRST[:6])
    assert repository.current() == FIRST
    tell(capsys, "rollback", "releases/quarter", THIRD)
    before = min(FIRST, SECOND, key=lambda name: published_at(repository, name))
    tell(capsys, "rollback", "releases/quarter", before)
    assert repository.current() == before
    assert len(read_lines(repository)) == 5


def published_at(repository: ReleaseRepository, release_id: str) -> str:
    manifest = json.loads((repository.release(release_id) / "manifest.json").read_text())
    return str(manifest["published_at"])


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_policy_gives_the_same_rows_or_another_version(policy, earlier):
    """Byte by byte, but where noise is drawn or a later version of the method makes others.

    Then every value that is released as it is still stands beside the others of its record.
    """
    asked = load_policy(earlier / "policies" / f"{policy}.yaml", [])
    place = earlier / "releases" / POLICIES[policy]
    earlier_one = (
        place if (place / "data").is_dir() else place / (place / "CURRENT").read_text()[:20]
    )
    outcome = run_release(asked, Progress("none"))
    assert audit_release(outcome.release).findings == []
    first, second = (
        json.loads((r / "manifest.json").read_text()) for r in (earlier_one, outcome.release)
    )
    digests = [[(f["path"], f["sha256"]) for f in made["files"]] for made in (first, second)]
    assert (digests[0] == digests[1]) == (policy not in {"noise", *OTHER_ROWS})
    assert first["records"] == second["records"]
    if policy == "noise":  # drawn before, of the same records: both draws count
        assert outcome.budget == {"charge": 2.0}


def test_modes_are_the_bytes_of_before_representatives(earlier):
    [before] = (earlier / "releases" / "buckets").glob("*/data/*")
    modes = "attributes.sex={role: quasi-identifier, aggregate: mode}"
    outcome = run_release(load_policy("policies/buckets.yaml", modes), Progress("none"))
    [after] = (outcome.release / "data").iterdir()
    assert outcome.release != before.parents[1]
    assert after.read_bytes() == before.read_bytes()


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "noise"])
def test_they_are_compared_with_the_originals(policy, earlier, capsys):
    place = f"releases/{POLICIES[policy]}"
    given = ("audit", place, "--originals", f"policies/{policy}.yaml", "--quiet")
    audit = tell_json(capsys, *given)
    assert audit["findings"] == []
    if policy in OTHER_ROWS:
        assert "originals" not in audit
        assert "made by other versions of the code" in audit["notes"][0]
    else:
        assert audit["originals"]["attackers"] == 300


def test_the_oldest_is_removed_and_no_other(earlier, capsys):
    done = tell_json(capsys, "prune", "releases/quarter", "--keep", "2")
    assert len(done["removed"]) == 1
    assert len(every_release(earlier)) == 6
