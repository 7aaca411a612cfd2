"""Folders whose way there nobody else can change."""

import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from tclose.security.trusted_paths import UntrustedError, check_lasting

USER = SimpleNamespace(pw_name="ours", pw_uid=os.geteuid(), pw_gid=100)
OTHER = SimpleNamespace(pw_name="theirs", pw_uid=54_321, pw_gid=100)


def name_group(monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], *users) -> None:
    """Have every group of this machine be that one, of those users."""
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: USER)
    monkeypatch.setattr(
        pwd, "getpwall", lambda: [SimpleNamespace(**{**vars(u), "pw_gid": GROUP}) for u in users]
    )


GROUP = os.getegid()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "group").mkdir()
    (tmp_path / "group").chmod(0o770)
    return tmp_path / "group"


@pytest.mark.parametrize(
    ("name", "members", "users"),
    [
        ("ours", [], [USER]),
        ("ours", [], []),  # a directory service that does not list its users
        ("project", ["ours"], []),
    ],
)
def test_group_of_one_user_is_nobody_else(name, members, users, folder, monkeypatch):
    name_group(monkeypatch, name, members, *users)
    check_lasting(folder)


@pytest.mark.parametrize(
    ("name", "members", "users"),
    [
        ("ours", ["theirs"], [USER]),
        ("ours", [], [USER, OTHER]),
        ("users", [], []),  # whose members nobody lists
    ],
)
def test_group_of_several_is_refused(name, members, users, folder, monkeypatch):
    name_group(monkeypatch, name, members, *users)
    with pytest.raises(UntrustedError, match=r"group: can be written to by others \(mode 0770\)"):
        check_lasting(folder)


def test_group_without_an_entry_is_that_of_a_containers_volume(folder, monkeypatch):
    def unknown(_):
        raise KeyError

    monkeypatch.setattr(grp, "getgrgid", unknown)
    check_lasting(folder)


def test_rights_beside_the_mode_are_refused(folder, monkeypatch):
    name_group(monkeypatch, "ours", [], USER)
    monkeypatch.setattr(os, "listxattr", lambda _: ["system.posix_acl_access"])
    with pytest.raises(UntrustedError, match="can be written to by others"):
        check_lasting(folder)


def test_link_that_nobody_else_can_change_is_followed(tmp_path):
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    check_lasting(tmp_path / "link")
    tmp_path.chmod(0o777)
    with pytest.raises(UntrustedError, match=f"{tmp_path}: can be written to by others"):
        check_lasting(tmp_path / "link")
