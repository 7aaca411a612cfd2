"""Working files of a run: private, typed, checked by digest, gone after success.

What passes hand over are artifacts: values, and files that a class of `arrays` reads and writes.
Each task leaves its files and, last, a checkpoint that holds its result, the digests of the files
and the versions of them all. A task counts as done only if the checkpoint and every file are
intact, so a run that was killed goes on from there, and a piece that was damaged or deleted is made
again. Values are JSON of a declared type and version (see `codec`): workers share this storage, and
reading it runs no code.
"""

import contextlib
import functools
import hashlib
import json
import secrets
import threading
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tclose.data.places.atomic_files import file_digest, write_atomically
from tclose.data.places.removal import remove_folder
from tclose.errors import OutputError
from tclose.runtime.artifacts.codec import decode, encode
from tclose.security.trusted_paths import UntrustedError, read_own

FORMAT = 1  # of checkpoints

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F")


@dataclass(frozen=True)
class Artifact(Generic[T_co]):
    """A value that passes hand over: its name on disk, its declared type, the version of its form.

    What was written in another version is made again; that of a task's result has those of its
    files.
    """

    name: str
    type: type[T_co]
    version: int | str = 1


@dataclass(frozen=True)
class FileArtifact(Generic[F]):
    """A file that every task of a name may leave, or several that are told apart by numbers.

    ``name``: of who writes it and of the file, as in ``summarise/counts``; ``form``: what reads and
    writes it, made of its path.
    """

    name: str
    form: Callable[[Path], F]
    version: int = 1

    @property
    def writer(self) -> str:
        """Name of the task that writes it, or of the pass that does itself."""
        return self.name.partition("/")[0]

    def suffix(self, number: int | None) -> str:
        """Return the end of the file's name, which follows that of the task."""
        return self.name.partition("/")[2] + ("" if number is None else str(number))


Handed = Artifact[Any] | FileArtifact[Any]


@dataclass(frozen=True)
class Access:
    """Declarations of a pass: neither it nor a task of it reads or writes anything else."""

    owner: str
    reads: frozenset[Handed]
    writes: frozenset[Handed]


@dataclass(frozen=True)
class Workspace:
    """A private folder; every pass has a folder of its own in it.

    ``access``: of the pass that it was handed to, which may read what it writes; without one it is
    the run's own, and open.
    """

    root: Path
    access: Access | None = None

    def create(self) -> None:
        """Make the folder, readable by its owner only."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        remove_folder(self.root)

    def task_files(self, task_name: str, item: int | str) -> "TaskFiles":
        """The files that a task leaves of one item, by its number or its name."""
        name = f"{item:06d}" if isinstance(item, int) else item
        return TaskFiles(self.root / task_name, name)

    def file(self, artifact: FileArtifact[F], item: int | str, number: int | None = None) -> F:
        """Return a file that was written of an item; nothing of it is read yet.

        Raises
        ------
        LookupError
            The pass does not declare it.
        """
        self._check(artifact)
        files = self.task_files(artifact.writer, item)
        return artifact.form(files.path(artifact.suffix(number)))

    def new_file(self, artifact: FileArtifact[F], item: int = 0) -> F:
        """Return a file that the pass itself writes, in every run again.

        Raises
        ------
        LookupError
            The pass does not declare it.
        """
        self._check(artifact, is_written=True)
        (self.root / artifact.writer).mkdir(mode=0o700, exist_ok=True)
        return self.file(artifact, item)

    def save(self, artifact: Artifact[T], value: T) -> None:
        """Keep a value for later passes, as the result of a task of its own.

        Raises
        ------
        LookupError
            The pass does not declare it.
        """
        self._check(artifact, is_written=True)
        files = self._value(artifact)
        files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.finish(value, (), artifact)

    def load(self, artifact: Artifact[T]) -> T:
        """Return a value that was kept.

        Raises
        ------
        LookupError
            The pass does not declare it.
        OutputError
            It is not there, damaged, or of another user.
        """
        value = self.find(artifact)
        if value is None:
            refusal = self._value(artifact).find_refusal()
            raise OutputError(
                f"working files {self.root.parent}: {refusal}; have it be this user's alone, or "
                f"remove {self.root}, and run again"
                if refusal
                else f"working files {self.root.parent}: {artifact.name} is missing or damaged; "
                "run again"
            )
        return value

    def find(self, artifact: Artifact[T]) -> T | None:
        """Return a value that was kept; None where there is none, or it is damaged."""
        self._check(artifact)
        checkpoint = self._value(artifact).read_result(artifact)
        return None if checkpoint is None else typing.cast("T", checkpoint.result)

    def load_shared(self, artifact: Artifact[T]) -> T:
        """Return a value that all tasks of a pass need; it is read once per process."""
        self._check(artifact)
        stamp = self._value(artifact).path("record").stat().st_mtime_ns
        with _ONE_LOAD:  # or threads that begin together would each read it
            return typing.cast("T", _load_cached(self.root, artifact, stamp))

    def _check(self, artifact: Handed, *, is_written: bool = False) -> None:
        if self.access is None or artifact in self.access.writes:
            return
        if is_written or artifact not in self.access.reads:
            raise LookupError(f"pass {self.access.owner} does not declare {artifact.name}")

    def _value(self, artifact: Artifact[Any]) -> "TaskFiles":
        return TaskFiles(self.root / "values", artifact.name)


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of a finished task: its result and its files' digests."""

    result: Any
    digests: dict[str, str]


