"""Limits of the system: refused before a run where they are known, and named where they are met."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.cases.people import (
    people,
    people_policy,
    policy_for,
    write_parquet,
    write_policy,
)
from tclose.cli.main import main
from tclose.data.files.input_files import reading_file
from tclose.data.places.process_limits import OPEN_FILES, add_place, ensure_open_files
from tclose.errors import DataError, LimitError, LostError
from tclose.runtime.safe_errors import to_safe_error

COMMANDS = ("run", "flow", "plan", "frontier")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    document = people_policy(tmp_path)
    return write_policy(tmp_path / "policy.yaml", document)


def call(limit: tuple[int, int], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, with a soft and a hard limit of open files."""
    return subprocess.run(
        [sys.executable, "-m", "tclose", *arguments],
        check=False, capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit),
    )  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("workers", ["auto", "2"])
@pytest.mark.parametrize("limit", [16, 32])
def test_too_few_open_files_are_refused_in_one_line(command, workers, limit, policy, tmp_path):
    ended = call((limit, limit), command, str(policy), "--set", f"engine.workers={workers}")
    assert ended.returncode == 1
    assert ended.stderr == (
        f"tclose: at most {limit} files may be open at once here, and this takes {OPEN_FILES}: "
        f"raise the limit (ulimit -n {OPEN_FILES}) or give engine.workers fewer\n"
    )
    assert not (tmp_path / "releases").exists()


def test_audit_is_refused_too(policy):
    assert main(["run", str(policy), "--quiet"]) == 0
    ended = call((32, 32), "audit", str(policy.parent / "releases" / "people"))
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.startswith("tclose: at most 32 files may be open at once here")


def test_limit_that_may_be_raised_is_raised(policy):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    ended = call((32, hard), "run", str(policy), "--quiet")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_more_files_of_the_input_than_may_be_open(tmp_path):
    n_files = OPEN_FILES + 20
    (tmp_path / "in").mkdir()
    for number in range(n_files):
        write_parquet(tmp_path / "in" / f"{number:03d}.parquet", people(5))
    document = policy_for(tmp_path / "in")
    write_policy(tmp_path / "policy.yaml", document)
    ended = call((OPEN_FILES, OPEN_FILES), "run", str(tmp_path / "policy.yaml"), "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert f"records           {5 * n_files}\n" in ended.stdout


@pytest.mark.nightly
def test_many_workers_need_more(policy):
    ended = call((200, 200), "run", str(policy), "--set", "engine.workers=64", "--quiet")
    assert ended.returncode == 1
    assert ended.stderr.startswith("tclose: at most 200 files may be open at once here, and this")
    assert "or give engine.workers fewer" in ended.stderr


def test_enough_is_left_alone():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    ensure_open_files(3)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    if before[1] != resource.RLIM_INFINITY:
        with pytest.raises(LimitError, match="may be open at once"):
            ensure_open_files(before[1] + 1)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_limit_that_is_met_in_reading_is_no_fault_of_the_file(number):
    with pytest.raises(LostError, match=r"file people\.csv: .*; "), reading_file("people.csv"):
        raise OSError(number, os.strerror(number))
    with pytest.raises(DataError, match="cannot be read"), reading_file("people.csv"):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.EMFILE, "ulimit -n"), (errno.ENOMEM, "memory_per_worker"), (errno.EFBIG, "ulimit -f"),
     (errno.ENOSPC, "make room"), (errno.EDQUOT, "quota")],
)  # fmt: skip
def test_limits_are_told_with_their_remedy(number, remedy):
    known = to_safe_error(OSError(number, os.strerror(number)), "encode, task 3")
    assert known.retryable
    assert remedy in str(known)


def test_place_that_is_full_is_named(tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    add_place(full, tmp_path / "work")
    assert f"No space left on device in {tmp_path}/work; make room" in str(to_safe_error(full, "x"))
    add_place(full, tmp_path / "other")  # what is named stays
    assert f"in {tmp_path}/work;" in str(to_safe_error(full, "x"))
    missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    add_place(missing, tmp_path)
    assert str(tmp_path) not in str(to_safe_error(missing, "x"))


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EROFS, "choose another place"),
        (errno.EACCES, "give this user permission, or choose another place"),
    ],
)
def test_values_in_names_of_partitions_are_not_told(number, remedy, tmp_path):
    file = str(tmp_path / "data" / "site=canary" / "part-00000.parquet")
    shown = str(to_safe_error(OSError(number, os.strerror(number), file), "x"))
    assert f" in {tmp_path}/data; {remedy}" in shown
    assert "canary" not in shown


@pytest.mark.parametrize("limit", [256, 2_048])
def test_run_that_meets_the_limit_of_files_says_where(limit, policy, tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "tclose", "run", str(policy), "--quiet"],
        check=False, capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert ended.returncode == 1
    assert f": File too large in {tmp_path}/releases" in ended.stderr
    assert "raise the limit (ulimit -f)" in ended.stderr
