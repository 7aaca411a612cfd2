"""Engines that run tasks: this process, a local Dask cluster, or an existing one."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tclose.data.files.input_files import find_files, total_bytes
from tclose.data.places.process_limits import (
    count_processors,
    machine_memory,
)
from tclose.errors import LostError, UnreachableError
from tclose.policy.policy import Policy
from tclose.policy.sections.engine_settings import LOCAL, EngineSettings
from tclose.runtime.engines.dask_logs import silence_dask_logs
from tclose.runtime.engines.garbage import end_start
from tclose.runtime.engines.local import (
    bytes_per_worker,
    local_cluster,
    start_fork_server,
)
from tclose.runtime.engines.scheduler import existing_address
from tclose.runtime.engines.steady_clock import use_steady_clock
from tclose.runtime.engines.thread_parts import run_side_by_side
from tclose.runtime.engines.tracing import Trace, task_prefix, trace_here, trace_tasks
from tclose.runtime.engines.user_client import find_client, user_client_address
from tclose.runtime.engines.versions import check_versions, worker_left

# Inputs below this run in the calling process unless the policy asks for workers: a cluster takes
# longer to start than they take to release.
IN_PROCESS_BYTES = 8_000_000
# Tasks of this process side by side: each holds memory of its own, and more processors search parts
# of its region.
MOST_AT_ONCE = 4
ANSWER_SECONDS = 10
WORKER_SECONDS = 60


class Engine(Protocol):
    """Runs a function on many items and hands back each result with its item's position."""

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "task"
    ) -> Generator[tuple[int, Any], None, None]:
        """Results as they come, in any order; ``name`` is what the work is known by."""
        ...

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """Trace the tasks of that name that run in the block; complete when the block ends."""
        ...

    def sees(self, folder: Path) -> bool:
        """Return whether the folder exists wherever tasks run."""
        ...

    def ask(self, question: Callable[[], str]) -> list[str]:
        """Return a function's answers, wherever tasks run."""
        ...

    def memory_per_unit(self) -> int | None:
        """Bytes that a task may take where it has least; None where there is no limit."""
        ...

    def threads_per_task(self, n_tasks: int) -> int:
        """Threads that each of so many tasks may have, if they all run at once."""
        ...


