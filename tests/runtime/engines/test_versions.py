"""Differences between this process, the scheduler and the workers, in processes of their own."""

import contextlib
import shutil

import pytest
from distributed.comm.core import CommClosedError

import tclose
from deploy.certificates import make_certificates
from deploy.stack.processes import Processes
from deploy.stack.services import start_scheduler, start_worker
from support.servers.clusters import ROOT, clean_environment, pretend_version
from tclose.errors import ClusterError
from tclose.policy.sections.engine_settings import EngineSettings, TlsSettings
from tclose.runtime.engines.engine import connect, local_address
from tclose.runtime.engines.versions import check_versions

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture
def tls(tmp_path):
    make_certificates(tmp_path / "tls")
    return tmp_path / "tls"


def message_of(dask, n_workers, folder) -> str:
    """What connecting is refused with, once all workers have come."""
    from deploy.stack.services import await_workers

    with Processes(folder, {}) as nothing:
        await_workers(dask, nothing, n_workers)
    files = {"ca": dask.tls / "ca.pem", "cert": dask.tls / "client.pem"}
    files["key"] = dask.tls / "client-key.pem"
    settings = EngineSettings(
        scheduler=dask.address, tls=TlsSettings(**{key: str(path) for key, path in files.items()})
    )
    with (
        local_address(settings, 0) as address,
        pytest.raises(ClusterError) as caught,
        connect(address),
    ):
        pass
    return str(caught.value)


def test_every_difference_stands_in_one_message(tls, tmp_path):
    old_pandas = pretend_version(tmp_path / "scheduler", "pandas", "1.5.3")
    old_numba = pretend_version(tmp_path / "worker", "numba", "0.1.2")
    with Processes(tmp_path, clean_environment()) as processes:
        dask = start_scheduler(processes, tls, more=clean_environment(old_pandas))
        start_worker(processes, dask, 1, tmp_path)
        start_worker(processes, dask, 2, tmp_path, more=clean_environment(old_numba))
        message = message_of(dask, 2, tmp_path)

    first, *rest = message.splitlines()
    assert first.startswith(f"engine.scheduler {dask.address}: not the same software everywhere")
    assert "requirements.lock" in first
    assert len(rest) == 2
    assert "pandas: " in rest[0]
    assert rest[0].endswith("here, 1.5.3 on the scheduler")
    assert "numba: " in rest[1]
    assert "here, 0.1.2 on 1 of 2 workers (tls://127.0.0.1:" in rest[1]


@pytest.mark.nightly
def test_other_sources_of_the_same_version_are_noticed(tls, tmp_path):
    copy = tmp_path / "copy"
    package = copy / "tclose"
    shutil.copytree(ROOT / "pipeline" / "tclose", package, ignore=shutil.ignore_patterns("__py*"))
    with (package / "__init__.py").open("a") as file:
        file.write("# changed\n")
    with Processes(tmp_path, clean_environment()) as processes:
        dask = start_scheduler(processes, tls)
        start_worker(processes, dask, 1, tmp_path, more=clean_environment(copy))
        message = message_of(dask, 1, tmp_path)

    assert f"version {tclose.__version__}" not in message
    assert message.splitlines()[1].startswith("  tclose's code: ")
    assert "on 1 of 1 workers" in message


def test_cluster_without_tclose_is_asked_for_nothing_else():
    """Dask answers for packages that a process does not have; no function is sent there."""

    class Client:
        def get_versions(self, packages):
            here = {"packages": {"python": "3.11.7.final.0"} | dict.fromkeys(packages, "1.0")}
            bare = {"packages": here["packages"] | {"tclose": None, "python": "3.11.9.final.0"}}
            workers = {f"tcp://10.0.0.{i}:1": bare for i in range(5)}
            return {"client": here, "scheduler": here, "workers": workers}

    with pytest.raises(ClusterError) as caught:
        check_versions(Client(), "tcp://10.0.0.9:8786")
    shown = "tcp://10.0.0.0:1, tcp://10.0.0.1:1, tcp://10.0.0.2:1, ..."
    assert str(caught.value).splitlines()[1:] == [
        f"  tclose: 1.0 here, none on 5 of 5 workers ({shown})"
    ]


@pytest.mark.parametrize(
    ("answer", "is_refused"),
    [
        (CommClosedError("the worker ended"), False),
        (OSError("Timed out trying to connect"), False),
        (PermissionError("its sources"), True),
        (ModuleNotFoundError("No module named 'tclose'"), True),
    ],
)
def test_worker_that_ended_before_it_answered_is_no_other_software(answer, is_refused):
    class Client:
        def get_versions(self, packages):
            here = {"packages": {"python": "3.11.7.final.0"} | dict.fromkeys(packages, "1.0")}
            return {"client": here, "scheduler": here, "workers": {"tcp://10.0.0.1:1": here}}

        def run(self, function, on_error):
            assert on_error == "return"
            return {"tcp://10.0.0.1:1": answer, "tcp://10.0.0.2:1": function()}

        def run_on_scheduler(self, function):
            return function()

    refused = pytest.raises(ClusterError, match=r"another on 1 of \d workers")
    with refused if is_refused else contextlib.nullcontext():
        check_versions(Client(), "tcp://10.0.0.9:8786")
