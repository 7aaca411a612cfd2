"""Where compiled kernels are kept: commands with a home of their own use those that there are."""

import os
from pathlib import Path


def kernel_cache() -> dict[str, str]:
    """The environment variable that names the folder; it holds no data, and takes long to fill."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    usual = str(cache / "tclose" / "kernels")
    return {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", usual)}
