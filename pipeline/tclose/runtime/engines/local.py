"""A Dask cluster of this machine's own, for one run, that other users of it cannot reach."""

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

from tclose.data.places.process_limits import (
    OPEN_FILES,
    count_processors,
    ensure_open_files,
    machine_memory,
)
from tclose.errors import LostError, PolicyError
from tclose.policy.sections.engine_settings import LEAST_MEMORY, EngineSettings
from tclose.runtime.engines.certificates import make_tls_configuration
from tclose.runtime.engines.dask_logs import QUIET_LOGGING, SILENT, silence_dask_logs
from tclose.runtime.engines.steady_clock import use_steady_clock
from tclose.runtime.interrupts import deferred, held_back
from tclose.runtime.scratch import place_sockets, scratch_folder

MAX_AUTO_WORKERS = 16
_SHARE_BYTES = 500_000_000  # of a worker, at least: more than one of ten million records takes
_FILES_PER_WORKER = 16  # that the run's own process has open: pipes and connections, ten at least

WITHOUT_WORKERS = "10 minutes"  # after which a run that none is left for ends

_WORKER_START = "tclose.runtime.engines.worker_start"
# A worker's arrays come and go by the megabyte. As glibc and Dask have it, each goes back to the
# system, and every page of the next one is a fault again: a quarter of a run. What is kept is far
# below what a task needs at once.
ALLOCATION = {
    "MALLOC_MMAP_THRESHOLD_": 32 << 20,  # the most that glibc takes
    "MALLOC_TRIM_THRESHOLD_": 256 << 20,
    "MALLOC_TOP_PAD_": 16 << 20,
}
# As Dask has it for workers; numpy's library reads these when it is loaded.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1)
_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
# Python puts the working folder, where others may write, first among the places of
# what a new process imports. A process that was begun without that folder stays without it.
_NO_WORKING_FOLDER = {"PYTHONSAFEPATH": 1}
# Elsewhere there are libraries of the system that do not stand a fork.
_FORKS = sys.platform == "linux"
# Dask's configuration and the environment are those of the process: one cluster has them at a time.
_ONE_CLUSTER = threading.RLock()
# Dask's pages ask nobody who they are, and say what runs where, with what arguments.
_WITHOUT_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@contextlib.contextmanager
def local_cluster(settings: EngineSettings) -> Iterator[str]:
    """Address of a cluster of single-threaded worker processes; all it listens on is loopback.

    Loopback is open to every user of the machine, so each connection has TLS with the run's own
    certificate on both sides. In the block Dask's configuration has it, for clients of this process
    and for workers. Dask imports from its workers' folder, so it is one that nobody else reaches.
    Another thread's cluster is waited for.

    Raises
    ------
    PolicyError
        Its workers would have too little memory to start.
    OutputError
        They have no private folder.
    """
    _check_memory(settings)
    ensure_open_files(OPEN_FILES + _FILES_PER_WORKER * worker_count(settings))
    with (
        _ONE_CLUSTER,
        scratch_folder("dask") as scratch,
        _configured(settings, scratch) as address,
    ):
        yield address


@contextlib.contextmanager
def _configured(settings: EngineSettings, scratch: Path) -> Iterator[str]:
    """Start a cluster with the configuration and the environment that it needs."""
    forks = start_fork_server()
    import dask

    use_steady_clock()  # with Dask comes its configuration, which would replace ours
    silence_dask_logs()
    configured = dask.config.set(_configuration(scratch, forks=forks))
    with (
        _hidden_script(),
        configured,
        _environment(_NO_WORKING_FOLDER),  # for what is spawned, and a server that is started anew
        _starting(settings, scratch) as address,
    ):
        yield address


@contextlib.contextmanager
def _starting(settings: EngineSettings, scratch: Path) -> Iterator[str]:
    """Start a cluster and end it, each without an interrupt in the middle."""
    processes = contextlib.ExitStack()
    try:
        with deferred():
            cluster = processes.enter_context(_start(settings, scratch))
        yield cluster.scheduler_address
    finally:
        with deferred():
            processes.close()


