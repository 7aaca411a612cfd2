"""Checks of the entries of an output folder before they are trusted, moved or removed.

An output folder may be one that others can write to as well. One user makes all releases of it: the
release key and the note of where working files are have to be that user's, closed to others, and
hidden folders no links, or somebody else would choose what is believed and what is removed.
"""

import contextlib
import os
import stat
from pathlib import Path

from tclose.errors import ForbiddenError, OutputError
from tclose.security.trusted_paths import UntrustedError, read_own

WORK = ".work"
CURRENT = "CURRENT"
COMMITTING = "committing"
BEGUN = "begun"
BELIEVED = ("release-key", "work-path")
_FOLDERS = (WORK, ".claims", f".{COMMITTING}", f".{BEGUN}", ".failed", ".rewriting")
_OPEN = stat.S_IRWXG | stat.S_IRWXO
_ONE_USER = (
    "one user makes all releases of an output folder: run as that user, or name another output.path"
)


def check_entries(root: Path) -> None:
    """See that what a run works in, and moves, is what tclose would have made.

    Raises
    ------
    OutputError
        A hidden folder is none, a link or another user's; CURRENT is no file.
    """
    owners = find_owners(root)
    for name in _FOLDERS:
        path = root / name
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
                raise OutputError(f"{path}: is not this user's own folder; remove it")
    current = root / CURRENT
    if current.is_symlink() or (current.exists() and not current.is_file()):
        raise OutputError(f"{current}: is not a regular file; remove it, then run again")


def read_believed(path: Path) -> bytes:
    """Content of a file that nobody but the user, or the owner of its folder, can know or write.

    Raises
    ------
    FileNotFoundError
    ForbiddenError
        It cannot be read.
    OutputError
        Somebody else can write it, or it is another user's.
    """
    try:
        return read_own(path, find_owners(path.parent), closed=_OPEN)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ForbiddenError(f"{path}: cannot be read ({error.strerror}); {_ONE_USER}") from None
    except UntrustedError as error:
        raise OutputError(
            f"{error}; others may know it, or have put it there. If nobody did, give it to this "
            "user and `chmod 600` it; if somebody may have, release into another folder; and "
            f"{_ONE_USER}"
        ) from None


def find_owners(folder: Path) -> set[int]:
    """Return the users whose private files are trusted: this user; for root, also the owner."""
    user = os.geteuid()
    return {user} if user else {user, folder.stat().st_uid}
