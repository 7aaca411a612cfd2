"""Imports of libraries that would take settings from the working folder.

Others may have put files there, and those settings name code to import, files to write, or servers.
"""

import contextlib
import os
from collections.abc import Iterator

_HERE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


@contextlib.contextmanager
def away_from_working_folder() -> Iterator[None]:
    """Stand in the root folder within the block, as all threads then do: for imports alone."""
    here = os.open(".", _HERE)
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)
