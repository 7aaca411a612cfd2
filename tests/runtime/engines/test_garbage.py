"""Processes of tclose's own: rarely collected, and at once gone when they end."""

import subprocess
import sys

PROGRAM = """
import atexit, gc
from tclose.runtime.engines.garbage import tune_gc
tune_gc()
print(gc.isenabled(), gc.get_threshold()[0])
class Loud:
    def __del__(self):
        print("collected")
cycle = Loud()
cycle.itself = cycle
atexit.register(print, "asked first")
del cycle
"""


def run(program: str) -> list[str]:
    """Lines that a program prints in a process of its own."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_garbage_is_collected_rarely_and_left_when_the_process_ends():
    assert run(PROGRAM) == ["True 1000000", "asked first"]


def test_without_it_all_is_collected_once_more():
    assert run(PROGRAM.replace("\ntune_gc()\n", "\n"))[-1] == "collected"


def test_what_a_start_made_is_not_looked_at_again():
    settled = PROGRAM.replace("import tune_gc", "import end_start, tune_gc").replace(
        "\ntune_gc()\n", "\ntune_gc()\nend_start()\n"
    )
    frozen = settled.replace("print(gc.isenabled()", "print(gc.get_freeze_count() > 0")
    assert run(frozen) == ["True 100000", "asked first"]


def test_process_of_the_user_keeps_its_own_thresholds():
    program = PROGRAM.replace("tune_gc", "end_start")
    [usual] = run("import gc; print(gc.get_threshold()[0])")
    assert run(program)[0] == f"True {usual}"