def _start(settings: EngineSettings, scratch: Path) -> Any:
    """Start Dask's LocalCluster.

    Raises
    ------
    LostError
        A process that it needs has ended meanwhile.
    """
    from distributed import LocalCluster

    try:
        return LocalCluster(
            n_workers=worker_count(settings),
            threads_per_worker=1,
            processes=True,
            memory_limit=bytes_per_worker(settings),
            host="127.0.0.1",
            protocol="tls",
            dashboard_address="127.0.0.1:0",
            local_directory=str(scratch),
            silence_logs=SILENT,
            scheduler_kwargs={"dashboard": False},
            env=dict(os.environ),  # it may have changed since the server was started
        )
    except RuntimeError as error:
        raise LostError(
            "the local cluster did not start, as one of its processes was ended; run again"
        ) from error


@contextlib.contextmanager
def _hidden_script() -> Iterator[None]:
    """Let worker processes not run the caller's script again: they need nothing of it.

    multiprocessing has every new process do so, and a script without ``if __name__ == "__main__"``
    would start a cluster in each.
    """
    main: Any = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    main.__spec__ = None
    if "__file__" in hidden:
        del main.__file__
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


def _configuration(scratch: Path, *, forks: bool) -> Mapping[str, Any]:
    """Dask's configuration for a run; processes of the cluster get it, too."""
    import dask

    return {
        **make_tls_configuration(scratch),
        **_WITHOUT_PAGES,
        "distributed.worker.multiprocessing-method": "forkserver" if forks else "spawn",
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.worker.profile.enabled": False,
        "distributed.logging": QUIET_LOGGING,
        # Workers that cannot be started anew, as on a full disk, would be waited for for ever.
        "distributed.scheduler.no-workers-timeout": WITHOUT_WORKERS,
        _ENVIRONMENT: dask.config.get(_ENVIRONMENT) | ALLOCATION,
        "distributed.worker.preload": [_WORKER_START],
        # A paused worker waits for results to go, and tasks keep theirs in files: it would wait
        # for ever. One that reaches its limit is started anew instead.
        "distributed.worker.memory.pause": False,
        # nor are results, which are small, put as pickles into a folder that machines may share
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "temporary-directory": str(scratch),  # the scheduler's, too; it has no argument for it
    }


def _check_memory(settings: EngineSettings) -> None:
    n_bytes = bytes_per_worker(settings)
    if n_bytes < LEAST_MEMORY:
        raise PolicyError(
            f"engine.memory_per_worker {settings.memory_per_worker}: is {n_bytes / 1e6:,.0f} MB "
            "for a worker here, which holds most of that before it has read a record; give it "
            f"{LEAST_MEMORY // 1_000_000}MB or more"
        )


def start_fork_server() -> bool:
    """Start the process that workers are forked from, unless it runs; it ends with this one.

    It imports what a worker needs once for all of them, and while this process goes on: an import
    takes longer than all else of a cluster's start. It listens on a socket, and whoever could put
    another there would be told the cluster's key: False if there is no place without that.
    """
    if not _FORKS or not place_sockets():
        return False
    with _environment(_ONE_THREAD | ALLOCATION | _NO_WORKING_FOLDER):
        multiprocessing.set_forkserver_preload([_WORKER_START])
        resource_tracker.ensure_running()  # or the next call would let Ctrl-C through
        with held_back():
            forkserver.ensure_running()
    return True


@contextlib.contextmanager
def _environment(variables: Mapping[str, int]) -> Iterator[None]:
    """Have variables in the environment within the block, where the user has not set them."""
    added = {key: str(value) for key, value in variables.items() if key not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for key in added:
            os.environ.pop(key, None)


def worker_count(settings: EngineSettings) -> int:
    """Workers of a local cluster."""
    if settings.workers != "auto":
        return settings.workers
    return min(_count_shares(machine_memory()), MAX_AUTO_WORKERS)


def bytes_per_worker(settings: EngineSettings) -> int:
    """Bytes that a worker of a local cluster is limited to: a share, where they are not given."""
    if settings.memory_bytes is not None:
        return settings.memory_bytes
    from distributed.system import MEMORY_LIMIT

    n_bytes = min(MEMORY_LIMIT, machine_memory())
    return n_bytes // _count_shares(n_bytes)


def _count_shares(n_bytes: int) -> int:
    """One for each processor, if there is enough memory for so many."""
    return max(1, min(count_processors(), n_bytes // _SHARE_BYTES))
