"""A local cluster: its workers come from one process that has imported what they need."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
import psutil
import pytest
from distributed import Client

from support.cases.discharge_policies import data_digests, discharge_policy, write_discharges
from support.cases.people import folder_of
from support.passes import UNTIL_VERDICT, run_passes
from tclose.errors import LostError
from tclose.passes.release import open_release, run_release
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines import local
from tclose.runtime.engines.engine import connect
from tclose.runtime.engines.local import ALLOCATION, local_cluster
from tclose.runtime.monitoring.progress import Progress

pytestmark = [
    pytest.mark.usefixtures("small_regions"),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only"),
]
TWO = EngineSettings(workers=2)
# Prints the environment of the process that workers are forked from, and then its own.
SERVER_ENVIRONMENT = """
import json, os, psutil, time
from tclose.runtime.engines.local import start_fork_server

start_fork_server()
begun = []
while not begun:  # until it is a program of its own, a child has this one's command line
    time.sleep(0.01)
    of_child = [(" ".join(c.cmdline()), c) for c in psutil.Process().children()]
    begun = [child for line, child in of_child if "multiprocessing." "forkserver" in line]
for child in begun:
    print(json.dumps(child.environ()))
print(json.dumps(dict(os.environ)))
"""
# Run by its place, as the console script is: the working folder is nowhere on its own path.
STARTS_A_PROCESS = """
import multiprocessing, os
from tclose.runtime.engines.local import start_fork_server

if __name__ == "__main__":
    start_fork_server()
    started = multiprocessing.get_context("forkserver").Process(target=os.getcwd)
    started.start()
    started.join()
"""


def modules_of_worker():
    return set(sys.modules)


def test_workers_are_forked_with_what_they_need():
    with (
        local_cluster(TWO) as address,
        Client(address, set_as_default=False) as client,
    ):
        parents = set(client.run(os.getppid).values())
        loaded = client.run(modules_of_worker).values()
        threads = client.run(os.environ.get, "OPENBLAS_NUM_THREADS").values()
    assert len(parents) == 1
    assert parents != {os.getpid()}
    for modules in loaded:
        assert {"tclose.passes.release", "numba", "pandas"} <= modules
    assert list(threads) == ["1", "1"]


def test_server_has_what_is_read_when_a_process_begins():
    command = [sys.executable, "-c", SERVER_ENVIRONMENT]
    plain = {key: value for key, value in os.environ.items() if key not in ALLOCATION}
    told = subprocess.run(command, capture_output=True, check=True, env=plain, timeout=300).stdout
    found, left_behind = (json.loads(line) for line in told.splitlines())
    assert {key: int(found[key]) for key in ALLOCATION} == ALLOCATION
    assert not ALLOCATION.keys() & left_behind.keys()


@pytest.mark.parametrize("planted", ["multiprocessing.py", "dask/__init__.py"])
def test_nothing_is_imported_from_the_working_folder(planted, tmp_path):
    script, folder, mark = tmp_path / "own" / "run.py", tmp_path / "others", tmp_path / "mark"
    for path, code in ((script, STARTS_A_PROCESS), (folder / planted, f"open({str(mark)!r}, 'w')")):
        path.parent.mkdir(parents=True)
        path.write_text(code)
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    command = [sys.executable, str(script)]
    ended = subprocess.run(
        command, cwd=folder, env=plain, check=False, capture_output=True, timeout=300
    )
    assert not mark.exists()
    assert ended.returncode == 0, ended.stderr


def test_environment_is_that_of_the_clusters_start(monkeypatch):
    for said in ("first", "second"):
        monkeypatch.setenv("TCLOSE_TEST_SAID", said)
        with (
            local_cluster(TWO) as address,
            Client(address, set_as_default=False) as client,
        ):
            assert set(client.run(os.environ.get, "TCLOSE_TEST_SAID").values()) == {said}


def test_policy_is_read_without_the_compiler():
    command = "import sys, tclose.policy.policy; print('numba' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    assert told.stdout == b"False\n"


@pytest.mark.nightly
def test_end_of_the_server_changes_nothing(tmp_path):
    discharges = write_discharges(tmp_path / "discharges.parquet", 20_000)
    progress, method = Progress("none"), {"refine": "off"}
    alone = run_release(discharge_policy(discharges, tmp_path / "a", method=method), progress)
    policy = discharge_policy(discharges, tmp_path / "b", method=method, engine={"workers": 2})
    with open_release(policy, progress) as run:
        run_passes(run, progress, "summarise")
        assert end_the_server() == 1
        run_passes(run, progress, *UNTIL_VERDICT[1:], "publish")
    made = run.repository.release(run.release_id)
    assert isinstance(made, Path)
    assert data_digests(made) == data_digests(folder_of(alone))


def end_the_server() -> int:
    """How many there were."""
    children = psutil.Process().children()
    servers = [child for child in children if "forkserver" in " ".join(child.cmdline())]
    for server in servers:
        server.kill()
    return len(servers)


def key_of_worker():
    """Place and mode of the key that a worker was given, and its folder for temporary files."""
    import dask

    key = Path(dask.config.get("distributed.comm.tls.worker.key"))
    return str(key), key.stat().st_mode & 0o777, tempfile.gettempdir()


def test_the_key_is_in_the_scratch_folder_alone(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a copy of the key is written")

    monkeypatch.setattr("distributed.security.tempfile.TemporaryDirectory", refuse)
    with local_cluster(TWO) as address, Client(address) as client:
        found = client.run(key_of_worker)
    assert len(found) == 2
    for key, mode, folder in found.values():
        assert Path(key).is_relative_to(Path(folder) / f"tclose-{os.geteuid()}")
        assert mode == 0o600
        assert not Path(key).exists()


def test_workers_that_cannot_be_started_anew_are_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(local, "WITHOUT_WORKERS", "1s")
    with local_cluster(EngineSettings(workers=1)) as address, connect(address) as engine:
        results = engine.run(time.sleep, [0.0, 600.0])
        assert next(results) == (0, None)
        shutil.rmtree(dask.config.get("temporary-directory"))
        for pid in engine.ask(lambda: str(os.getpid())):
            os.kill(int(pid), signal.SIGKILL)
        with pytest.raises(LostError, match=r"has had no workers for"):
            next(results)
