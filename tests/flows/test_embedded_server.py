"""Prefect's embedded server: it serves the run that started it, and no other user's."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.cases.people import people, policy_for, write_csv, write_policy
from support.intruders.api_intruder import STREAMS
from support.intruders.other_users import run_module
from support.length import every
from support.servers.begun_flow import begun_flow, command_lines, processes_of
from tclose.data.synthetic import write_microdata
from tclose.errors import OutputError

HEALTH = {"/api/health", "/api/ready"}  # say that a server is there, and nothing else
READING = '[["POST", "/api/flow_runs/filter"], ["GET", "/api/admin/settings"]]'
SECRETS = ("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING")


def api_routes() -> list[tuple[str, str]]:
    """Method and path of all that Prefect's API answers."""
    from prefect.server.api.server import create_api_app

    described = create_api_app().openapi()["paths"]
    return [
        (method.upper(), "/api" + re.sub(r"\{.*?\}", "x", path).removeprefix("/api"))
        for path, methods in described.items()
        for method in methods
        if method != "delete"
    ]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def home_from_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a user who has used Prefect already: all may read it."""
    home = tmp_path_factory.mktemp("flow") / "prefect"
    home.mkdir()
    home.chmod(0o755)
    (home / "prefect.db").touch(mode=0o644)
    (home / "prefect.db").chmod(0o644)
    return home


@pytest.mark.nightly
def test_embedded_server_answers_its_run_alone(home_from_before: Path, tmp_path: Path) -> None:
    discharges = tmp_path / "discharges.parquet"
    write_microdata(discharges, 200_000, 5)
    folder, routes = home_from_before.parent, api_routes()
    assert len(routes) > 100
    routes = every(4, routes)
    planted, mark = tmp_path / "others" / "tclose_flows" / "__init__.py", tmp_path / "mark"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"open({str(mark)!r}, 'w')")
    with begun_flow(discharges, folder, planted.parents[1]) as command:
        server = find_server(command.pid)
        port, secret = read_port(server), read_secret(server)
        users = ["", *(["nobody"] if os.getuid() == 0 else [])]
        given = [str(port), json.dumps(routes)]
        got = {
            user: set(json.loads(run_module("support.intruders.api_intruder", user, *given)))
            for user in users
        }
        own = json.loads(
            run_module("support.intruders.api_intruder", "", str(port), READING, secret)
        )
        lines = command_lines(command.pid)
        command.terminate()
        command.communicate(timeout=300)
    assert not mark.exists()  # what stands in the working folder is not what is run
    assert {user: paths - HEALTH for user, paths in got.items()} == {user: set() for user in users}
    assert own == ["/api/flow_runs/filter", "/api/admin/settings", *STREAMS]
    assert lines
    assert not any(secret in line for line in lines)
    assert mode_of(home_from_before) == 0o700
    files = [path for path in home_from_before.rglob("*") if path.is_file()]
    assert {mode_of(path) for path in files if path.name.startswith("prefect.db")} == {0o600}
    assert not any(secret.encode() in path.read_bytes() for path in files)


def find_server(group: int) -> psutil.Process:
    for process in processes_of(group):
        if "tclose_flows.embedded_server" in process.cmdline():
            return process
    raise AssertionError("there is no server")


def read_port(server: psutil.Process) -> int:
    listening = [c for c in server.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert [connection.laddr.ip for connection in listening] == ["127.0.0.1"]
    port: int = listening[0].laddr.port
    return port


def read_secret(server: psutil.Process) -> str:
    """What only the same user can read of a process: its environment."""
    found = {server.environ()[name] for name in SECRETS}
    assert len(found) == 1
    return found.pop()


@pytest.mark.nightly
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_port_stays_this_users_while_the_server_starts_and_after_it() -> None:
    from tclose_flows.embedded_server import _Server

    server = _Server(port=1)
    try:
        port = server.find_available_port()
        assert run_module("support.intruders.port_taker", "nobody", str(port)) == "refused\n"
        assert run_module("support.intruders.port_taker", "nobody", "0") == "taken\n"
    finally:
        server.stop()
        os.close(server._held)


def test_folder_that_is_for_all_is_refused(tmp_path: Path) -> None:
    from prefect.settings import PREFECT_HOME, temporary_settings

    from tclose_flows.prefect_home import make_home_private

    tmp_path.chmod(0o1777)
    with (
        temporary_settings({PREFECT_HOME: tmp_path}),
        pytest.raises(OutputError, match="is for all users; name a folder of your own"),
    ):
        make_home_private()
    assert mode_of(tmp_path) == 0o1777


def test_database_elsewhere_is_kept_from_others_too(tmp_path: Path) -> None:
    from prefect.settings import (
        PREFECT_HOME,
        PREFECT_SERVER_DATABASE_CONNECTION_URL,
        temporary_settings,
    )

    from tclose_flows.prefect_home import make_home_private

    database = tmp_path / "elsewhere.db"
    database.touch()
    database.chmod(0o644)
    url = f"sqlite+aiosqlite:///{database}"
    settings = {PREFECT_HOME: tmp_path / "new", PREFECT_SERVER_DATABASE_CONNECTION_URL: url}
    with temporary_settings(settings):
        make_home_private()
    assert mode_of(tmp_path / "new") == 0o700
    assert mode_of(database) == 0o600


def test_server_that_cannot_start_is_one_message(tmp_path: Path) -> None:
    """Prefect would start it again and again for minutes, each time with a traceback."""
    write_policy(tmp_path / "policy.yaml", policy_for(write_csv(tmp_path / "p.csv", people())))
    home = tmp_path / "home"
    home.mkdir()
    (home / "prefect.db").write_text("no database at all, " * 10)
    ended = subprocess.run(
        [sys.executable, "-m", "tclose", "flow", "policy.yaml", "--quiet"],
        check=False, cwd=tmp_path, env=os.environ | {"PREFECT_HOME": str(home), "HOME": str(home)},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.fullmatch(
        r"tclose: Prefect's server could not start \(.* file is not a database\); see that its "
        rf"database in PREFECT_HOME {home} is whole.*; `tclose run` .*\n",
        ended.stderr,
    )
    assert not (tmp_path / "releases").exists()
