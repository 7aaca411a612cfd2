"""Compile the kernels before they are needed, in several processes, by releases of a table."""

import atexit
import contextlib
import gc
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path
from typing import Any

from tclose.data.places.process_limits import count_processors
from tclose.errors import LostError, OutputError
from tclose.kernels.compiler import find_failed_write, find_refusal, keeps_code
from tclose.runtime.interrupts import held_back
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.scratch import scratch_folder

N_ROWS = 1_500
DOCUMENT: dict[str, Any] = {
    "name": "warm-up",
    "attributes": {
        "patient_id": "identifier",
        "age": "quasi-identifier",
        "sex": "quasi-identifier",
        "zip": {"role": "quasi-identifier", "aggregate": "median"},
        "admission_date": "quasi-identifier",
        "length_of_stay": "quasi-identifier",
        "diagnosis_group": "quasi-identifier",
        "insurance_type": "quasi-identifier",
        "charge": "confidential",
    },
    "unlisted": "drop",
    "privacy": {"k": 5, "t": 0.2},
}
SEARCHED, MERGED = "method.refine=fast", "method.name=microaggregate-and-merge"
# What is released, each in a process: what takes longest to compile comes first. Everybody has one
# record in the table, so to count persons compiles no search beside the first one's.
CASES: dict[str, tuple[str, ...]] = {
    "the search": (SEARCHED,),
    "the clusters": ("method.refine=off", "attributes.patient_id=person"),
    "mergers": (MERGED, "method.refine=off"),
    "a category as confidential attribute": (
        "attributes.charge=non-confidential",
        "attributes.discharge_status=confidential",
        "method.refine=off",
    ),
}


def warm_up(progress: Progress) -> int:
    """Compile the kernels that most releases use; return how many kinds of releases have been made.

    Kernels that are on disk are not compiled again. Processes share what they have compiled.

    Raises
    ------
    OutputError
        There is no folder that compiled kernels could be kept in, and none that has them; or it
        cannot be written.
    LostError
        A process that compiles was ended.
    """
    from tclose.data.synthetic import write_microdata

    refusal = find_refusal()
    if refusal and not keeps_code():
        raise OutputError(refusal)
    if refusal:
        progress.warn(refusal)
    n_processes = min(count_processors(), len(CASES))
    with scratch_folder("warm-up") as folder:
        write_microdata(folder / "table.parquet", N_ROWS, 1)
        with (
            progress.following("compiling kernels", len(CASES)) as step,
            _start_processes(n_processes) as processes,
        ):
            with held_back():
                futures = [
                    processes.submit(_release, folder, number, list(overrides))
                    for number, overrides in enumerate(CASES.values())
                ]
            for number, future in enumerate(as_completed(futures), 1):
                refusal = future.result()
                if refusal:
                    raise OutputError(refusal)
                progress.info(f"kernels of {number} of {len(CASES)} kinds of releases are there")
                step()
    _calibrate(progress)
    return len(CASES)


@contextlib.contextmanager
def _start_processes(n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: at once, if it is left by an error or an interrupt."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, spawn, _make_short_lived) as processes:
        try:
            yield processes
        except BrokenProcessPool:
            raise LostError(
                "warm-up: a process that compiles was ended, most likely for want of memory, of "
                "which each takes some 1.2 GB; give more, or let fewer compile at once (`taskset "
                "-c 0 tclose warm-up`), and run again to go on from here"
            ) from None
        except BaseException:
            for child in list(processes._processes.values()):  # noqa: SLF001  # it has no other way
                child.terminate()
            processes.shutdown(cancel_futures=True)
            raise


def _make_short_lived() -> None:
    """Look for no garbage in this process, and end it without taking all it has apart.

    Both take seconds, with the millions of objects of a compiler. It also ends with the command
    that started it, however that ends.
    """
    gc.disable()
    atexit.register(os._exit, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _calibrate(progress: Progress) -> None:
    """Measure once how fast this machine is, by which runs and plans tell what they will take."""
    from tclose.assess.ahead.calibrate import calibrate

    with scratch_folder("plan") as scratch:
        calibrate(scratch, progress)


def _release(folder: Path, number: int, overrides: list[str]) -> str:
    """Make a release of the table in this process, in a folder of its own.

    Returns why what was compiled for it was not kept, or nothing.
    """
    from tclose.passes.microaggregate.search.compile_ahead import compile_pools, compile_search
    from tclose.passes.release import run_release
    from tclose.policy.policy import parse_policy
    from tclose.policy.yaml_values import quote_yaml

    paths = {"input": folder / "table.parquet", "output": folder / str(number)}
    places = [f"{section}.path={quote_yaml(str(path))}" for section, path in paths.items()]
    policy = parse_policy(DOCUMENT, places + overrides, source="of the warm-up")
    if SEARCHED in overrides:
        compile_search()
    if MERGED in overrides:  # while another process compiles the search
        compile_pools()
    run_release(policy, Progress("none", cautions=False))
    return find_failed_write()
