"""Runs into a bucket that are killed, stopped or overtaken: one release or none."""

import threading
from typing import Any

import pytest

from support.cases.people import write_policy
from support.faults.started_modules import run_and_die
from support.length import every
from support.passes import UNTIL_VERDICT, run_passes
from support.servers.bucket_runs import QUIET, public, run
from support.servers.s3_buckets import objects
from tclose.assess.auditing.audit import audit_release
from tclose.data.places.bucket_paths import BucketPath
from tclose.errors import BusyError, ConflictError, LostLeaseError
from tclose.passes.release import open_release, run_release
from tclose.policy.policy import parse_policy
from tclose.releases.stores import lease
from tclose.runtime.run import repository_of

pytestmark = pytest.mark.usefixtures("small_regions")


def test_conflict_is_one_message_and_nothing_is_published(document, root, monkeypatch):
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
    assert repository_of(parse_policy(document)).store.ids() == []
    assert not (root / "CURRENT").exists()
    assert run(document).already_published is False
    assert audit_release(root).findings == []


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


@pytest.mark.nightly
def test_run_that_ends_at_any_write_goes_on_to_the_same_bytes(document, root, monkeypatch):
    """After each write of the commit, its first one included; each time from nothing."""
    with monkeypatch.context() as patch:
        writes = end_after(1_000, patch)
        expected = data_of(root, run(document).release.name)
    writes.remove(f"{root.parent}/.internal/release-key")  # which stays
    first = next(i for i, path in enumerate(writes) if path.endswith(".parquet"))
    for last in reversed(every(4, range(len(writes) - 1, first - 1, -1))):
        for path in root.rglob():
            path.unlink()
        with monkeypatch.context() as patch:
            end_after(last, patch)
            with pytest.raises(KilledError):
                run(document)
        stands = repository_of(parse_policy(document)).store.ids()
        assert (root / "CURRENT").exists() is False
        assert bool(stands) == (last == len(writes) - 1)  # all but CURRENT was written
        made = run(document)
        assert data_of(root, made.release.name) == expected
        assert made.current == made.release.name
        assert audit_release(root).findings == []


def data_of(root, release_id):
    files = public(root, release_id)
    return {name: content for name, content in files.items() if name.startswith("data/")}


@pytest.mark.parametrize("point", every(2, ["after:commit", "before:commit"]))
@pytest.mark.nightly
def test_killed_run_is_taken_over_after_its_lease_has_expired(point, document, root, tmp_path):
    policy = write_policy(tmp_path / "policy.yaml", document)
    run_and_die(policy, point)
    assert len(list((root / ".internal" / "claims").iterdir())) == 1
    assert not (root / "CURRENT").exists()
    made = run(document)
    assert made.already_published == (point == "after:commit")
    assert made.current == made.release.name
    assert audit_release(root).findings == []
    assert not list((root / ".internal" / "claims").rglob())


def test_of_two_runs_at_once_one_publishes_and_the_other_says_busy(document, root):
    document["engine"]["lease_seconds"] = 10  # time enough to be seen alive on a busy machine
    policy = parse_policy(document)
    ended = {}

    def run_other():
        try:
            run_release(policy, QUIET)
        except BusyError as error:
            ended["other"] = str(error)

    with open_release(policy, QUIET) as begun:
        other = threading.Thread(target=run_other)
        other.start()
        run_passes(begun, QUIET, *UNTIL_VERDICT)
        other.join()
        run_passes(begun, QUIET, "publish")
    assert "another run is working on the releases of 'people'" in ended["other"]
    assert audit_release(root).findings == []


def begin_and_publish_late(document, meanwhile):
    """A run that is stopped for longer than its lease lasts, goes on, and wants to publish."""
    with open_release(parse_policy(document), QUIET) as begun:
        run_passes(begun, QUIET, *UNTIL_VERDICT)
        meanwhile()
        run_passes(begun, QUIET, "publish")


@pytest.mark.parametrize("seed", every(2, [1, 2]))
def test_run_whose_lease_was_taken_over_publishes_nothing(seed, document, root, monkeypatch):
    """By a run of the same policy, or of another one."""
    others: list[Any] = []

    def overtake():
        patch.undo()
        others.append(run(document | {"seed": seed}))
        others.append(root.tags())

    with monkeypatch.context() as patch:
        patch.setattr(lease._Holder, "_renew", lambda _: None)
        with pytest.raises(LostLeaseError, match="nothing was published"):
            begin_and_publish_late(document, overtake)
    made, before = others
    after = {name: tag for name, tag in root.tags().items() if "failed/" not in name}
    assert after == before
    assert repository_of(parse_policy(document)).store.ids() == [made.release.name]
    assert audit_release(root).findings == []


def test_leftovers_of_a_dead_run_are_cleared_by_the_next(document, root):
    dead = "0123456789abcdef0123"
    (root / dead / "data" / "part-00000.parquet").put(b"half", None)
    (root / ".internal" / dead / "plan.json").put(b"{}", None)
    made = run(document)
    assert repository_of(parse_policy(document)).store.ids() == [made.release.name]
    assert not any(dead in path for path in objects(root))
