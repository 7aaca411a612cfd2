"""Inputs that are no files, and URLs that cannot be one: each refused at once, by name."""

import os
import socket
from pathlib import Path

import pytest

from support.cases.people import people, policy_for, write_csv


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    write_csv(made / "a.csv", people())
    return made


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # its path has to be short
        made.bind(path.name)


def make_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere.csv")


KINDS = {
    "is a named pipe": os.mkfifo,
    "is a socket": make_socket,
    "is a link to nothing": make_link_to_nothing,
}


class TestNoFile:
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("how", ["named", "in a folder", "by a pattern"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_no_regular_file(self, kind, how, folder, refuse):
        path = folder / "b.csv"
        KINDS[kind](path)
        given = {"named": path, "in a folder": folder, "by a pattern": folder / "*.csv"}[how]
        document = policy_for(given)
        document["output"]["path"] = str(folder.parent / "releases")
        refuse(document, f"input {path}: {kind}")

    def test_device(self, tmp_path, refuse):
        document = policy_for("/dev/zero")
        document["output"]["path"] = str(tmp_path / "releases")
        refuse(document, "input /dev/zero: is a device")

    def test_folder_without_end(self, folder, refuse):
        (folder / "deep").mkdir()
        (folder / "deep" / "back").symlink_to(folder)
        refuse(policy_for(folder), "deep/back: is a link to a folder that it is in")

    def test_link_to_itself(self, folder, refuse):
        (folder / "self.csv").symlink_to(folder / "self.csv")
        refuse(policy_for(folder / "self.csv"), "self.csv: cannot be read (Too many levels of")

    @pytest.mark.parametrize("link", [os.symlink, os.link])
    def test_records_that_would_be_read_twice(self, link, folder, refuse):
        link(folder / "a.csv", folder / "latest.csv")
        refuse(policy_for(folder), "latest.csv: is the same file as", "a.csv", "read twice")

    def test_folder_that_is_read_by_two_names(self, folder, refuse):
        (folder / "day").mkdir()
        (folder / "a.csv").rename(folder / "day" / "a.csv")
        (folder / "latest").symlink_to("day")
        refuse(policy_for(folder), "latest/a.csv: is the same file as", "day/a.csv")

    def test_folder_that_cannot_be_read_is_not_left_out(self, folder, refuse, monkeypatch):
        (folder / "closed").mkdir()
        scan = os.scandir

        def refuse_one(path="."):
            if str(path).endswith("closed"):
                raise PermissionError(13, "Permission denied")
            return scan(path)

        with monkeypatch.context() as patch:  # root may read everything
            patch.setattr(os, "scandir", refuse_one)
            patch.setattr("support.checks.refusals.tree", lambda folder: None)
            refuse(policy_for(folder), "cannot be read (Permission denied)")


URLS = {
    "memory://people.csv": "is in the memory of one process",
    "zip://people.csv": "is in an archive",
    "zip://people.csv::https://alice:hunter2@localhost/p.zip": "is a chain of URLs",
    "simplecache::https://alice:hunter2@localhost/people.csv": "is a chain of URLs",
    "filecache://people.csv": "leaves copies behind",
    "nonsense://alice:hunter2@host/people.csv": "the protocol 'nonsense' is not known",
    "gs://alice:hunter2@bucket/people.csv": "the protocol 'gs' is not installed",
    "s3://alice:hunter2@bucket/people.csv": "has to be s3://bucket/folder",
    "http://alice:hunter2@[/people.csv?token=hunter2": "cannot be",
    "http://alice:hunter2@127.0.0.1:1/people.csv?token=hunter2": "http://***@127.0.0.1:1/",
    "sftp://alice:hunter2@127.0.0.1:1/people.csv": "sftp://***@127.0.0.1:1/people.csv",
    "ftp://alice:hunter2@127.0.0.1:1/people.csv": "ftp://***@127.0.0.1:1/people.csv",
    "file://": "input file://: ",
    "://people.csv": "no such file",
}


@pytest.mark.parametrize("url", URLS)
def test_urls(url, tmp_path, refuse, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = policy_for("unused") | {"input": {"path": url}}
    document["output"]["path"] = str(tmp_path / "releases")
    message = refuse(document, URLS[url])
    assert "alice" not in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "place", ["https://alice:hunter2@host/out?token=hunter2", "memory://out", "gs://a:hunter2@b/c"]
)
def test_output_urls(place, tmp_path, refuse):
    document = policy_for(write_csv(tmp_path / "people.csv", people()))
    document["output"]["path"] = place
    assert "hunter2" not in refuse(document, "releases are stored in a folder or in s3://")
