"""A Dask cluster that is there already: used as it is, and refused where its code is another."""

import contextlib
import time

import pytest
from distributed import Client, LocalCluster
from distributed.comm.core import CommClosedError

from deploy.certificates import make_certificates
from deploy.stack.processes import Processes
from deploy.stack.services import start_scheduler, start_worker
from support.cases.discharge_policies import data_digests, discharge_policy, write_discharges
from support.cases.people import folder_of
from support.servers.clusters import clean_environment
from tclose.errors import ClusterError, LostError
from tclose.passes.release import run_release
from tclose.policy.sections.engine_settings import EngineSettings, TlsSettings
from tclose.runtime.engines import engine, versions
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture(scope="module")
def address():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


def test_existing_cluster_gives_the_same_bytes(address, tmp_path):
    path = write_discharges(tmp_path / "discharges.parquet", 12_000)
    there = discharge_policy(path, tmp_path / "there", engine={"scheduler": address})
    here = discharge_policy(path, tmp_path / "here")
    made = run_release(there, Progress("none"))
    assert data_digests(folder_of(made)) == data_digests(
        folder_of(run_release(here, Progress("none")))
    )
    with Client(address, set_as_default=False) as client:
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2


def test_workers_with_other_code_are_refused(address, monkeypatch):
    monkeypatch.setattr(versions, "source_digest", lambda: "of other sources")
    with pytest.raises(ClusterError, match="tclose's code: of other sou"), engine.connect(address):
        pass


def test_folder_that_workers_do_not_see_is_noticed(address, tmp_path):
    with engine.connect(address) as connected:
        assert connected.sees(tmp_path)
        assert not connected.sees(tmp_path / "absent")


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        ([True, True], True),
        ([True, CommClosedError("it has ended")], True),
        ([True, False, CommClosedError("it has ended")], False),
        ([True, RuntimeError("of another kind")], False),
    ],
)
def test_worker_that_ends_meanwhile_says_nothing_of_the_folder(answers, seen, tmp_path):
    class Answering:
        def run(self, *_, on_error):
            assert on_error == "return"
            return dict(enumerate(answers))

    assert engine.OnCluster(Answering()).sees(tmp_path) is seen


@contextlib.contextmanager
def started_anew(folder, **settings):
    """An engine on a scheduler and a worker with TLS, and both processes."""
    make_certificates(folder / "tls")
    with Processes(folder, clean_environment()) as processes:
        dask = start_scheduler(processes, folder / "tls", more=settings)
        worker = start_worker(processes, dask, 1, folder)
        files = EngineSettings(scheduler=dask.address, tls=TlsSettings(**dask.client_files()))
        with engine.local_address(files, 0) as address, engine.connect(address) as connected:
            yield connected, processes.running[0].popen, worker.popen


@pytest.mark.nightly
def test_scheduler_that_goes_away_is_told_and_not_waited_for(tmp_path):
    with started_anew(tmp_path) as (connected, scheduler, _):
        results = connected.run(time.sleep, [0.0, 600.0])
        assert next(results) == (0, None)
        scheduler.kill()
        with pytest.raises(LostError, match="the Dask scheduler went away; start it, and run"):
            next(results)


def test_workers_that_all_leave_are_not_waited_for_for_ever(tmp_path):
    patience = {"DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "1s"}
    absence = r"has had no workers for 1 seconds; start some, and run again to go on from here"
    with started_anew(tmp_path, **patience) as (connected, _, worker):
        results = connected.run(time.sleep, [0.0, *[600.0] * 9])  # most of them are queued
        assert next(results) == (0, None)
        worker.kill()
        with pytest.raises(LostError, match=absence):
            next(results)
        with pytest.raises(LostError, match=absence):
            next(connected.run(time.sleep, [600.0]))  # a task that no worker was there for
