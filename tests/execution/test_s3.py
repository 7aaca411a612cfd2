"""Releases in a bucket: the bytes, guarantees and commands of those in a folder."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.errors import (
    BusyError,
    ConflictError,
    DataError,
    LostClaimError,
    OutputError,
    VerificationError,
)
from pipeline.execution import release as stages
from pipeline.execution.audit import audit_release
from pipeline.execution.progress import Progress
from pipeline.execution.release import open_run, run_release
from pipeline.execution.run import shelf_of
from pipeline.settings import parse_policy
from pipeline.storage import claims
from pipeline.storage.bucket_client import refusal
from pipeline.storage.buckets import BucketPath
from pipeline.storage.places import parse_place
from support.buckets import SECRET, objects
from support.cases import people, policy_for, release, tree, write_csv, write_parquet, write_policy
from support.shelves import publish_on

QUIET = Progress("none")
PUBLIC = {"data/part-00000.parquet", "manifest.json", "dictionary.md", "datapackage.json"}


@pytest.fixture
def source(tmp_path):
    return write_parquet(tmp_path / "people.parquet", people())


@pytest.fixture
def document(source, bucket, tmp_path):
    """A policy whose releases go to a bucket."""
    return policy_for(
        source,
        output={"path": f"{bucket}/out"},
        engine={"work_path": str(tmp_path / "work"), "claim_expiry": 1},
    )


@pytest.fixture
def root(bucket):
    """Where the releases of the policy stand."""
    return bucket / "out" / "people"


def run(document):
    return run_release(parse_policy(document), QUIET)


def public(root: BucketPath, release_id: str) -> dict[str, bytes]:
    return objects(root / release_id)


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
        *(f"{inside}/{n}" for n in ("lineage.jsonl", "manifest.json", "plan.json", "seal.json")),
    }
    assert str(made.release) == f"{root}/{made.release.name}"


def test_second_run_proves_the_release_and_changes_nothing(document, root, bucket, tmp_path):
    first = run(document)
    before = bucket.tags()
    second = run(document)
    assert (first.was_there, second.was_there) == (False, True)
    assert second.release == first.release
    assert second.manifest == first.manifest
    assert bucket.tags() == before
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").rglob("*"))


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "pattern"])
def test_input_in_a_bucket_gives_the_release_of_the_same_files(kind, bucket, tmp_path):
    table = people(400)
    (tmp_path / "in").mkdir()
    if kind == "csv":
        write_csv(tmp_path / "in" / "people.csv", table)
    else:
        write_parquet(tmp_path / "in" / "a.parquet", table.slice(0, 150))
        write_parquet(tmp_path / "in" / "b.parquet", table.slice(150))
    for path in (tmp_path / "in").iterdir():
        (bucket / "in" / path.name).put(path.read_bytes(), None)
    ends = {"parquet": "/b.parquet", "csv": "/people.csv", "folder": "", "pattern": "/*.parquet"}
    output = {"path": str(tmp_path / "releases")}
    local = release(policy_for(f"{tmp_path}/in{ends[kind]}", output=output))
    remote = release(policy_for(f"{bucket}/in{ends[kind]}", output=output))
    assert remote.folder == local.folder  # named by digests of the content: it was there already
    other = release(policy_for(f"{bucket}/in{ends[kind]}", output={"path": str(tmp_path / "b")}))
    assert other.data == local.data
    assert other.internal["inputs"][0]["path"].startswith(f"{bucket}/in/")
    event = json.loads((other.folder / "internal" / "lineage.jsonl").read_text().split("\n")[0])
    assert event["inputs"][0]["namespace"] == str(bucket)
    assert event["inputs"][0]["name"] == f"in{ends[kind]}"


def test_lineage_names_the_bucket(document, root, bucket):
    made = run(document)
    lines = (root / ".internal" / made.release.name / "lineage.jsonl").read_text().splitlines()
    output = json.loads(lines[-1])["outputs"][0]
    assert (output["namespace"], output["name"]) == (str(bucket), "out/people")


def test_input_that_changes_underway_is_refused(bucket, tmp_path, source):
    (bucket / "people.parquet").put(source.read_bytes(), None)
    policy = parse_policy(
        policy_for(f"{bucket}/people.parquet", output={"path": str(tmp_path / "out")})
    )

    def change_and_run():
        with open_run(policy, QUIET) as begun:
            path = bucket / "people.parquet"
            other = write_parquet(tmp_path / "other.parquet", people(61))
            path.put(other.read_bytes(), path.tag())
            stages.summarise(begun, QUIET)

    with pytest.raises(DataError, match="changed while it was read"):
        change_and_run()
    assert not (tmp_path / "out").exists()


def test_no_credentials_are_told(document, root, bucket, capsys, tmp_path, monkeypatch):
    policy = write_policy(tmp_path / "policy.yaml", document)
    assert main(["run", str(policy)]) == 0

    def fail(*_):
        raise VerificationError("of no value")

    monkeypatch.setattr(stages, "verify", fail)
    assert main(["run", str(policy), "--set", "seed=2"]) == 3
    assert list((root / ".internal" / "failed").iterdir())
    said = "".join(capsys.readouterr())
    found = [said.encode(), *objects(bucket).values()]
    assert not any(SECRET.encode() in content or b"AKIATESTING" in content for content in found)
    assert not any(b"127.0.0.1" in content for content in found)


def test_damage_is_found_by_an_audit_and_made_good_by_a_run(document, root):
    made = run(document)
    assert audit_release(root)["findings"] == []
    victim = made.release / "data/part-00000.parquet"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.put(bytes(content), victim.tag())
    finding = "data/part-00000.parquet: its content has changed"
    assert audit_release(made.release)["findings"] == [finding]
    again = run(document)
    assert not again.was_there
    assert again.release == made.release
    assert audit_release(root)["findings"] == []


@pytest.mark.parametrize(
    "harm", ["no-current", "no-internal", "edited", "no-manifest", "beside", "missing"]
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
    assert again.was_there == (harm == "no-current")
    assert audit_release(root)["findings"] == []
    assert set(public(root, made.name)) == PUBLIC


def test_conflict_is_one_message_and_nothing_is_published(document, root, tmp_path, monkeypatch):
    """Somebody else writes another file to the place of the release while it is committed."""
    put = BucketPath.put

    def contested(path, data, tag):
        if path.name == "dictionary.md" and tag is None:
            put(path, b"of another", None)
        return put(path, data, tag)

    monkeypatch.setattr(BucketPath, "put", contested)
    with pytest.raises(ConflictError, match=r"commit conflict: s3://.*nothing was published"):
        run(document)
    monkeypatch.undo()
    assert shelf_of(parse_policy(document)).store.ids() == []
    assert not (root / "CURRENT").exists()
    assert run(document).was_there is False
    assert audit_release(root)["findings"] == []


class KilledError(BaseException):
    pass


def end_after(last, monkeypatch):
    """Let only so many more writes of the main thread through; how many there were is counted."""
    put, writes = BucketPath.put, []

    def counted(path, data, tag):
        if threading.current_thread() is threading.main_thread():
            writes.append(str(path))
            if len(writes) > last:
                raise KilledError
        return put(path, data, tag)

    monkeypatch.setattr(BucketPath, "put", counted)
    return writes


def test_run_that_ends_at_any_write_goes_on_to_the_same_bytes(document, root, monkeypatch):
    """After each write of the commit, its first one included; each time from nothing."""
    with monkeypatch.context() as patch:
        writes = end_after(1_000, patch)
        expected = data_of(root, run(document).release.name)
    writes.remove(f"{root.parent}/.internal/release-key")  # which stays
    first = next(i for i, path in enumerate(writes) if path.endswith(".parquet"))
    for last in range(first, len(writes)):
        for path in root.rglob():
            path.unlink()
        with monkeypatch.context() as patch:
            end_after(last, patch)
            with pytest.raises(KilledError):
                run(document)
        stands = shelf_of(parse_policy(document)).store.ids()
        assert (root / "CURRENT").exists() is False
        assert bool(stands) == (last == len(writes) - 1)  # all but CURRENT was written
        made = run(document)
        assert data_of(root, made.release.name) == expected
        assert made.current == made.release.name
        assert audit_release(root)["findings"] == []


def data_of(root, release_id):
    files = public(root, release_id)
    return {name: content for name, content in files.items() if name.startswith("data/")}


def run_and_die(policy: Path, point: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-m", "support.killed_run", str(policy), point]
    ended = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize("point", ["before:commit", "after:commit"])
def test_killed_run_is_taken_over_after_its_claim_has_expired(point, document, root, tmp_path):
    policy = write_policy(tmp_path / "policy.yaml", document)
    run_and_die(policy, point)
    assert len(list((root / ".internal" / "claims").iterdir())) == 1
    assert not (root / "CURRENT").exists()
    made = run(document)
    assert made.was_there == (point == "after:commit")
    assert made.current == made.release.name
    assert audit_release(root)["findings"] == []
    assert not list((root / ".internal" / "claims").rglob())


def test_of_two_runs_at_once_one_publishes_and_the_other_says_busy(document, root):
    document["engine"]["claim_expiry"] = 10  # time enough to be seen alive on a busy machine
    policy = parse_policy(document)
    ended = {}

    def run_other():
        try:
            run_release(policy, QUIET)
        except BusyError as error:
            ended["other"] = str(error)

    with open_run(policy, QUIET) as begun:
        other = threading.Thread(target=run_other)
        other.start()
        for stage in (stages.summarise, stages.plan, stages.microaggregate, stages.verify):
            stage(begun, QUIET)
        other.join()
        stages.publish(begun, QUIET)
    assert "another run is working on release 'people'" in ended["other"]
    assert audit_release(root)["findings"] == []


def begin_and_publish_late(document, meanwhile):
    """A run that is stopped for longer than its claim lasts, goes on, and wants to publish."""
    with open_run(parse_policy(document), QUIET) as begun:
        for stage in (stages.summarise, stages.plan, stages.microaggregate, stages.verify):
            stage(begun, QUIET)
        meanwhile()
        stages.publish(begun, QUIET)


@pytest.mark.parametrize("seed", [1, 2])
def test_run_whose_claim_was_taken_over_publishes_nothing(seed, document, root, monkeypatch):
    """By a run of the same policy, or of another one."""
    others = []

    def overtake():
        patch.undo()
        others.append(run(document | {"seed": seed}))
        others.append(root.tags())

    with monkeypatch.context() as patch:
        patch.setattr(claims._Holder, "_renew", lambda _: None)
        with pytest.raises(LostClaimError, match="nothing was published"):
            begin_and_publish_late(document, overtake)
    made, before = others
    after = {name: tag for name, tag in root.tags().items() if "failed/" not in name}
    assert after == before
    assert shelf_of(parse_policy(document)).store.ids() == [made.release.name]
    assert audit_release(root)["findings"] == []


def test_leftovers_of_a_dead_run_are_cleared_by_the_next(document, root):
    dead = "0123456789abcdef0123"
    (root / dead / "data" / "part-00000.parquet").put(b"half", None)
    (root / ".internal" / dead / "plan.json").put(b"{}", None)
    made = run(document)
    assert shelf_of(parse_policy(document)).store.ids() == [made.release.name]
    assert not any(dead in path for path in objects(root))


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


def test_rollback_and_prune(three, root, document, capsys):
    status, said, _ = call(capsys, "rollback", root, "--json")
    assert (status, json.loads(said)["to"]) == (0, three[1])
    assert (root / "CURRENT").read_text().split()[0] == three[1]
    assert run(document | {"seed": 3}).current == three[1]  # a re-run does not undo it
    status, said, _ = call(capsys, "prune", root, "--keep", "1", "--json")
    told = json.loads(said)
    assert (status, told["removed"], told["kept"]) == (0, three[:1], three[2:])
    assert list(told["spared"]) == [three[1]]
    assert shelf_of(parse_policy(document)).store.ids() == sorted(three[1:])
    assert not any(three[0] in path for path in objects(root))
    journal = (root / ".internal" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["action"] for line in journal] == ["rollback", "prune"]


def test_rollback_to_a_damaged_release_is_refused(three, root, capsys):
    victim = root / three[1] / "data" / "part-00000.parquet"
    victim.put(victim.read_bytes()[:-1], victim.tag())
    status, _, error = call(capsys, "rollback", root)
    assert status == 3
    assert "CURRENT was not moved" in error
    assert (root / "CURRENT").read_text().split()[0] == three[2]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("s3://no-such-bucket/out", "there is no bucket 'no-such-bucket'"),
        ("s3://", "has to be s3://bucket/folder"),
        ("s3://KEY:SECRET@bucket/out", "endpoint and credentials come from the environment"),
        ("http://host/out", "releases stand in a folder or in s3://"),
    ],
)
def test_output_that_is_none_is_refused(path, message, document):
    with pytest.raises(OutputError, match=message) as caught:
        run(document | {"output": {"path": path}})
    assert "SECRET" not in str(caught.value)


def test_output_within_the_input_is_refused(bucket, source, document):
    (bucket / "in" / "people.parquet").put(source.read_bytes(), None)
    document["input"] = {"path": f"{bucket}/in"}
    with pytest.raises(DataError, match=r"output\.path lies in it"):
        run(document | {"output": {"path": f"{bucket}/in/out"}})


def test_refused_run_leaves_no_release_and_no_working_files(document, root, tmp_path):
    with pytest.raises(DataError):
        run(document | {"input": {"path": str(tmp_path / "nowhere.csv")}})
    document["attributes"] = {"nothing": "quasi-identifier", "pay": "confidential"}
    with pytest.raises(DataError):
        run(document)
    assert not list(root.rglob())
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


def test_store_that_does_not_answer_is_said_to(document, monkeypatch):
    run_there = parse_policy(document)
    monkeypatch.setattr(BucketPath, "_list", _broken)
    with pytest.raises(OutputError, match=r"does not answer .*\(ConnectionError\)") as caught:
        run_release(run_there, QUIET)
    assert caught.value.exit_code == 1


def _broken(place, **_):
    from pipeline.storage.bucket_client import refusing

    with refusing(place):
        raise ConnectionError("http://KEY:SECRET@host")


def test_without_the_package_the_message_says_what_to_install(monkeypatch, tmp_path, source):
    import fsspec

    def absent(*_, **__):
        raise ImportError

    monkeypatch.setattr(fsspec, "filesystem", absent)
    for changes in ({"output": {"path": "s3://bucket/out"}}, {"input": {"path": "s3://bucket/in"}}):
        with pytest.raises(OutputError, match=r"pip install 'tclose\[s3\]'"):
            run(policy_for(source, **changes))


def test_place_is_parsed_as_it_is_written():
    assert str(parse_place("s3://bucket/a/b/")) == "s3://bucket/a/b"
    assert parse_place("s3://bucket/a") / "b" == BucketPath("bucket", "a/b")
    assert parse_place("releases") == Path("releases")
