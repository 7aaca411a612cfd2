"""The folder of kernels that were compiled ahead, as an image has one; it is only read."""

import os
from pathlib import Path

from tclose.errors import UsageError

READY = "TCLOSE_KERNELS"  # the variable that names it


def find_missing() -> str:
    """Return that the folder is not there, and what to do; empty if it is, or none is named."""
    home = os.environ.get(READY)
    if not home or Path(home).is_dir():
        return ""
    return (
        f"{READY} {home}: is no folder, so no kernels that were compiled ahead are read; correct "
        f"it, or take {READY} out of the environment"
    )


def find_other_kernels(digest: str) -> str:
    """Return that the folder has no kernels of these sources, and what to do; empty if it has.

    Parameters
    ----------
    digest : name of the folder of these sources and of what compiles them, see
        `tclose.kernels.compiler`
    """
    home = os.environ.get(READY)
    if not home or not Path(home).is_dir() or Path(home, digest).exists():
        return ""
    return (
        f"{READY} {home}: has no kernels of this version of tclose, its compiler, numpy and "
        "Python, so none that were compiled ahead are read; fill a new folder by "
        f"`env -u {READY} NUMBA_CACHE_DIR=FOLDER tclose warm-up` and name that one, or take "
        f"{READY} out of the environment"
    )


def check_ready_folder() -> None:
    """Refuse a name of no folder before a command does anything.

    Raises
    ------
    UsageError
    """
    missing = find_missing()
    if missing:
        raise UsageError(missing)
