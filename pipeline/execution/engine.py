"""What units of work run on: this process, a local Dask cluster, or one that is there already."""

import contextlib
import logging
import math
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from pipeline.errors import DataError, TcloseError, UnitError
from pipeline.execution.tracing import Trace, task_prefix, trace_here, trace_tasks
from pipeline.settings import EngineSettings
from pipeline.storage.provenance import code_version

# Inputs below this run in the calling process unless the policy asks for workers: a cluster takes
# longer to start than they take to release.
IN_PROCESS_BYTES = 8_000_000
MAX_AUTO_WORKERS = 16
ANSWER_SECONDS = 10
WORKER_SECONDS = 60


class Engine(Protocol):
    """Runs a function on many items and hands back each result with its item's position."""

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "unit"
    ) -> Iterator[tuple[int, Any]]:
        """Results as they come, in any order; ``name`` is what the work is known by."""
        ...

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """What is known of the work of that name that runs in the block, when it has ended."""
        ...

    def sees(self, folder: Path) -> bool:
        """Whether the folder is there, wherever units run."""
        ...


@dataclass(frozen=True)
class InProcess:
    """One item after the other, in the calling process."""

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "unit"
    ) -> Iterator[tuple[int, Any]]:
        """Results in the order of the items."""
        del name
        for position, item in enumerate(items):
            yield position, function(item)

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """What this process held."""
        return trace_here(name)

    def sees(self, folder: Path) -> bool:
        """Whether the folder is there."""
        return folder.is_dir()


@dataclass(frozen=True)
class OnCluster:
    """Items as tasks of a Dask cluster. A worker that dies loses nothing but time."""

    client: Any

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "unit"
    ) -> Iterator[tuple[int, Any]]:
        """Results as they come; raises a unit's own error, or says that workers kept dying."""
        from distributed import KilledWorker, as_completed

        key = task_prefix(self.client, name)
        futures = self.client.map(function, items, key=key, pure=False)
        positions = {future.key: position for position, future in enumerate(futures)}
        try:
            for future, result in as_completed(futures, with_results=True, loop=self.client.loop):
                yield positions[future.key], result
        except KilledWorker:
            raise UnitError(
                "a unit of work ended its worker several times; give engine.memory_per_worker more"
            ) from None
        finally:
            self.client.cancel(futures, force=True)

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """When and where tasks ran, in what code, and what workers held."""
        return trace_tasks(self.client, name)

    def sees(self, folder: Path) -> bool:
        """Whether every worker sees the folder."""
        return all(self.client.run(os.path.isdir, str(folder)).values())


@contextlib.contextmanager
def connect(address: str) -> Iterator[Engine]:
    """An engine on the cluster whose scheduler has this address; ``""`` is this process.

    Raises
    ------
    DataError
        Nobody answers, there are no workers, or they do not have this code.
    """
    if not address:
        yield InProcess()
        return
    from distributed import Client

    try:
        client = Client(address, timeout=f"{ANSWER_SECONDS}s", set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, MemoryError):
        raise _no_scheduler(address) from None
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
        _check_same_code(client, address)
        yield OnCluster(client)
    except TimeoutError:
        raise DataError(f"engine.scheduler {address}: has no workers; start some") from None
    finally:
        client.close()


def _no_scheduler(address: str) -> DataError:
    return DataError(
        f"engine.scheduler {address}: no Dask scheduler answers there; start it, or use local"
    )


def code_there() -> tuple[tuple[str, str], ...]:
    """Versions of what makes the bytes, in the process that calls it: a worker's, if sent there."""
    return tuple(code_version().items())


def _check_same_code(client: Any, address: str) -> None:
    """Refuse workers with other code: what they send could not be read, or would be wrong."""
    try:
        versions = set(client.run(code_there).values())
    except Exception:
        versions = set()
    if versions != {tuple(code_version().items())}:
        raise DataError(
            f"engine.scheduler {address}: a worker has another tclose, numpy, numba or pyarrow, or "
            "none; install the same on scheduler, workers and here"
        )