@dataclass(frozen=True)
class InProcess:
    """Items side by side in threads of the calling process.

    ``n_at_once``: how many at most.
    """

    n_at_once: int = MOST_AT_ONCE

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "task"
    ) -> Generator[tuple[int, Any], None, None]:
        """Results as they come."""
        del name
        yield from run_side_by_side(function, items, self._count_at_once(len(items)))

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """Trace the memory that this process held."""
        return trace_here(name)

    def sees(self, folder: Path) -> bool:
        """Return whether the folder exists."""
        return folder.is_dir()

    def ask(self, question: Callable[[], str]) -> list[str]:
        """Return a function's answer in this process."""
        return [question()]

    def memory_per_unit(self) -> int | None:
        """No limit of Dask's."""
        return None

    def threads_per_task(self, n_tasks: int) -> int:
        """A task's share of the processors."""
        return max(1, count_processors() // max(self._count_at_once(n_tasks), 1))

    def _count_at_once(self, n_tasks: int) -> int:
        at_most = min(n_tasks, self.n_at_once)
        return at_most if at_most == 1 else min(at_most, count_processors())


@dataclass(frozen=True)
class OnCluster:
    """Items as tasks of a Dask cluster. A worker that dies loses nothing but time."""

    client: Any

    def run(
        self, function: Callable[[Any], Any], items: Sequence[Any], *, name: str = "task"
    ) -> Generator[tuple[int, Any], None, None]:
        """Results as they come; raises a task's own error, or says that workers kept dying."""
        from distributed import KilledWorker, as_completed
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        address, key = self.client.scheduler.address, task_prefix(self.client, name)
        futures = self.client.map(function, items, key=key, pure=False)
        positions = {future.key: position for position, future in enumerate(futures)}
        try:
            for future, result in as_completed(futures, with_results=True, loop=self.client.loop):
                if future.cancelled():  # its result is no result then, and not raised either
                    raise _lost(address)
                yield positions[future.key], result
        except KilledWorker:
            raise LostError(
                "a task ended its worker several times; give engine.memory_per_worker more"
            ) from None
        except (NoWorkerError, NoValidWorkerError) as error:  # the latter of tasks that came later
            absence = f"has had no workers for {error.timeout:,.0f} seconds; start some"
            raise _lost(address, absence) from None
        except CancelledError:
            raise _lost(address) from None
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self.client.cancel(futures, force=True)

    def tracing(self, name: str) -> AbstractContextManager[Trace]:
        """Trace the tasks' times, workers and code, and the workers' memory."""
        return trace_tasks(self.client, name)

    def sees(self, folder: Path) -> bool:
        """Return whether the folder exists on every worker."""
        answers = self.client.run(os.path.isdir, str(folder), on_error="return").values()
        return all(answer is True for answer in answers if not worker_left(answer))

    def ask(self, question: Callable[[], str]) -> list[str]:
        """Return a function's answer in every worker."""
        answers = self.client.run(question, on_error="return").values()
        return [answer for answer in answers if isinstance(answer, str)]

    def memory_per_unit(self) -> int | None:
        """The least of a worker's limit, shared by its threads, of workers that have one."""
        workers = self._workers()
        shares = [w["memory_limit"] // w["nthreads"] for w in workers if w["memory_limit"]]
        return min(shares, default=None)

    def threads_per_task(self, n_tasks: int) -> int:
        """A task's share of all workers' threads; no more than those of any machine."""
        of_machine: Counter[str] = Counter()
        for worker in self._workers():
            of_machine[worker["host"]] += worker["nthreads"]
        share = of_machine.total() // max(n_tasks, 1)
        return max(1, min(share, *of_machine.values())) if of_machine else 1

    def _workers(self) -> list[dict[str, Any]]:
        info = self.client.scheduler_info(n_workers=-1)
        if "workers" not in info:  # what a client knows that has lost its scheduler
            raise _lost(getattr(self.client.scheduler, "address", "given"))
        return list(info["workers"].values())


@contextlib.contextmanager
def connect(address: str) -> Iterator[Engine]:
    """An engine on the cluster whose scheduler has this address; ``""`` is this process.

    Raises
    ------
    UnreachableError
        Nobody answers, or there are no workers.
    ClusterError
        They do not have this code.
    """
    if not address:
        yield InProcess()
        return
    silence_dask_logs()
    client = find_client(address)
    if client is not None:
        _check_workers(client, address)
        yield OnCluster(client)
        return
    with _own_client(address) as client:
        _check_workers(client, address)
        yield OnCluster(client)


@contextlib.contextmanager
def _own_client(address: str) -> Iterator[Any]:
    from distributed import Client

    use_steady_clock()
    try:
        client = Client(address, timeout=f"{ANSWER_SECONDS}s", set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, MemoryError):
        raise UnreachableError(
            f"engine.scheduler {address}: the Dask scheduler does not answer; start it, or use "
            "local"
        ) from None
    try:
        yield client
    finally:
        with contextlib.suppress(TimeoutError):  # as above
            client.close()


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        message = f"engine.scheduler {address}: has no workers; start some"
        raise UnreachableError(message) from None
    check_versions(client, address)


def _lost(address: str, loss: str = "the Dask scheduler went away; start it") -> LostError:
    return LostError(f"engine.scheduler {address}: {loss}, and run again to go on from here")


def runs_in_process(settings: EngineSettings, n_bytes: int) -> bool:
    """Return whether an input of that size is too small for a cluster to be worth its start."""
    local = settings.scheduler == LOCAL and settings.workers == "auto"
    return local and n_bytes < IN_PROCESS_BYTES


def prestart_workers(policy: Policy) -> None:
    """Have what takes longest of a local cluster's start begin, if a run will start one.

    Raises
    ------
    DataError
        There is no input.
    """
    if policy.engine.scheduler == LOCAL:
        n_bytes = total_bytes(find_files(policy.input))
        if not runs_in_process(policy.engine, n_bytes):
            start_fork_server()


@contextlib.contextmanager
def local_address(settings: EngineSettings, n_bytes: int) -> Iterator[str]:
    """Address of the scheduler to use: an existing one, a new local one, or ``""`` for none."""
    if user_client_address():
        yield user_client_address()
    elif runs_in_process(settings, n_bytes):
        yield ""
    elif settings.scheduler == LOCAL:
        with local_cluster(settings) as address:
            yield address
    else:
        with existing_address(settings) as address:
            yield address


@contextlib.contextmanager
def open_engine(settings: EngineSettings, n_bytes: int) -> Iterator[Engine]:
    """The engine of a run on an input of that size, for a block: the one connection that it has."""
    with local_address(settings, n_bytes) as address, connect(address) as engine:
        end_start()  # all that a run works with is imported by now
        yield engine


def worker_memory(settings: EngineSettings, n_bytes: int) -> int | None:
    """Bytes that a worker can hold, for an input of that size; None where that is not known."""
    if settings.memory_bytes is not None:
        return settings.memory_bytes
    if settings.scheduler != LOCAL or user_client_address():
        return None  # whoever started the workers has said what they may hold
    if runs_in_process(settings, n_bytes):
        return machine_memory()
    return bytes_per_worker(settings)


def least_memory(settings: EngineSettings, n_bytes: int, engine: Engine) -> int | None:
    """Bytes that a task can take: of a worker that the policy speaks of, or that is there."""
    limits = worker_memory(settings, n_bytes), engine.memory_per_unit()
    return min((limit for limit in limits if limit is not None), default=None)
