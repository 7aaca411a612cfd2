"""Removal of folders that a kill may cut short."""

import contextlib
import os
import secrets
import shutil
import stat
from pathlib import Path

REMOVED = "removed-"  # how the name of a folder begins that is being deleted


def remove_folder(place: Path, within: int | None = None) -> None:
    """Rename a folder, then delete it with all that is in it, as far as that can be done.

    So one that a kill leaves half deleted is known by its name, whatever is left in it.
    ``within``: descriptor of the folder that the place is relative to.
    """
    with contextlib.suppress(OSError):
        status = os.stat(place, dir_fd=within, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and not place.name.startswith(REMOVED):
            aside = place.with_name(f"{REMOVED}{place.name}-{secrets.token_hex(4)}")
            os.rename(place, aside, src_dir_fd=within, dst_dir_fd=within)
            place = aside
    shutil.rmtree(place, ignore_errors=True, dir_fd=within)
