"""URLs are shown without their secrets, and everything else as it is."""

import pytest

from tclose.errors import DataError
from tclose.security.redaction import file_name, name_apart, redact, redact_place

SECRETS = ("alice", "hunter2", "tok123", "AKIA99", "s3cr/et", "p?w", "p#w")

REDACTED = {
    "https://alice:hunter2@host/a.csv": "https://***@host/a.csv",
    "https://alice@host:8080/a.csv": "https://***@host:8080/a.csv",
    "https://host/a.csv?token=tok123&x=1": "https://host/a.csv?***",
    "https://host/a.csv?tok123": "https://host/a.csv?***",
    "https://host/a.csv#tok123": "https://host/a.csv#***",
    "HTTPS://alice:hunter2@host/a.csv?tok123": "HTTPS://***@host/a.csv?***",
    "https://alice:s3cr/et@host/a.csv": "https://***@host/a.csv",
    "https://alice:p?w@host/a.csv": "https://***@host/a.csv",
    "https://alice:p#w@host/a.csv": "https://***@host/a.csv",
    "https://alice:hun ter2@host/a.csv": "https://***@host/a.csv",
    "https://al@ice:hunter2@host/a.csv": "https://***@host/a.csv",
    "s3://AKIA99:hunter2@bucket/a.csv": "s3://***@bucket/a.csv",
    "s3://bucket/a.csv?key=AKIA99&secret=hunter2": "s3://bucket/a.csv?***",
    "simplecache::https://alice:hunter2@h/x.csv?tok123": "simplecache::https://***@h/x.csv?***",
    "zip://a.csv::https://alice:hunter2@h/x.zip": "zip://a.csv::https://***@h/x.zip",
    "abfs://alice:hunter2@account.net/a": "abfs://***@account.net/a",
}
AS_THEY_ARE = (
    "data/what?.csv", "/data/a@b:c.csv", "file:///data/a?b.csv", "s3://bucket/part-?.csv",
    "https://host:8443/a/b.csv", "tls://host:8786", "abfs://container@account.net/a", "", "a::b",
)  # fmt: skip


@pytest.mark.parametrize(("place", "shown"), REDACTED.items())
def test_place(place, shown):
    assert redact_place(place) == shown
    assert redact_place(shown) == shown
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize("place", AS_THEY_ARE)
def test_nothing_to_hide(place):
    assert redact_place(place) == place
    assert redact(f"input {place}: is no file") == f"input {place}: is no file"


@pytest.mark.parametrize("place", [place for place in REDACTED if " " not in place])
def test_every_error_is_redacted(place):
    """Also where a library's words quote the URL."""
    for text in (f"input {place}: cannot be read", f"cannot open '{place}'.", f"({place})"):
        shown = str(DataError(text))
        assert shown == text.replace(place, REDACTED[place])


def test_partition_of_a_message_is_found_in_it():
    partition = "partition site = 'https://alice:hunter2@host'"
    error = DataError(f"{partition}: has too few records", partition=partition)
    assert str(error.redacted()) == "a partition: has too few records"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("file city=Oslo/a.csv: is empty", "file city=*/a.csv: is empty"),
        (
            "files y=1/b=New York/a.csv and y=2/a=b/a.csv: one",
            "files y=*/b=*/a.csv and y=*/a=*/a.csv: one",
        ),
        (
            "column 'x': 1 value\nin y=1/a.csv, y=2/a.csv",
            "column 'x': 1 value\nin y=*/a.csv, y=*/a.csv",
        ),
        ("file y=a=b/a.csv: is empty", "file y=*/a.csv: is empty"),
    ],
)
def test_values_that_folders_are_called_by_are_not_for_others(message, kept):
    error = DataError(message)
    assert str(error) == message
    assert str(error.redacted()) == kept
    assert error.redacted().whole is error


@pytest.mark.parametrize("message", ["file a.csv: is empty", "input y=1/a: no such file", "in k=1"])
def test_what_names_no_such_folder_is_for_all(message):
    error = DataError(message)
    assert error.redacted() is error


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("https://alice:hunter2@host/a/b.csv?token=tok/123", "b.csv"),
        ("https://alice:hunter2@host", "***@host"),
        ("file:///data/what?.csv", "what?.csv"),
        ("/data/b.csv", "b.csv"),
        ("s3://bucket/a/b.parquet", "b.parquet"),
    ],
)
def test_file_name(place, name):
    assert file_name(place) == name


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (["/data/m=1/a.csv"], ["a.csv"]),
        (["/data/m=1/a.csv", "/data/m=2/b.csv"], ["a.csv", "b.csv"]),
        (["/data/m=1/a.csv", "/data/m=2/a.csv"], ["m=1/a.csv", "m=2/a.csv"]),
        (["/data/a.csv", "/data/b.csv", "/data/m/a.csv"], ["a.csv", "b.csv", "m/a.csv"]),
        (["s3://k:hunter2@bucket/a/b.pq", "s3://k:hunter2@bucket/c/b.pq"], ["a/b.pq", "c/b.pq"]),
        ([], []),
    ],
)
def test_files_are_told_apart_by_no_more_than_it_takes(places, names):
    assert name_apart(places) == names