def check_scheduler(address: str) -> None:
    """Refuse an address at which no scheduler answers: Dask would wait for long, or for ever.

    A scheduler speaks first: eight bytes with the length of its greeting. With TLS it waits.
    """
    if address == "local":
        return
    try:
        place = urlsplit(address)
        host, port = place.hostname or "", place.port or 0
        with socket.create_connection((host, port), timeout=ANSWER_SECONDS) as probe:
            heard = probe.recv(8) if place.scheme == "tcp" else bytes(8)
        answers = len(heard) == 8 and int.from_bytes(heard, "little") < 1 << 20
    except (OSError, ValueError):
        answers = False
    if not answers:
        raise _no_scheduler(address)


def runs_in_process(settings: EngineSettings, n_bytes: int) -> bool:
    """Whether an input of that size is too small for a cluster to be worth its start."""
    local = settings.scheduler == "local" and settings.workers == "auto"
    return local and n_bytes < IN_PROCESS_BYTES


@contextlib.contextmanager
def local_address(settings: EngineSettings, n_bytes: int, scratch: Path) -> Iterator[str]:
    """Address of the scheduler to use: an existing one, a new local one, or ``""`` for none."""
    if settings.scheduler != "local":
        yield settings.scheduler
    elif runs_in_process(settings, n_bytes):
        yield ""
    else:
        with _local_cluster(settings, scratch) as address:
            yield address


@contextlib.contextmanager
def _local_cluster(settings: EngineSettings, scratch: Path) -> Iterator[str]:
    """A cluster of single-threaded worker processes; all it listens on is loopback."""
    import dask
    from distributed import LocalCluster

    quieten_dask()
    configured = {
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.worker.profile.enabled": False,
        "distributed.logging": _QUIET_LOGGING,
        "distributed.worker.preload": [_IGNORE_INTERRUPTS],
    }
    with (
        dask.config.set(configured),
        LocalCluster(
            n_workers=worker_count(settings),
            threads_per_worker=1,
            processes=True,
            memory_limit=_memory_limit(settings),
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            local_directory=str(scratch),
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
    ):
        yield cluster.scheduler_address


# An interrupt at the terminal reaches all processes; the run ends its workers itself.
_IGNORE_INTERRUPTS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"
_QUIET_LOGGING = {"distributed": "critical", "distributed.worker": "critical"}


def quieten_dask() -> None:
    """Keep Dask's own log lines, which quote the arguments of failed tasks, out of every log."""
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def worker_count(settings: EngineSettings) -> int:
    """Workers of a local cluster."""
    if settings.workers != "auto":
        return settings.workers
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(available or 1, MAX_AUTO_WORKERS))


def _memory_limit(settings: EngineSettings) -> str | int:
    if settings.memory_per_worker == "auto":
        return "auto"
    number, unit = re.fullmatch(
        r"([\d.]+) ?([kmgt])(i?)b", settings.memory_per_worker.lower()
    ).group(1, 2)  # type: ignore[union-attr]
    base = 1024 if "ib" in settings.memory_per_worker.lower() else 1000
    return math.floor(float(number) * base ** ("kmgt".index(unit) + 1))


def worker_memory(settings: EngineSettings, n_bytes: int) -> int | None:
    """Bytes that a worker can hold, for an input of that size; None where that is not known."""
    limit = _memory_limit(settings)
    if isinstance(limit, int):
        return limit
    if settings.scheduler != "local":
        return None  # whoever started the workers has said what they may hold
    if runs_in_process(settings, n_bytes):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    return int(MEMORY_LIMIT / max(1, CPU_COUNT))  # Dask's own rule for a worker of one thread


def merge_in_tree(merge: Callable[[Any, Any], Any], values: Iterable[Any]) -> Any:
    """Merge neighbours pair by pair until one is left: an associative merge, in a fixed order."""
    level = list(values)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def describe_failure(error: BaseException, place: str) -> TcloseError:
    """An error that may be shown: tclose's own as it is, any other by type and place alone."""
    if isinstance(error, TcloseError):
        return error
    trace, where = error.__traceback__, "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/pipeline/" in code.co_filename or "/flows/" in code.co_filename:
            where = f"{Path(code.co_filename).name}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    if isinstance(error, MemoryError):
        return UnitError(f"{place}: out of memory; give engine.memory_per_worker more")
    if isinstance(error, OSError) and error.strerror:
        return UnitError(f"{place}: {error.strerror} ({where})")
    return UnitError(f"{place}: stopped by {type(error).__name__} ({where})")
