"""Private working folders of this machine, for releases whose storage has no room for them.

Working files hold records, so the folder and those above it that are made for it belong to the
user alone, and one that does not is refused.
"""

import hashlib
import os
import secrets
import tempfile
from pathlib import Path

from tclose.data.places.locations import Location, is_utf8, show_name
from tclose.errors import OutputError
from tclose.releases.stores.folder_entries import find_owners
from tclose.releases.stores.store import Store
from tclose.security.trusted_paths import UntrustedError, check_lasting

_DIGITS = 16
_NOTE = "work-path"


def read_note(store: Store) -> Path | None:
    """Read the working folder noted by the last run of a name, which may have crashed."""
    work_path, _ = _read(store)
    return work_path


def read_token(store: Store, work_path: Path) -> str:
    """Read by what the last run told its folders there from those of others; empty: by nothing."""
    noted, token = _read(store)
    return token if noted == work_path else ""


def _read(store: Store) -> tuple[Path | None, str]:
    token, slash, path = (store.read(_NOTE) or b"").decode().partition("/")
    return (Path(slash + path) if slash else None), token


def draw_token() -> str:
    """Draw what tells the folders of one output folder from those of any other."""
    return secrets.token_hex(_DIGITS // 2)


def write_note(store: Store, work_path: Path | None, token: str = "") -> None:
    """Note that for commands that have no policy at hand; nothing where the policy says nothing."""
    if work_path is not None:
        store.write(_NOTE, f"{token}{work_path}".encode())
    elif store.read(_NOTE) is not None:
        store.remove(_NOTE)


def work_folders(
    work_path: Path | None, output: Location, name: str, token: str = ""
) -> tuple[Path, ...]:
    """The private folders, each in the one before: the last one is for the runs of a name.

    They are below the folder asked for, which is the user's affair, or in the user's cache, or in
    TMPDIR where there is none. ``token``: of the output folder, as that of another machine may have
    the same path, and share the folder asked for; none of a bucket, nor before there were any.
    """
    digest = hashlib.sha256(f"{token}{output}".encode()).hexdigest()[:_DIGITS]
    above = work_path.absolute() if work_path is not None else _usual_folder()
    folder = above / f"tclose-{digest}"
    own = (folder, folder / name)
    return own if work_path is not None else (above, *own)


def _usual_folder() -> Path:
    cache = cache_folder()
    if cache is not None:
        return cache / "tclose" / "work"
    check_temporary()
    return Path(tempfile.gettempdir()) / f"tclose-{os.getuid()}"


def check_temporary() -> None:
    """Refuse a TMPDIR that cannot be written: Python would take another folder, and not say so.

    Neither can one be used whose path is not UTF-8, which the records' files need.

    Raises
    ------
    OutputError
        Names it.
    """
    named = os.environ.get("TMPDIR")
    if not named:
        return
    if not is_utf8(named):
        raise OutputError(
            f"TMPDIR {show_name(named)}: its path is not UTF-8; name another folder, or none for "
            "the system's own"
        )
    try:
        with tempfile.TemporaryFile(dir=named) as file:
            file.write(b"blat")  # as Python tries it
    except OSError as error:
        raise OutputError(
            f"TMPDIR {named}: cannot be written ({error.strerror}); name a folder in which this "
            "user can write, or none for the system's own"
        ) from None


def cache_folder() -> Path | None:
    """The user's cache, where there is one or one can be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
    is_usable = cache.is_absolute() and os.access(existing, os.W_OK | os.X_OK)
    return cache if is_usable else None


def open_folder(folder: Path) -> None:
    """Make a folder, readable by its owner only.

    Raises
    ------
    OutputError
        It cannot be made, is somebody else's, or is where somebody else could move it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        check_lasting(folder.parent, find_owners(folder.parent))
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                raise _not_own(folder)
            os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)
    except UntrustedError as error:
        raise OutputError(
            f"working files {folder}: {error.place} {error.reason}, so that somebody else could "
            "put others in their place; `chmod go-w` it, or name a folder of your own, in no "
            "shared one, as engine.work_path"
        ) from None
    except OSError as error:
        if folder.is_symlink():
            raise _not_own(folder) from None
        raise OutputError(
            f"working files {folder}: cannot be written ({error.strerror}); choose another "
            "engine.work_path or give write permission"
        ) from None


def _not_own(folder: Path) -> OutputError:
    return OutputError(f"working files {folder}: is not this user's own folder; remove it")
