"""Releases in a folder of a local or shared file system.

What a run is about to make visible is prepared in ``.work/prepared-<token>/`` and moved from there.
Whoever takes its lease over removes that folder first, so nothing can be moved from it any more. A
note in ``.begun/`` says that a release is about to be moved, until CURRENT is moved to it: of a run
that is stopped in between, the next one to take the lease moves it.
"""

import contextlib
import errno
import fcntl
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tclose.data.places.atomic_files import force_to_disk, write_atomically
from tclose.data.places.locations import INTERNAL
from tclose.data.places.removal import REMOVED
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import BusyError, OutputError
from tclose.releases.stores.folder_entries import (
    BEGUN,
    BELIEVED,
    COMMITTING,
    CURRENT,
    WORK,
    check_entries,
    read_believed,
)
from tclose.releases.stores.store import Check, conflict, lost_lease

ID = re.compile(r"[0-9a-f]{20}")
LOCK = ".lock"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PREPARED = "prepared-"
_TRIES = 5


def name_machine() -> str:
    """Return a name that two processes share only if they run on one boot of one kernel."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


def _find_inode(folder: Path) -> int | None:
    """The number by which a folder is the same wherever it is moved; None where there is none."""
    try:
        return folder.stat().st_ino
    except FileNotFoundError:
        return None


@dataclass(frozen=True)
class FolderStore:
    """The folder of a name."""

    root: Path

    @property
    def _work(self) -> Path:
        return self.root / WORK

    @contextlib.contextmanager
    def lock(self) -> Iterator[str | None]:
        """Hold the folder's lock, which ends with the process; folders that stay empty go again.

        A lock says that no other run of this machine is alive. It may say nothing of others, which
        is why there are leases.
        """
        created = self._make_folders()
        check_entries(self.root)
        had_key = self._key.exists()
        path = self.root / LOCK
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise OutputError(f"output {path}: cannot be written ({error.strerror})") from None
        try:
            machine = name_machine() if self._lock(descriptor, path) else None
            try:
                yield machine
            finally:  # not where another run has the lock, which may have nothing else yet
                self._clear_empty(created, had_key=had_key)
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int, path: Path) -> bool:
        """Return whether the lock was acquired; it is not where the file system has no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_ino != path.stat().st_ino:
                raise BlockingIOError  # a run that ends has just removed the lock
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS):
                return False
            raise BusyError(
                f"another run is working on the releases of {self.root.name!r}; wait for it to end"
            ) from None
        return True

    def _make_folders(self) -> list[Path]:
        try:
            missing = [path for path in (self.root, *self.root.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir(mode=0o755, exist_ok=True)
            if not self.root.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        except OSError as error:
            raise OutputError(
                f"output {self.root.parent}: cannot be written ({error.strerror}); choose another "
                "output.path or give write permission"
            ) from None
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise OutputError(
                f"output {self.root}: cannot be written (no permission, or a file system that is "
                "read-only)"
            )
        return missing

    @property
    def _key(self) -> Path:
        return self.root.parent / ".release-key"

    def _clear_empty(self, created: list[Path], *, had_key: bool) -> None:
        """Remove what was made for this run if it leaves nothing: lock, key and folders."""
        with contextlib.suppress(OSError):
            if self.root in created and [path.name for path in self.root.iterdir()] == [LOCK]:
                (self.root / LOCK).unlink()
                if not had_key and not any(self.root.parent.glob(f"*/{LOCK}")):
                    self._key.unlink(missing_ok=True)
                for folder in created:
                    folder.rmdir()

    def private(self, name: str) -> Path:
        """A hidden file, or a file of a hidden folder."""
        return self.root / f".{name}"

    def names(self, folder: str) -> list[str]:
        """Names of the files of a hidden folder; drafts are none."""
        try:
            names = sorted(path.name for path in self.private(folder).iterdir())
        except FileNotFoundError:
            return []
        return [name for name in names if not name.startswith(".")]

    def read(self, name: str) -> bytes | None:
        """Content of a private file; None where there is none."""
        path = self.private(name)
        try:
            return read_believed(path) if name in BELIEVED else read_bounded(path, follow=True)
        except FileNotFoundError:
            return None
        except MalformedError as error:
            raise OutputError(f"{path}: {error}; remove it or put the right file there") from None

    def create(self, name: str, data: bytes) -> bool:
        """Write a draft and link it: it appears whole, and never over another."""
        path = self.private(name)
        for _ in range(_TRIES):
            draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            try:
                if path.parent != self.root:
                    path.parent.mkdir(mode=0o700, exist_ok=True)
                write_atomically(draft, data)
                os.link(draft, path)
            except FileExistsError:
                return False
            except FileNotFoundError:  # the folder was found empty, and removed, by another run
                continue
            else:
                return True
            finally:
                draft.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written; see who else writes there")

    def renew(self, name: str, data: bytes, mine: bytes) -> bool:
        """Write in place: a file that was removed is not made again."""
        try:
            descriptor = os.open(self.private(name), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            is_mine = os.pread(descriptor, len(mine), 0) == mine
            if is_mine:
                os.pwrite(descriptor, data, 0)
        finally:
            os.close(descriptor)
        return is_mine

    def write(self, name: str, data: bytes) -> None:
        """Write a private file in one step, to stay."""
        path = self.private(name)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(path, data)
        force_to_disk(path.parent)

    def append(self, name: str, line: bytes) -> None:
        """Add a line, on disk before this returns; one that a crash has cut stays a line."""
        path = self.private(name)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        with os.fdopen(descriptor, "r+b") as stream:
            if stream.seek(0, os.SEEK_END):
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.write(b"\n")
            stream.write(line + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        force_to_disk(self.root)

    def remove(self, name: str) -> None:
        """Remove a private file, and its folder if that is empty then."""
        path = self.private(name)
        path.unlink(missing_ok=True)
        if path.parent != self.root:
            with contextlib.suppress(OSError):
                path.parent.rmdir()

    def ids(self) -> list[str]:
        """Folders that have the name of a release, whatever is in them."""
        try:
            return sorted(path.name for path in self.root.iterdir() if self.has(path.name))
        except OSError as error:
            raise OutputError(f"{self.root}: cannot be read ({error.strerror})") from None

    def has(self, release_id: str) -> bool:
        """Return whether there is such a folder, which no link leads to."""
        path = self.root / release_id
        return bool(ID.fullmatch(release_id)) and path.is_dir() and not path.is_symlink()

    def staging(self, token: str, release_id: str, work: Path) -> Path:
        """Return a folder on the file system of the release, so that it can be moved."""
        del work
        return self._prepare(token) / release_id

    def _prepare(self, token: str) -> Path:
        folder = self._work / f"{_PREPARED}{token}"
        for path in (self._work, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o700)
        return folder

    def fence(self, token: str, *, took_over: bool) -> list[str]:
        """Remove what others had prepared: a rename, so that it is gone in one step."""
        del took_over
        for folder in self._work.glob(f"{_PREPARED}*"):
            if folder.name != f"{_PREPARED}{token}":
                self._delete(folder)
        for name in ("claims", COMMITTING, BEGUN, "rewriting"):
            for draft in self.private(name).glob(".*"):
                draft.unlink(missing_ok=True)
        finished = list(self._finish(token))
        with contextlib.suppress(OSError):
            self._work.rmdir()
        return finished

    def _finish(self, token: str) -> Iterator[str]:
        """Move CURRENT to what others had published; yield which releases these are."""
        for name in self.names(BEGUN):
            release_id, _, holder = name.partition("-")
            if holder == token:
                continue
            if self.has(release_id):
                self.point(release_id, token, lambda: None)
                yield release_id
            self.remove(f"{BEGUN}/{name}")

    def abandon(self, token: str) -> None:
        """Remove what the holder of this lease has prepared."""
        folder = self._work / f"{_PREPARED}{token}"
        if folder.exists():
            self._delete(folder)

    def _delete(self, folder: Path) -> None:
        aside = self._work / f"{REMOVED}{folder.name}-{secrets.token_hex(4)}"
        with contextlib.suppress(FileNotFoundError):
            folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def commit(self, staging: Path, release_id: str, token: str, check: Check) -> None:
        """Move the staged folder to its place; a damaged release there is put aside.

        Aside is beside what was staged, so that a run whose lease was taken over after its check
        moves nothing away either.
        """
        place = self.root / release_id
        aside = staging.with_name(f"damaged-{secrets.token_hex(4)}")
        note, number = f"{BEGUN}/{release_id}-{token}", _find_inode(staging)
        self.write(note, b"")
        try:
            check()
            self._move(staging, place, aside)
        except BaseException:
            if number is None or _find_inode(place) != number:  # it was not moved
                self.remove(note)
            raise

    def _move(self, staging: Path, place: Path, aside: Path) -> None:
        try:
            if place.is_dir() and not place.is_symlink():
                place.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
            staging.rename(place)
        except FileNotFoundError:
            raise lost_lease(self.root.name) from None
        except PermissionError as error:
            raise OutputError(
                f"{place}: is in the way, and cannot be moved ({error.strerror}); remove it"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise conflict(place) from None
        force_to_disk(self.root)

    def point(self, release_id: str, token: str, check: Check) -> None:
        """Move CURRENT, in one step."""
        self._replace(self.root / CURRENT, f"{release_id}\n".encode(), token, check)
        self.remove(f"{BEGUN}/{release_id}-{token}")

    def attach(self, release_id: str, name: str, data: bytes, token: str, check: Check) -> None:
        """Put a file into a release, in one step."""
        mode = 0o600 if name.startswith(f"{INTERNAL}/") else 0o644
        self._replace(self.root / release_id / name, data, token, check, mode)

    def _replace(
        self, path: Path, data: bytes, token: str, check: Check, mode: int = 0o644
    ) -> None:
        """Prepare a file, by default one that others may read, and move it to its place."""
        folder = self._prepare(token)
        draft = folder / path.name
        write_atomically(draft, data, mode=mode)
        check()
        try:
            draft.replace(path)
        except FileNotFoundError:
            raise lost_lease(self.root.name) from None
        force_to_disk(path.parent)
        self._leave(folder)

    def _leave(self, folder: Path) -> None:
        """Remove a folder of prepared things, and that of working files, if they are empty."""
        for emptied in (folder, self._work):
            with contextlib.suppress(OSError):
                emptied.rmdir()

    def delete_release(self, release_id: str, token: str, check: Check) -> None:
        """Move a release among what is prepared, then to what is removed, and delete it there."""
        place = self.root / release_id
        try:
            folder = self._prepare(token)
            check()
            place.rename(folder / release_id)
            force_to_disk(self.root)
            (folder / release_id).rename(self._work / f"{REMOVED}{release_id}")
        except FileNotFoundError:
            raise lost_lease(self.root.name) from None
        except OSError as error:
            raise OutputError(f"{place}: cannot be removed ({error.strerror})") from None
        self._leave(folder)
        self.clear_leftovers(None, check)

    def has_leftovers(self) -> bool:
        """Return whether anything is prepared, or was taken off the repository and not deleted."""
        return any(next(self._work.glob(f"{kind}*"), None) for kind in (_PREPARED, REMOVED))

    def clear_leftovers(self, keep: str | None, check: Check) -> None:
        """Delete what was taken off the repository, by this prune or by one that was stopped."""
        del keep, check
        for folder in self._work.glob(f"{REMOVED}*"):
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise OutputError(f"{folder}: cannot be deleted; remove it by hand")
