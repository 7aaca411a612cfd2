"""Processes as another user of this machine, and what they could reach."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import psutil

TESTS = Path(__file__).resolve().parents[2]


def become(name: str) -> None:
    """Be another user from here on, with none of the rights that root had."""
    found = pwd.getpwnam(name)
    os.setgroups([])
    os.setgid(found.pw_gid)
    os.setuid(found.pw_uid)


def run_module(module: str, *arguments: str) -> str:
    """Standard output of a module of the tests, run with a clean environment."""
    environment = {"PYTHONPATH": f"{TESTS}:{TESTS.parent}", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", module, *arguments]
    ended = subprocess.run(
        command, check=False, env=environment, capture_output=True, timeout=300, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def listening_ports() -> dict[int, str]:
    """TCP ports that this process and its descendants listen on, with the host."""
    own = psutil.Process()
    found = {}
    for process in (own, *own.children(recursive=True)):
        for connection in process.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN:
                found[connection.laddr.port] = connection.laddr.ip
    return found
