"""Functions of the user, compiled in a process that has the kernels, are as numba has them."""

import subprocess
import sys

OF_USER = """
import tclose.kernels.compiler
import numba
import numpy as np
from numba import njit, objmode

@njit
def zipped(values):
    total = 0
    for i, (one, other) in enumerate(zip(values, values[1:])):
        total += i * one * other
    return total

@numba.jit(forceobj=True)
def of_objects(values):
    total = 0
    for value in values:
        total += value
    return total

@njit
def partly_of_objects(values):
    with objmode(found="int64"):
        found = 0
        for value in list(values):
            found += int(value)
    return found

@njit
def listed(values):
    typed = numba.typed.List()
    for value in values:
        typed.append(value)
    return typed[2] + len(typed)

for function in (zipped, of_objects, partly_of_objects, listed):
    print(function(np.arange(6)))
"""


def test_functions_of_the_user_compile() -> None:
    """Which iterate over structures, and which need to know where variables are alive."""
    command = [sys.executable, "-W", "ignore", "-c", OF_USER]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (ended.stdout.split(), ended.stderr) == (["130", "15", "15", "8"], "")
