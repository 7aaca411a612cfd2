"""An existing cluster with TLS: scheduler and worker are processes of their own on loopback."""

import contextlib
import socket
import threading

import dask
import pytest
from cryptography.hazmat.primitives import serialization

from deploy.certificates import make_certificates
from deploy.stack.processes import Processes
from deploy.stack.services import start_scheduler, start_worker
from support.cases.discharge_policies import data_digests, discharge_policy, write_discharges
from support.cases.people import folder_of
from support.servers.clusters import clean_environment
from tclose.errors import PolicyError, UnreachableError
from tclose.passes.release import run_release
from tclose.policy.sections.engine_settings import EngineSettings, TlsSettings
from tclose.runtime.engines.engine import connect, local_address
from tclose.runtime.engines.scheduler import check_scheduler
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder / "ours")
    make_certificates(folder / "theirs")
    return folder


@pytest.fixture(scope="module")
def cluster(tls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    with Processes(folder, clean_environment()) as processes:
        found = start_scheduler(processes, tls / "ours")
        start_worker(processes, found, 1, folder)
        yield found


def settings_of(cluster, **files):
    ours = {
        "ca": str(cluster.tls / "ca.pem"),
        "cert": str(cluster.tls / "client.pem"),
        "key": str(cluster.tls / "client-key.pem"),
    }
    return EngineSettings(scheduler=cluster.address, tls=TlsSettings(**ours | files))


@pytest.mark.nightly
def test_run_gives_the_same_bytes_as_in_this_process(cluster, tmp_path):
    path = write_discharges(tmp_path / "discharges.parquet", 20_000)
    asked = settings_of(cluster).model_dump()
    there = run_release(discharge_policy(path, tmp_path / "there", engine=asked), Progress("none"))
    here = run_release(discharge_policy(path, tmp_path / "here"), Progress("none"))
    assert data_digests(folder_of(there)) == data_digests(folder_of(here))
    assert "client-key.pem" not in (there.release / "manifest.json").read_text()


def test_dasks_own_configuration_will_do(cluster):
    configured = {
        "distributed.comm.tls.ca-file": str(cluster.tls / "ca.pem"),
        "distributed.comm.tls.client.cert": str(cluster.tls / "client.pem"),
        "distributed.comm.tls.client.key": str(cluster.tls / "client-key.pem"),
    }
    settings = EngineSettings(scheduler=cluster.address)
    with dask.config.set(configured):
        check_scheduler(settings)
        with local_address(settings, 0) as address, connect(address) as connected:
            assert sorted(connected.run(abs, [-1, -2])) == [(0, 1), (1, 2)]


def test_certificates_are_used_for_the_run_alone(cluster):
    with (
        local_address(settings_of(cluster), 0) as address,
        connect(address) as connected,
    ):
        assert sorted(connected.run(abs, [-1, -2])) == [(0, 1), (1, 2)]
    assert dask.config.get("distributed.comm.tls.ca-file") is None
    with pytest.raises(UnreachableError), connect(cluster.address):
        pass


class TestRefusals:
    def test_scheduler_of_another_authority(self, cluster, tls):
        other = settings_of(cluster, ca=str(tls / "theirs" / "ca.pem"))
        with pytest.raises(PolicyError, match=r"is not verified by engine\.tls\.ca"):
            check_scheduler(other)

    def test_client_of_another_authority(self, cluster, tls):
        theirs = {
            "cert": str(tls / "theirs" / "client.pem"),
            "key": str(tls / "theirs" / "client-key.pem"),
        }
        with pytest.raises(
            PolicyError, match=r"does not take the certificate of engine\.tls\.cert"
        ):
            check_scheduler(settings_of(cluster, **theirs))

    def test_key_of_another_certificate(self, cluster):
        key = str(cluster.tls / "worker-key.pem")
        with pytest.raises(PolicyError, match="no certificate in PEM with its own key"):
            check_scheduler(settings_of(cluster, key=key))

    def test_file_that_is_not_there(self, cluster, tmp_path):
        absent = str(tmp_path / "absent.pem")
        with pytest.raises(PolicyError, match=r"engine\.tls\.cert .*absent\.pem: cannot be read"):
            check_scheduler(settings_of(cluster, cert=absent))

    def test_key_with_a_passphrase_is_not_asked_for(self, cluster, tmp_path):
        content = (cluster.tls / "client-key.pem").read_bytes()
        locked = tmp_path / "locked.pem"
        locked.write_bytes(
            serialization.load_pem_private_key(content, None).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(b"secret"),
            )
        )
        with pytest.raises(PolicyError, match=r"engine\.tls\.key .*: has a passphrase"):
            check_scheduler(settings_of(cluster, key=str(locked)))

    def test_no_certificates_at_all(self, cluster):
        with pytest.raises(PolicyError, match=r"engine\.tls is missing; give ca, cert and key"):
            check_scheduler(EngineSettings(scheduler=cluster.address))

    def test_without_encryption(self, cluster, answer_within):
        answer_within(0.5)
        plain = EngineSettings(scheduler=cluster.address.replace("tls://", "tcp://"))
        with pytest.raises(UnreachableError, match="whether it is tcp:// or tls://"):
            check_scheduler(plain)

    def test_server_that_speaks_no_tls(self, cluster):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def greet() -> None:
                with contextlib.suppress(OSError), server.accept()[0] as peer:
                    peer.sendall(b"220 mail.example ready\r\n")

            thread = threading.Thread(target=greet)
            thread.start()
            address = f"tls://127.0.0.1:{server.getsockname()[1]}"
            settings = settings_of(cluster).model_copy(update={"scheduler": address})
            with pytest.raises(PolicyError, match="does not speak TLS"):
                check_scheduler(settings)
            thread.join()
