"""Settings of numba, in the environment, with which it compiles no kernels, or cannot be loaded."""

import os

from tclose.errors import UsageError


def check_settings() -> None:
    """Check them; to be called before numba is imported.

    Raises
    ------
    UsageError
        Names the variable.
    """
    if _read("NUMBA_DISABLE_JIT"):
        raise UsageError(
            "NUMBA_DISABLE_JIT: is set, so that numba compiles nothing, and tclose has no kernels "
            "without it; take it out of the environment"
        )
    n_threads = _read("NUMBA_NUM_THREADS")
    if n_threads is not None and n_threads < 1:
        raise UsageError(
            f"NUMBA_NUM_THREADS: {n_threads} is no number of threads; give one of 1 or more, or "
            "take it out of the environment"
        )


def _read(name: str) -> int | None:
    """Read a variable as numba does, which leaves out what is no whole number."""
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None
