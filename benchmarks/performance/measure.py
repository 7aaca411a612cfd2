"""Time and memory of a command with all the processes that it starts."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

# Asking a process what it holds of its own makes the kernel walk over its memory, and holds the
# process up meanwhile: at ten million records asking more often slows down what is measured.
SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Measured:
    """Wall seconds, and megabytes at the peak: of all processes, and of the largest."""

    seconds: float
    megabytes: float
    largest_megabytes: float


def measure(command: Sequence[str]) -> Measured:
    """Run a command to its end; raises if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    peak = [0.0, 0.0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - start
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{output.decode()}")
    return Measured(seconds, peak[0] / 1e6, peak[1] / 1e6)


def _watch(pid: int, peak: list[float]) -> None:
    """Sample what all processes hold of their own: shared pages count once, as ``uss``."""
    while psutil.pid_exists(pid):
        try:
            root = psutil.Process(pid)
            if root.status() == psutil.STATUS_ZOMBIE:
                return
            sizes = [_size(process) for process in (root, *root.children(recursive=True))]
        except psutil.Error:
            return
        peak[0] = max(peak[0], sum(sizes))
        peak[1] = max(peak[1], *sizes)
        time.sleep(SAMPLE_SECONDS)


def _size(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().uss)
    except psutil.Error:
        return 0.0
