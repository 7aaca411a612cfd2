"""Time and memory of a command with all the processes that it starts."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import psutil

# Asking a process what it holds of its own makes the kernel walk over its memory, and holds the
# process up meanwhile: asking more often slows down what is measured, and so does asking those that
# map much, which are left alone for so many times as long as it took (of a processor: on a busy
# machine the watcher's own waiting says nothing of what is watched).
SAMPLE_SECONDS, TIMES_LEFT_ALONE = 0.1, 50


@dataclass(frozen=True)
class Measured:
    """Wall seconds, and megabytes at the peak: of all processes, and of the largest."""

    seconds: float
    megabytes: float
    largest_megabytes: float


def measure(command: Sequence[str]) -> Measured:
    """Run a command to its end and watch its memory; ends this process if it fails."""
    peak = [0.0, 0.0]
    start = time.perf_counter()
    process = _start(command)
    watcher = threading.Thread(target=_watch, args=(process.pid, peak))
    watcher.start()
    _wait(process)
    seconds = time.perf_counter() - start
    watcher.join()
    return Measured(seconds, peak[0] / 1e6, peak[1] / 1e6)


def time_command(command: Sequence[str]) -> float:
    """Wall seconds of a command that nobody watches; ends this process if it fails."""
    start = time.perf_counter()
    _wait(_start(command))
    return time.perf_counter() - start


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _wait(process: subprocess.Popen[bytes]) -> None:
    output, _ = process.communicate()
    if process.returncode:
        command = " ".join(cast("Sequence[str]", process.args))
        sys.exit(f"{command} failed:\n{output.decode()}")


def _watch(pid: int, peak: list[float]) -> None:
    """Sample what all processes hold of their own: shared pages count once, as ``uss``."""
    while psutil.pid_exists(pid):
        start = time.thread_time()
        try:
            root = psutil.Process(pid)
            if root.status() == psutil.STATUS_ZOMBIE:
                return
            sizes = [_size(process) for process in (root, *root.children(recursive=True))]
        except psutil.Error:
            return
        peak[0] = max(peak[0], sum(sizes))
        peak[1] = max(peak[1], *sizes)
        spent = time.thread_time() - start
        time.sleep(max(SAMPLE_SECONDS, TIMES_LEFT_ALONE * spent))


def _size(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().uss)
    except psutil.Error:
        return 0.0
