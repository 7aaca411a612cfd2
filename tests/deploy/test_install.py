"""How a lock is installed: uv is told what pip is set up with, and pip does what uv cannot."""

import subprocess
from pathlib import Path

import pytest

from deploy import install

LOCK = """\
utils==1.0 \\
    --hash=sha256:00
uv==2.0 ; python_version < '4' \\
    --hash=sha256:11 \\
    --hash=sha256:22
uvloop==3.0 \\
    --hash=sha256:33
"""
# What `pip config list` prints.
LISTED = """\
:env:.index-url='https://mirror/simple'
:env:.default-timeout='180'
global.index-url='https://another/simple'
global.extra-index-url='\\nfile:///a/simple\\nfile:///b/simple'
freeze.cert='/other.pem'
install.cert='/ours.pem'
"""


def test_a_package_is_found_with_its_digests() -> None:
    assert install.find_lines(LOCK, "uv").splitlines() == LOCK.splitlines()[2:5]
    with pytest.raises(SystemExit, match="loop is not in the lock"):
        install.find_lines(LOCK, "loop")


def test_what_pip_is_set_up_with_is_told() -> None:
    assert install.read_settings(LISTED) == {
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "UV_INDEX": "file:///a/simple file:///b/simple",
        "SSL_CERT_FILE": "/ours.pem",
        "UV_HTTP_TIMEOUT": "180",
    }


@pytest.mark.parametrize("uv_fails", [False, True])
def test_pip_installs_what_uv_cannot(
    uv_fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], environment: object = None) -> None:
        ran.append(command)
        if uv_fails and command[0] == install.UV[0]:
            raise subprocess.CalledProcessError(2, command)

    lock = tmp_path / "requirements.lock"
    lock.write_text(LOCK)
    monkeypatch.setattr(install, "_run", run)
    monkeypatch.setattr(install, "_compile", lambda: None)
    monkeypatch.setattr(install, "PIP", ["true"])
    assert install.main(lock) == 0
    by_pip = [command for command in ran if command[:2] == ["true", "install"]]
    assert [str(lock) in command for command in by_pip] == [False, True, False][
        : 3 if uv_fails else 1
    ]
    for command in ran:
        assert "--require-hashes" in command or "--editable" in command or "check" in command
