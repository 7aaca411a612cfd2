"""Who shares the machine with a run: no part of its cluster, and no view of it."""

import json
import os
import stat
import sys
from pathlib import Path

import dask
import psutil
import pytest
from distributed import Client, LocalCluster

from support.intruders.other_users import listening_ports, run_module
from tclose.policy.engine_settings import EngineSettings
from tclose.runtime.engines.engine import connect
from tclose.runtime.engines.local import local_cluster

pytestmark = pytest.mark.usefixtures("small_regions")

TWO = EngineSettings(workers=2)


USERS = [
    pytest.param(
        "nobody",
        marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user"),
    ),
    pytest.param("", id="the same user without the certificate"),
]


@pytest.mark.parametrize("user", USERS)
def test_intruder_gets_into_no_part_of_a_local_cluster(tmp_path, user):
    before = listening_ports()
    with local_cluster(TWO, tmp_path) as address, connect(address) as engine:
        ports = {port: host for port, host in listening_ports().items() if port not in before}
        assert len(ports) >= 5  # scheduler, two nannies, two workers
        assert set(ports.values()) == {"127.0.0.1"}
        assert (
            json.loads(run_module("support.intruders.port_intruder", user, *map(str, ports))) == {}
        )
        assert sorted(engine.run(abs, [-1, -2])) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("user", USERS)
def test_intruder_gets_into_a_cluster_without_certificates(user):
    """What the test above would find."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as cluster:  # fmt: skip
        ports = [cluster.scheduler.port, cluster.scheduler.http_server.port]
        achieved = json.loads(run_module("support.intruders.port_intruder", user, *map(str, ports)))
    assert f"runs code as user {os.getuid()}" in achieved[str(ports[0])]
    assert "shows /json/identity.json" in achieved[str(ports[1])]


def test_every_connection_of_a_local_cluster_is_encrypted(tmp_path):
    with local_cluster(TWO, tmp_path) as address, Client(address, set_as_default=False) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        addresses = [address, *workers, *(worker["nanny"] for worker in workers.values())]
        assert {there.partition("://")[0] for there in addresses} == {"tls"}
        required = client.run(dask.config.get, "distributed.comm.require-encryption")
        assert set(required.values()) == {True}
    assert dask.config.get("distributed.comm.tls.client.key") is None


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_socket_of_the_fork_server_is_in_a_private_folder(tmp_path):
    with local_cluster(TWO, tmp_path):
        processes = (psutil.Process(), *psutil.Process().children(recursive=True))
        sockets = [s.laddr for p in processes for s in p.net_connections(kind="unix") if s.laddr]
    named = [Path(path) for path in sockets if "listener-" in path]
    assert named
    for path in named:
        assert path.is_absolute()  # one in the abstract namespace has no owner
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
