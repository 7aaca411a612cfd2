"""Releases in a bucket: the bytes and guarantees of those in a folder."""

import json

import pytest

from support.cases.people import policy_for, tree, write_policy
from support.cases.repositories import publish_on
from support.length import every
from support.passes import replace_work
from support.servers.bucket_runs import public, run
from support.servers.s3_buckets import SECRET, objects
from tclose.assess.auditing.audit import audit_release
from tclose.cli.main import main
from tclose.errors import VerificationError

pytestmark = pytest.mark.usefixtures("small_regions")

DOCUMENTS = {"dictionary.md", "datapackage.json", "report.html"}
PUBLIC = {"data/part-00000.parquet", "manifest.json"} | DOCUMENTS


def test_release_in_a_bucket_is_that_in_a_folder_byte_by_byte(source, document, bucket, tmp_path):
    """Made with the same key, so that the ids, which stand in the manifests, are the same too."""
    local = policy_for(source, output={"path": str(tmp_path / "releases")})
    name = publish_on(0, local)
    key = (tmp_path / "releases" / ".release-key").read_bytes()
    (bucket / "out" / ".internal" / "release-key").put(key, None)
    assert publish_on(0, document) == name
    folder = tmp_path / "releases" / "people" / name
    files = {path: data for path, data in tree(folder).items() if data is not None}
    inside = {path for path in files if path.startswith("internal/")}
    assert public(bucket / "out" / "people", name) == {
        path: data for path, data in files.items() if path not in inside
    }
    hidden = objects(bucket / "out" / "people" / ".internal" / name)
    assert {f"internal/{path}" for path in hidden} == inside
    assert (bucket / "out" / "people" / "CURRENT").read_text().splitlines()[0] == name


def test_nothing_but_the_release_can_be_handed_out_and_nothing_else_stays(document, root, bucket):
    made = run(document)
    names = set(objects(bucket))
    assert {n for n in names if ".internal/" not in n} == {
        "out/people/CURRENT", *(f"out/people/{made.release.name}/{n}" for n in PUBLIC)
    }  # fmt: skip
    inside = f"out/people/.internal/{made.release.name}"
    assert {n for n in names if ".internal/" in n} == {
        "out/.internal/release-key",
        *(
            f"{inside}/{n}"
            for n in ("lineage.jsonl", "manifest.json", "plan.json", "report.html", "seal.json")
        ),
    }
    assert str(made.release) == f"{root}/{made.release.name}"


def test_second_run_proves_the_release_and_changes_nothing(document, bucket, tmp_path):
    first = run(document)
    before = bucket.tags()
    second = run(document)
    assert (first.already_published, second.already_published) == (False, True)
    assert second.release == first.release
    assert second.manifest == first.manifest
    assert bucket.tags() == before
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").rglob("*"))


def test_lineage_names_the_bucket(document, root, bucket):
    made = run(document)
    lines = (root / ".internal" / made.release.name / "lineage.jsonl").read_text().splitlines()
    output = json.loads(lines[-1])["outputs"][0]
    assert (output["namespace"], output["name"]) == (str(bucket), "out/people")


@pytest.mark.nightly
def test_no_credentials_are_told(document, root, bucket, capsys, tmp_path, monkeypatch):
    policy = write_policy(tmp_path / "policy.yaml", document)
    assert main(["run", str(policy)]) == 0

    def fail(*_):
        raise VerificationError("of no value")

    replace_work(monkeypatch, "verify", fail)
    assert main(["run", str(policy), "--set", "seed=2"]) == 3
    assert list((root / ".internal" / "failed").iterdir())
    said = "".join(capsys.readouterr())
    found = [said.encode(), *objects(bucket).values()]
    assert not any(SECRET.encode() in content or b"AKIATESTING" in content for content in found)
    assert not any(b"127.0.0.1" in content for content in found)


def test_damage_is_found_by_an_audit_and_made_good_by_a_run(document, root):
    made = run(document)
    assert audit_release(root).findings == []
    victim = made.release / "data/part-00000.parquet"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.put(bytes(content), victim.tag())
    finding = "data/part-00000.parquet: its content has changed"
    assert audit_release(made.release).findings == [finding]
    again = run(document)
    assert not again.already_published
    assert again.release == made.release
    assert audit_release(root).findings == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    "harm", every(2, ["no-current", "no-internal", "edited", "no-manifest", "missing", "beside"])
)
def test_whatever_was_harmed_is_made_good(harm, document, root):
    made = run(document).release
    if harm == "no-current":
        (root / "CURRENT").unlink()
    elif harm == "no-internal":
        (root / ".internal" / made.name / "plan.json").unlink()
    elif harm == "edited":
        manifest = made / "manifest.json"
        edited = manifest.read_bytes().replace(b'"verdict": "pass"', b'"verdict": "fail"')
        manifest.put(edited, manifest.tag())
    elif harm == "beside":
        (made / "data" / "more.parquet").put(b"", None)
    else:
        (made / ("manifest.json" if harm == "no-manifest" else "dictionary.md")).unlink()
    again = run(document)
    assert again.release == made
    assert again.already_published == (harm == "no-current")
    assert audit_release(root).findings == []
    assert set(public(root, made.name)) == PUBLIC
