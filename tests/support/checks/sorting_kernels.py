"""Two kernels that sort: of the library's function for it each has a kind of its own.

``sorting_kernels N NAME...`` compiles N other functions, then calls the kernels of these names, one
after the other, and prints what they return.
"""

import sys
from typing import Any

import numba
import numpy as np

from tclose.kernels.compiler import kernel


@kernel
def ascending(values: Any) -> Any:
    """The values in ascending order."""
    return np.sort(values)


@kernel
def positions(values: Any) -> Any:
    """The positions of the values in ascending order."""
    return np.argsort(values)


if __name__ == "__main__":
    values = np.arange(40)[::-1].copy() + 1_000
    for n in range(int(sys.argv[1])):
        numba.njit(lambda n=n: n)()
    for name in sys.argv[2:]:
        sys.stdout.write(f"{globals()[name](values).tolist()}\n")
