"""Who shares the machine with a run: no part of its cluster, and no view of it."""

import json
import multiprocessing
import os
import secrets
import shutil
import stat
import sys
import tempfile
from multiprocessing import util
from pathlib import Path

import dask
import psutil
import pytest
from distributed import Client, LocalCluster

from support.intruders.other_users import listening_ports, run_module
from support.servers.flow_runs import wait_until
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime import scratch
from tclose.runtime.engines.engine import connect
from tclose.runtime.engines.local import local_cluster
from tclose.runtime.scratch import place_sockets, scratch_folder, temporary_folder

pytestmark = pytest.mark.usefixtures("small_regions")

TWO = EngineSettings(workers=2)


USERS = [
    pytest.param(
        "nobody",
        marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user"),
    ),
    pytest.param("", id="the same user without the certificate"),
]


@pytest.mark.every_case
@pytest.mark.parametrize("user", USERS)
def test_intruder_gets_into_no_part_of_a_local_cluster(user):
    before = listening_ports()
    with local_cluster(TWO) as address, connect(address) as engine:
        ports = {port: host for port, host in listening_ports().items() if port not in before}
        assert len(ports) >= 5  # scheduler, two nannies, two workers
        assert set(ports.values()) == {"127.0.0.1"}
        assert (
            json.loads(run_module("support.intruders.port_intruder", user, *map(str, ports))) == {}
        )
        assert sorted(engine.run(abs, [-1, -2])) == [(0, 1), (1, 2)]


@pytest.mark.nightly
@pytest.mark.every_case
@pytest.mark.parametrize("user", USERS)
def test_intruder_gets_into_a_cluster_without_certificates(user):
    """What the test above would find."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as cluster:  # fmt: skip
        ports = [cluster.scheduler.port, cluster.scheduler.http_server.port]
        gained = (f"runs code as user {os.getuid()}", "shows /json/identity.json")

        def gets_in() -> bool:
            answer = run_module("support.intruders.port_intruder", user, *map(str, ports))
            achieved = [json.loads(answer).get(str(port), []) for port in ports]
            return all(what in there for what, there in zip(gained, achieved, strict=True))

        wait_until(gets_in, "an intruder who has time enough")


def test_every_connection_of_a_local_cluster_is_encrypted():
    with local_cluster(TWO) as address, Client(address, set_as_default=False) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        addresses = [address, *workers, *(worker["nanny"] for worker in workers.values())]
        assert {there.partition("://")[0] for there in addresses} == {"tls"}
        required = client.run(dask.config.get, "distributed.comm.require-encryption")
        assert set(required.values()) == {True}
    assert dask.config.get("distributed.comm.tls.client.key") is None


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_socket_of_the_fork_server_is_in_a_private_folder():
    with local_cluster(TWO):
        processes = (psutil.Process(), *psutil.Process().children(recursive=True))
        sockets = [s.laddr for p in processes for s in p.net_connections(kind="unix") if s.laddr]
    named = [Path(path) for path in sockets if "listener-" in path]
    assert named
    for path in named:
        assert path.is_absolute()  # one in the abstract namespace has no owner
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_workers_import_from_no_folder_that_others_reach():
    """Dask puts a worker's own folder first among the places of what it imports."""
    with local_cluster(TWO) as address, Client(address, set_as_default=False) as client:
        for folder in client.run(lambda dask_worker: dask_worker.local_directory).values():
            assert Path(folder).is_relative_to(temporary_folder())
        found = {entry for entries in client.run(list_import_places).values() for entry in entries}
        assert any(Path(entry).is_relative_to(temporary_folder()) for entry in found)
    for entry in found:
        assert not Path(entry).exists() or not Path(entry).stat().st_mode & stat.S_IWOTH


def list_import_places() -> list[str]:
    return sys.path


@pytest.fixture
def shared(monkeypatch):
    """A folder for temporary files that others can write to, with a short name for sockets."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setitem(vars(multiprocessing.current_process())["_config"], "tempdir", None)
    yield folder
    shutil.rmtree(folder)


def test_sockets_are_not_where_others_could_replace_them(shared, monkeypatch):
    assert place_sockets()
    assert Path(util.get_temp_dir()).parent == Path("/tmp") / temporary_folder().name
    monkeypatch.setitem(vars(multiprocessing.current_process())["_config"], "tempdir", None)
    monkeypatch.setattr(scratch, "_SHORT", shared)
    assert not place_sockets()
    with local_cluster(TWO) as address, connect(address) as engine:
        processes = psutil.Process().children(recursive=True)
        sockets = [s.laddr for p in processes for s in p.net_connections(kind="unix") if s.laddr]
        assert not [path for path in sockets if path.startswith(str(shared))]
        assert sorted(engine.run(abs, [-1, -2])) == [(0, 1), (1, 2)]


def test_scratch_is_not_made_in_what_others_put_in_its_place(shared, monkeypatch):
    """Between the look at the private folder and the making of one in it."""
    theirs, own = shared / "theirs", temporary_folder()
    token_hex = secrets.token_hex

    def swap(n_bytes: int) -> str:
        if own.exists() and not theirs.exists():
            theirs.mkdir(mode=0o777)
            own.rename(shared / "away")
            theirs.rename(own)
            theirs.mkdir()
        return token_hex(n_bytes)

    monkeypatch.setattr(secrets, "token_hex", swap)
    with scratch_folder("plan") as folder:
        assert len(folder.name) > len("plan-") + 30  # nobody can guess it
        assert (shared / "away" / folder.name).is_dir()
        assert not list(own.iterdir())
