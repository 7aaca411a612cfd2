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


def check_ready_folder() -> None:
    """Refuse a name of no folder before a command does anything.

    Raises
    ------
    UsageError
    """
    missing = find_missing()
    if missing:
        raise UsageError(missing)
