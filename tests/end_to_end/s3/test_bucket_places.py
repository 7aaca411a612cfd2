"""Buckets that are none, do not answer, or cannot be reached: refused, and nothing is left."""

from pathlib import Path

import pytest

from support.cases.people import policy_for
from support.servers.bucket_runs import QUIET, run
from tclose.data.places.bucket_paths import BucketPath
from tclose.data.places.locations import parse_location
from tclose.errors import DataError, OutputError
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("s3://no-such-bucket/out", "there is no bucket 'no-such-bucket'"),
        ("s3://", "has to be s3://bucket/folder"),
        ("s3://KEY:SECRET@bucket/out", "endpoint and credentials come from the environment"),
        ("http://host/out", "releases are stored in a folder or in s3://"),
    ],
)
def test_output_that_is_none_is_refused(path, message, document):
    with pytest.raises(OutputError, match=message) as caught:
        run(document | {"output": {"path": path}})
    assert "SECRET" not in str(caught.value)


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
    from tclose.data.places.bucket_client import refusing

    with refusing(place):
        raise ConnectionError("http://KEY:SECRET@host")


def test_without_the_package_the_message_says_what_to_install(monkeypatch, source):
    import fsspec

    def absent(*_, **__):
        raise ImportError

    monkeypatch.setattr(fsspec, "filesystem", absent)
    for changes in ({"output": {"path": "s3://bucket/out"}}, {"input": {"path": "s3://bucket/in"}}):
        with pytest.raises(OutputError, match=r"pip install 'tclose\[s3\]'"):
            run(policy_for(source, **changes))


def test_place_is_parsed_as_it_is_written():
    assert str(parse_location("s3://bucket/a/b/")) == "s3://bucket/a/b"
    assert parse_location("s3://bucket/a") / "b" == BucketPath("bucket", "a/b")
    assert parse_location("releases") == Path("releases")
