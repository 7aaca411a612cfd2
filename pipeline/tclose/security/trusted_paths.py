"""Folders and files that nobody else can have written: opened once, checked by descriptor.

Code, keys and notes are believed for where they are. That holds only where nobody but root and this
user can have put them there, so every folder from the root of the file system on is looked at:

- a folder of root or of this user that others cannot write to keeps what it has, links too;
- in one with the sticky bit, as ``/tmp``, entries of this user cannot be replaced by others;
- in any other one an entry is believed only if it is a folder of root's or of this user's, no
  link, that others cannot write to: others can move it away, but not make another.

The last folder, and every file that is read, has to be root's or this user's and closed to others.
Nothing is looked up twice: what was checked is what is used, whatever is renamed meanwhile.

Working files are used by path, by many processes: for them the last kind of folder will not do.
There, a group with no other member is none of the others.
"""

import contextlib
import errno
import grp
import os
import pwd
import secrets
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40
_ACL = "system.posix_acl_access"  # gives rights to users that the mode does not tell of
_WALK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Nothing waits for whoever opens the other end of a FIFO.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UntrustedError(Exception):
    """Somebody else can have written what is at a place; ``reason`` says why."""

    def __init__(self, place: Path, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


@dataclass(frozen=True)
class TrustedFolder:
    """An open folder that only root or this user can write to."""

    path: Path
    descriptor: int

    def read(self, name: str) -> bytes:
        """Content of a file.

        Raises
        ------
        UntrustedError
            Somebody else can have written it.
        OSError
            It cannot be read.
        """
        with _open_file(self.path / name, self.descriptor) as stream:
            _check_ours(os.fstat(stream.fileno()), self.path / name)
            return stream.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file that only this user can read, and move it to its place whole."""
        draft = f"{name}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(draft, flags, 0o600, dir_fd=self.descriptor)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(draft, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        finally:
            with contextlib.suppress(OSError):
                self.remove(draft)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self.descriptor)

    def names(self) -> list[str]:
        """Names of what is in it; none where it was removed meanwhile."""
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(self.descriptor)  # noqa: PTH208  # of a descriptor
        return []


def read_own(path: Path, owners: Collection[int] = (), *, closed: int = _WRITABLE) -> bytes:
    """Content of a file that belongs to this user, or one of ``owners``.

    Parameters
    ----------
    closed : bits that its mode must not have, those by which others can write to it by default

    Raises
    ------
    UntrustedError
        It is not a regular file, another user's, or open to others.
    OSError
        It cannot be read.
    """
    with _open_file(path) as stream:
        status = os.fstat(stream.fileno())
        if status.st_uid not in {os.geteuid(), *owners}:
            raise UntrustedError(path, f"belongs to another user (id {status.st_uid})")
        if status.st_mode & closed:
            mode = stat.S_IMODE(status.st_mode)
            raise UntrustedError(path, f"is open to others (mode {mode:04o})")
        return stream.read()


def _open_file(path: Path, folder: int | None = None) -> BinaryIO:
    """Open a regular file, in the folder of a descriptor if there is one."""
    try:
        descriptor = os.open(path if folder is None else path.name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UntrustedError(path, "is a link") from None
        if error.errno == errno.ENXIO:
            raise UntrustedError(path, "is not a regular file") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UntrustedError(path, "is not a regular file")
    return os.fdopen(descriptor, "rb")


def open_trusted(path: Path, *, make: bool = False, lasting: bool = False) -> TrustedFolder:
    """Open a folder; ``make``: folders that are missing are made, for this user alone.

    ``lasting``: nobody else can move it away either, so that it may be used by its path.

    Raises
    ------
    UntrustedError
        Somebody else can have written it, or what leads to it.
    OSError
        It is not there, or cannot be made or read.
    """
    with contextlib.closing(_Walk(lasting=lasting)) as walk:
        walk.go(path.absolute(), make=make)
        _check_ours(os.fstat(walk.here), path)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        return TrustedFolder(path, os.open(".", flags, dir_fd=walk.here))


def check_lasting(path: Path, owners: Collection[int] = ()) -> None:
    """See that nobody else can move or replace what this user makes in a folder.

    Parameters
    ----------
    owners : users that may, besides root and this one

    Raises
    ------
    UntrustedError
        Somebody else can, there or in a folder above.
    OSError
        It is not there.
    """
    with contextlib.closing(_Walk(owners, lasting=True)) as walk:
        walk.go(path.absolute(), make=False)
        walk.check_here()


def check_closed(folder: Path) -> None:
    """See that nobody else can put a file into a folder; those above it do not matter.

    Raises
    ------
    UntrustedError
        It belongs to another user, or others can write to it.
    OSError
        It is not there.
    """
    status = folder.stat()
    owners = {0, os.geteuid(), Path("/").stat().st_uid}  # the system's, in a container too
    if status.st_uid not in owners:
        raise _another(folder, status)
    if status.st_mode & _WRITABLE and not _is_private(folder, status, owners):
        raise _writable(folder, status)


class _Walk:
    """One step at a time from the root to a folder, each from the one before that is still open."""

    def __init__(self, owners: Collection[int] = (), *, lasting: bool) -> None:
        self.here, self.place = os.open("/", _WALK), Path("/")
        # In a container of an unprivileged user the system's folders may be another one's.
        self._owners = {0, os.geteuid(), os.fstat(self.here).st_uid, *owners}
        self._links, self._lasting = 0, lasting

    def close(self) -> None:
        """Close the folder that was reached."""
        os.close(self.here)

    def go(self, path: Path, *, make: bool) -> None:
        """Go on to an absolute path."""
        names = list(reversed(path.parts))
        while names:
            names += reversed(self._step(names.pop(), make=make))

    def _step(self, name: str, *, make: bool) -> tuple[str, ...]:
        """Enter a folder; of a link, the way that is still to go."""
        if name in (os.sep, ".."):
            self._enter(name, os.open(name, _WALK, dir_fd=self.here))
            return ()
        if self._lasting:
            self.check_here()
        above, status = os.fstat(self.here), self._look(name, make=make)
        if self._lasting and not self._keeps(above, status.st_uid):
            raise _another(self.place / name, status)
        if stat.S_ISLNK(status.st_mode):
            self._links += 1
            if self._links > _MAX_LINKS or not self._keeps(above, status.st_uid):
                raise UntrustedError(self.place / name, "is a link that others can have made")
            return Path(os.readlink(name, dir_fd=self.here)).parts
        self._enter(name, os.open(name, _WALK, dir_fd=self.here))
        entered = os.fstat(self.here)
        if not self._keeps(above, entered.st_uid):
            _check_ours(entered, self.place)
        return ()

    def check_here(self) -> None:
        """See that nobody else can move what this user has in the folder that was reached."""
        here = os.fstat(self.here)
        if here.st_uid not in self._owners:
            raise _another(self.place, here)
        if not self._keeps(here, os.geteuid()):
            raise _writable(self.place, here)

    def _look(self, name: str, *, make: bool) -> os.stat_result:
        if make:
            with contextlib.suppress(FileNotFoundError):
                return os.stat(name, dir_fd=self.here, follow_symlinks=False)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.here)
        return os.stat(name, dir_fd=self.here, follow_symlinks=False)

    def _keeps(self, above: os.stat_result, owner: int) -> bool:
        """Return whether only root or this user can have put a user's entry into a folder."""
        if above.st_uid not in self._owners:
            return False
        if not above.st_mode & _WRITABLE:
            return True
        if self._lasting and _is_private(self.place, above, self._owners):
            return True
        return bool(above.st_mode & stat.S_ISVTX) and owner in self._owners

    def _enter(self, name: str, descriptor: int) -> None:
        os.close(self.here)
        self.here = descriptor
        self.place = self.place.parent if name == ".." else self.place / name


def _check_ours(status: os.stat_result, place: Path) -> None:
    """See that a file or folder is root's or this user's, and that nobody else can write to it."""
    if status.st_uid not in (0, os.geteuid()):
        raise _another(place, status)
    if status.st_mode & _WRITABLE:
        raise _writable(place, status)


def _another(place: Path, status: os.stat_result) -> UntrustedError:
    return UntrustedError(place, f"belongs to another user (id {status.st_uid})")


def _writable(place: Path, status: os.stat_result) -> UntrustedError:
    mode = stat.S_IMODE(status.st_mode)
    return UntrustedError(place, f"can be written to by others (mode {mode:04o})")


def _is_private(place: Path, status: os.stat_result, owners: Collection[int]) -> bool:
    """Return whether those who can write to a folder are one group, with no other member."""
    if status.st_mode & stat.S_IWOTH or (hasattr(os, "listxattr") and _ACL in os.listxattr(place)):
        return False
    return _has_no_others(status.st_gid, owners)


def _has_no_others(group: int, owners: Collection[int]) -> bool:
    """Return whether nobody else is known to be in a group.

    Not every system lists whose own group it is. An empty list is believed where the group has the
    name of its user, and where it has no entry at all, as that of a volume in a container.
    """
    try:
        entry = grp.getgrgid(group)
    except KeyError:
        return True
    ours = set()
    for owner in owners:
        with contextlib.suppress(KeyError):
            ours.add(pwd.getpwuid(owner).pw_name)
    members = {user.pw_name for user in pwd.getpwall() if user.pw_gid == group} | {*entry.gr_mem}
    return members <= ours and (bool(members) or entry.gr_name in ours)
