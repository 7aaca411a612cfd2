"""Memory that nothing uses any more goes back to the system, instead of staying with allocators."""

import ctypes

import pyarrow as pa


def free_memory() -> None:
    """Give back what pyarrow's pool and the C library keep for later.

    Both keep about as much as the largest table took, which the next pass may need elsewhere.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
