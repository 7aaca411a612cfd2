"""Scratch folders with raw records: gone with their command, or with the next one if it was killed.

They are in one private folder of the user below TMPDIR, each locked by the process that works in
it. A lock ends with its process, however that ends, so what is not locked was left by a kill, and
any later command of the user removes it. Commands may have different folders for TMPDIR: each one
that was used is noted in the user's cache, where there is one.

Where others can write to TMPDIR, and its entries are not kept from them by the sticky bit (no
volume of Kubernetes has that), they can move the private folder away. What is in it has names that
they cannot guess, so they can put nothing in its place. Sockets have names that all can list, and
stand where nobody can move them, or nowhere.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from multiprocessing import util
from pathlib import Path
from typing import Literal, get_args

from tclose.errors import OutputError
from tclose.releases.repository.work_folders import cache_folder, check_temporary
from tclose.security.trusted_paths import TrustedFolder, UntrustedError, check_lasting, open_trusted

Purpose = Literal["input", "plan", "frontier", "audit", "attack", "intrude", "warm-up", "dask"]

# The last is of multiprocessing's folders.
_PREFIXES = tuple(f"{purpose}-" for purpose in (*get_args(Purpose), "pymp"))
_WITHOUT_LOCKS = (errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS)
_TRIES = 5
# A socket's path has at most 107 bytes, and its name in a folder of multiprocessing's takes 32.
_LONGEST = 75
_SHORT = Path("/tmp")  # noqa: S108 (the folder in it is the user's own, or refused)


def temporary_folder() -> Path:
    """The private folder of this user below TMPDIR."""
    return Path(tempfile.gettempdir()) / f"tclose-{os.geteuid()}"


@contextlib.contextmanager
def scratch_folder(purpose: Purpose) -> Iterator[Path]:
    """A folder that only this user can read, removed when the block ends, or by a later command.

    Parameters
    ----------
    purpose : what its name begins with

    Raises
    ------
    OutputError
        It cannot be made, or somebody else could reach it; TMPDIR is no folder to write in.
    """
    check_temporary()
    clear_scratch()
    with _locked(temporary_folder()) as above:
        folder = above.path / f"{purpose}-{secrets.token_hex(16)}"
        os.mkdir(folder.name, 0o700, dir_fd=above.descriptor)
        descriptor = _lock_entry(above, folder.name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)
        clear_scratch()


def place_sockets() -> bool:
    """Have multiprocessing keep its sockets where the next command removes what a kill leaves.

    False: there is no folder for them that others could not move away.
    """
    usual = temporary_folder()
    for above in (usual, _SHORT / usual.name):  # the second for a name that is too long for them
        if len(os.fsencode(above)) > _LONGEST:
            continue
        with contextlib.suppress(OutputError), _locked(above, lasting=True) as opened:
            before, tempfile.tempdir = tempfile.gettempdir(), str(above)
            try:
                folder = Path(util.get_temp_dir())
            finally:
                tempfile.tempdir = before
            if folder.parent == above:  # the first time; held as long as this process lives
                _lock_entry(opened, folder.name)
            check_lasting(folder)  # it may be from before
            return True
    return False


def clear_scratch() -> None:
    """Remove what commands of this user left that were killed; what living ones have stays."""
    for folder in dict.fromkeys((temporary_folder(), *_noted_folders())):
        with contextlib.suppress(OSError, UntrustedError), _open(folder, make=False) as opened:
            _clear(opened)
    _forget_missing()


def _clear(above: TrustedFolder) -> None:
    _lock(above.descriptor)
    dead = {name: _lock_entry(above, name) for name in above.names() if name.startswith(_PREFIXES)}
    fcntl.flock(above.descriptor, fcntl.LOCK_UN)
    for name, descriptor in dead.items():
        if descriptor is not None:
            shutil.rmtree(name, ignore_errors=True, dir_fd=above.descriptor)
            os.close(descriptor)
    with contextlib.suppress(OSError):  # others are in it, or begin just now
        fcntl.flock(above.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        above.path.rmdir()


def _lock_entry(above: TrustedFolder, name: str) -> int | None:
    """Descriptor of a folder whose lock was free; links are not followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=above.descriptor)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or a file system without locks: nobody can tell
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def _locked(path: Path, *, lasting: bool = False) -> Iterator[TrustedFolder]:
    """The folder of this user, made if need be; nobody clears it in the block."""
    try:
        _note(path)
        for _ in range(_TRIES):
            with _open(path, make=True, lasting=lasting) as opened:
                _lock(opened.descriptor)
                if path.exists() and path.stat().st_ino == os.fstat(opened.descriptor).st_ino:
                    yield opened
                    return  # else another command has just removed it
    except UntrustedError as error:
        raise OutputError(f"scratch folder {error}; remove it, or name another TMPDIR") from None
    except OSError as error:
        raise OutputError(
            f"scratch folder {path}: cannot be written ({error.strerror}); name another TMPDIR"
        ) from None
    raise OutputError(f"scratch folder {path}: is removed again and again; name another TMPDIR")


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise


@contextlib.contextmanager
def _open(path: Path, *, make: bool, lasting: bool = False) -> Iterator[TrustedFolder]:
    opened = open_trusted(path, make=make, lasting=lasting)
    try:
        yield opened
    finally:
        os.close(opened.descriptor)


@contextlib.contextmanager
def _notes(*, make: bool) -> Iterator[TrustedFolder]:
    """Open the folder in which used folders are noted."""
    cache = cache_folder()
    if cache is None:
        raise FileNotFoundError
    with _open(cache / "tclose" / "scratch", make=make) as opened:
        yield opened


def _note(path: Path) -> None:
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    with contextlib.suppress(OSError, UntrustedError), _notes(make=True) as notes:
        notes.write(name, os.fsencode(path))


def _noted_folders() -> list[Path]:
    with contextlib.suppress(OSError, UntrustedError), _notes(make=False) as notes:
        folders = [Path(os.fsdecode(notes.read(name))) for name in sorted(notes.names())]
        return [path for path in folders if path.name == temporary_folder().name]
    return []


def _forget_missing() -> None:
    with contextlib.suppress(OSError, UntrustedError), _notes(make=False) as notes:
        for name in notes.names():
            if not Path(os.fsdecode(notes.read(name))).exists():
                notes.remove(name)
