"""Places in a bucket: what is read, and writes that depend on what stands there."""

from typing import Any

import pytest

from tclose.data.places import bucket_paths
from tclose.data.places.bucket_client import refusal
from tclose.data.places.bucket_paths import BucketPath, ChangedError, parse_bucket
from tclose.errors import OutputError, StoreError


class ServerError(OSError):
    """An error as the client gives it."""

    def __init__(self, code):
        super().__init__("request of AKIASECRET")
        self.response = {"Error": {"Code": code}}


def test_object_is_made_once_and_replaced_only_as_it_was_seen(bucket):
    path = bucket / "a" / "b.txt"
    first = path.put(b"first", None)
    with pytest.raises(ChangedError):
        path.put(b"second", None)
    second = path.put(b"second", first)
    with pytest.raises(ChangedError):
        path.put(b"third", first)
    assert path.read_tagged() == (b"second", second)
    with pytest.raises(ChangedError):
        (bucket / "nothing").put(b"", first)
    path.unlink()
    path.unlink()
    assert path.read_tagged() is None


def test_reply_that_was_lost_is_no_conflict(bucket, monkeypatch):
    """The client sends again what the server had written already: its own condition fails."""
    call = BucketPath._call

    def sent_twice(path, method, **arguments):
        if method == "put_object":
            call(path, method, **arguments)
        return call(path, method, **arguments)

    monkeypatch.setattr(BucketPath, "_call", sent_twice)
    path = bucket / "a"
    assert path.put(b"second", path.put(b"first", None)) == path.tag()
    assert path.read_bytes() == b"second"


def test_two_writes_at_once_are_tried_again(bucket, monkeypatch):
    call = BucketPath._call
    refused: list[Any] = []

    def contested(path, method, **arguments):
        if method == "put_object" and len(refused) < 2:
            refused.append(method)
            raise ServerError("ConditionalRequestConflict")
        return call(path, method, **arguments)

    monkeypatch.setattr(BucketPath, "_call", contested)
    (bucket / "a").put(b"x", None)
    assert (bucket / "a").read_bytes() == b"x"
    assert len(refused) == 2


def test_all_pages_of_a_listing_are_read(bucket, monkeypatch):
    names = {"x/1", "x/2", "x/y/3", "x/y/4", "z/5", "xx"}
    for name in names:
        (bucket / name).put(name.encode(), None)
    listed = BucketPath._list
    monkeypatch.setattr(
        BucketPath, "_list", lambda path, **given: listed(path, **{"MaxKeys": 1} | given)
    )
    assert set(bucket.tags()) == names
    assert set((bucket / "x").tags()) == {"1", "2", "y/3", "y/4"}
    found = {path.name: path.is_dir() for path in (bucket / "x").iterdir()}
    assert found == {"1": False, "2": False, "y": True}
    assert {str(path) for path in (bucket / "x").rglob()} == {
        f"{bucket}/{name}" for name in names if name.startswith("x/")
    }


def test_what_stands_where(bucket):
    (bucket / "a" / "b").put(b"text", None)
    assert ((bucket / "a").is_dir(), (bucket / "a").is_file()) == (True, False)
    assert ((bucket / "a/b").is_dir(), (bucket / "a/b").is_file()) == (False, True)
    assert not (bucket / "a" / "c").exists()
    assert (bucket / "a/b").stat().st_size == 4
    assert (bucket / "a/b").relative_to(bucket).as_posix() == "a/b"
    with (bucket / "a/b").open("rb") as stream:
        stream.seek(2)
        assert stream.read() == b"xt"
    with pytest.raises(FileNotFoundError):
        (bucket / "a" / "c").read_bytes()


def test_place_is_within_another_by_whole_names():
    folder = BucketPath("bucket", "in")
    assert BucketPath("bucket", "in/out").is_relative_to(folder)
    assert not BucketPath("bucket", "inner").is_relative_to(folder)
    assert not BucketPath("other", "in/out").is_relative_to(folder)
    assert folder.is_relative_to(BucketPath("bucket"))
    assert (folder / "a/b").parts == ("in", "a", "b")
    assert ((folder / "a").name, (folder / "a").parent) == ("a", folder)


@pytest.mark.parametrize("text", ["s3://", "s3:///a", "s3://A", "s3://k:s@bucket", "s3://abc/../x"])
def test_what_names_no_bucket_is_refused(text):
    with pytest.raises(OutputError, match=r"has to be s3://bucket/folder") as caught:
        parse_bucket(text)
    assert "k:s@" not in str(caught.value)


def skewed():
    """As s3fs raises it."""
    error = PermissionError("AKIASECRET")
    error.__cause__ = ServerError("RequestTimeTooSkewed")
    return error


@pytest.mark.parametrize(
    "question", [BucketPath.exists, BucketPath.tags, BucketPath.stat, BucketPath.tag]
)
def test_answer_of_another_server_says_nothing_of_objects(question, monkeypatch):
    """A proxy's page with status 200, of which the client makes an answer without content."""
    monkeypatch.setattr(bucket_paths, "filesystem", Empty)
    with pytest.raises(StoreError, match=r"does not answer as it should \(KeyError\)"):
        question(BucketPath("bucket", "a"))


class Empty:
    def call_s3(self, *_, **__):
        return {}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError("AKIASECRET"), "no permission"),
        (ServerError("SlowDown"), r"does not answer as it should \(SlowDown\)"),
        (RuntimeError("http://AKIASECRET"), r"\(RuntimeError\)"),
        (skewed(), r"clocks of this machine and the object store differ too much"),
        (type("NoCredentialsError", (Exception,), {})(), "no usable AWS credentials"),
    ],
)
def test_failure_is_told_by_its_kind_and_not_in_the_servers_words(error, message):
    told = refusal("s3://bucket/a", error)
    assert told.exit_code == 1  # run again: what was done stays
    with pytest.raises(StoreError, match=message):
        raise told
    assert "AKIASECRET" not in str(told)
