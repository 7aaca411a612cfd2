"""The journal of a name: lines are added, never lost, and tell what was left by a rollback."""

import json

import pytest

from support.cases.repositories import fake_id, fake_repository
from tclose.errors import OutputError
from tclose.releases.repository.operations_log import FILE, list_withdrawn, read_lines, write_line

A, B, C = (fake_id(text) for text in "abc")


@pytest.fixture
def repository(tmp_path):
    return fake_repository(tmp_path, A, B, C)


def test_lines_say_who_and_when_and_only_their_owner_reads_them(repository):
    assert read_lines(repository) == []
    write_line(repository, "rollback", {"from": C, "to": B})
    write_line(repository, "prune", {"removed": [A]})
    first, second = read_lines(repository)
    assert (first["action"], first["from"], first["to"]) == ("rollback", C, B)
    assert second["removed"] == [A]
    assert {"at", "user", "host", "tclose"} <= first.keys()
    assert repository.store.private(FILE).stat().st_mode & 0o777 == 0o600


def test_line_that_a_crash_has_cut_spoils_no_other(repository):
    write_line(repository, "prune", {"removed": [A]})
    with repository.store.private(FILE).open("ab") as stream:
        stream.write(b'{"at": "2026-0')
    write_line(repository, "prune", {"removed": [B]})
    assert [line["removed"] for line in read_lines(repository)] == [[A], [B]]
    assert len(repository.store.private(FILE).read_bytes().splitlines()) == 3


def test_what_is_no_line_is_passed_over(repository):
    repository.store.private(FILE).write_bytes(
        b'[1]\n\xff\n{"other": 1}\n' + json.dumps({"action": "x"}).encode()
    )
    assert read_lines(repository) == [{"action": "x"}]


def test_withdrawn_is_what_was_left_and_not_come_back_to(repository):
    for left, achieved in ((C, B), (B, A), (A, B)):
        write_line(repository, "rollback", {"from": left, "to": achieved})
    write_line(repository, "prune", {"removed": [A], "from": B})
    assert list_withdrawn(repository) == {C, A}


def test_journal_that_cannot_be_written_is_said(repository):
    repository.store.private(FILE).mkdir()
    with pytest.raises(OutputError, match=r"cannot be written .*; nothing was done"):
        write_line(repository, "prune", {"removed": []})