@dataclass(frozen=True)
class TaskFiles:
    """Files of one task: ``<folder>/<name>.<suffix>``, its record among them."""

    folder: Path
    name: str

    def path(self, suffix: str) -> Path:
        """Return the path of a file of the task."""
        return self.folder / f"{self.name}.{suffix}"

    @contextlib.contextmanager
    def pending_files(self, declared: tuple[FileArtifact[Any], ...]) -> Iterator["PendingFiles"]:
        """Drafts of the task's files, moved into place together when the block ends well."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        pending = PendingFiles(self, declared, secrets.token_hex(8), [])
        try:
            yield pending
            for suffix in pending.suffixes:
                pending.draft(suffix).replace(self.path(suffix))
        finally:
            for suffix in pending.suffixes:
                pending.draft(suffix).unlink(missing_ok=True)

    def finish(self, result: Any, suffixes: tuple[str, ...], artifact: Artifact[Any]) -> None:
        """Write the checkpoint: from here on the task is done.

        Nothing is forced to disk: what a power failure has damaged does not have the digest that
        the checkpoint says, and the task is done again.
        """
        digests = {suffix: file_digest(self.path(suffix)).hex() for suffix in suffixes}
        head = {"format": FORMAT, "version": artifact.version, "digests": digests}
        payload = json.dumps(head).encode() + b"\n" + encode(result, artifact.type)
        digest = hashlib.sha256(payload).hexdigest().encode()
        write_atomically(self.path("record"), digest + b"\n" + payload, is_forced=False)

    def read_result(self, artifact: Artifact[Any]) -> Checkpoint | None:
        """Return the checkpoint, if it is there, this user's own, intact and of this version."""
        try:
            digest, _, payload = read_own(self.path("record")).partition(b"\n")
        except (OSError, UntrustedError):
            return None
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            return None
        head_text, _, value = payload.partition(b"\n")
        try:
            head = json.loads(head_text)
            if (head["format"], head["version"]) != (FORMAT, artifact.version):
                return None
            return Checkpoint(decode(value, artifact.type), dict(head["digests"]))
        except (ValueError, KeyError, TypeError):
            return None

    def find_refusal(self) -> str:
        """Return why the checkpoint is not believed though it is there; empty if it would be."""
        try:
            read_own(self.path("record"))
        except UntrustedError as error:
            return f"{error.place} {error.reason}"
        except OSError:
            pass
        return ""

    def forget(self) -> None:
        """Have the task be done again."""
        self.path("record").unlink(missing_ok=True)

    def load_if_valid(self, artifact: Artifact[Any]) -> Checkpoint | None:
        """Return the checkpoint, if the task is done and its files are as they were written."""
        record = self.read_result(artifact)
        if record is None:
            return None
        for suffix, digest in record.digests.items():
            path = self.path(suffix)
            if not path.is_file() or file_digest(path).hex() != digest:
                return None
        return record


@dataclass(frozen=True)
class PendingFiles:
    """Unfinished files of a task, under names that no reader takes for finished ones."""

    files: TaskFiles
    declared: tuple[FileArtifact[Any], ...]
    token: str
    suffixes: list[str]

    def draft(self, suffix: str) -> Path:
        """Return the path of a file's draft."""
        return self.files.folder / f".{self.files.name}.{suffix}.{self.token}"

    def new(self, artifact: FileArtifact[F], number: int | None = None) -> F:
        """Return a file to write.

        Raises
        ------
        LookupError
            The task does not declare it.
        """
        if artifact not in self.declared:
            raise LookupError(f"task {self.files.folder.name} does not declare {artifact.name}")
        self.suffixes.append(artifact.suffix(number))
        return artifact.form(self.draft(self.suffixes[-1]))


_ONE_LOAD = threading.Lock()


@functools.lru_cache(maxsize=6)
def _load_cached(root: Path, artifact: Artifact[Any], _stamp: int) -> object:
    return Workspace(root).load(artifact)
