"""Working files of a run: private, checked by digest, gone after success.

Each unit of work leaves its files and, last, a record that holds its result and the digests of the
files. A unit counts as done only if the record and every file are intact, so a run that was killed
goes on from there, and a piece that was damaged or deleted is made again.
"""

import contextlib
import hashlib
import os
import pickle
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DIGEST_BYTES = 32


def file_digest(path: Path) -> bytes:
    """SHA-256 of a file's bytes: processors have instructions for it."""
    with path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a small file beside its place, force it to disk and move it there in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@dataclass(frozen=True)
class Workspace:
    """A private folder; every pass has a folder of its own in it."""

    root: Path

    def create(self) -> None:
        """Make the folder, readable by its owner only."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, pass_name: str, file_name: str) -> Path:
        """Where a file of a pass stands."""
        return self.root / pass_name / file_name

    def unit(self, pass_name: str, unit: int | str) -> "UnitFiles":
        """The files of one unit of a pass, by its number or its name."""
        name = f"{unit:06d}" if isinstance(unit, int) else unit
        return UnitFiles(self.root / pass_name, name)

    def save(self, name: str, value: Any) -> None:
        """Keep a value for later stages, as the result of a unit of its own."""
        files = UnitFiles(self.root / "values", name)
        files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.finish(value, ())

    def load(self, name: str) -> Any:
        """A value that was kept; None where there is none, or it is damaged."""
        found = UnitFiles(self.root / "values", name).read_result()
        return found.result if found else None


@dataclass(frozen=True)
class UnitRecord:
    """What a finished unit leaves: its result and its files' digests."""

    result: Any
    digests: dict[str, bytes]


@dataclass(frozen=True)
class UnitFiles:
    """Files of one unit: ``<folder>/<name>.<suffix>``, its record among them."""

    folder: Path
    name: str

    def path(self, suffix: str) -> Path:
        """Where a file of the unit stands."""
        return self.folder / f"{self.name}.{suffix}"

    @contextlib.contextmanager
    def drafting(self) -> Iterator["Drafts"]:
        """Drafts of the unit's files, moved into place together when the block ends well."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        drafts = Drafts(self, secrets.token_hex(8), [])
        try:
            yield drafts
            for suffix in drafts.suffixes:
                drafts.draft(suffix).replace(self.path(suffix))
        finally:
            for suffix in drafts.suffixes:
                drafts.draft(suffix).unlink(missing_ok=True)

    def finish(self, result: Any, suffixes: tuple[str, ...]) -> None:
        """Write the record: from here on the unit is done."""
        digests = {suffix: file_digest(self.path(suffix)) for suffix in suffixes}
        payload = pickle.dumps(UnitRecord(result, digests), protocol=5)
        seal = hashlib.sha256(payload).digest()
        write_atomically(self.path("record"), seal + payload)

    def read_result(self) -> UnitRecord | None:
        """The record, if it is there and intact."""
        try:
            data = self.path("record").read_bytes()
        except OSError:
            return None
        seal, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if hashlib.sha256(payload).digest() != seal:
            return None
        return pickle.loads(payload)  # noqa: S301 (a private file of this run, sealed)

    def find_finished(self) -> UnitRecord | None:
        """The record, if the unit is done and every file of it is as it was written."""
        record = self.read_result()
        if record is None:
            return None
        for suffix, digest in record.digests.items():
            path = self.path(suffix)
            if not path.is_file() or file_digest(path) != digest:
                return None
        return record


@dataclass(frozen=True)
class Drafts:
    """Unfinished files of a unit, under names that no reader takes for finished ones."""

    files: UnitFiles
    token: str
    suffixes: list[str]

    def draft(self, suffix: str) -> Path:
        """Where the draft of a file stands."""
        return self.files.folder / f".{self.files.name}.{suffix}.{self.token}"

    def new(self, suffix: str) -> Path:
        """A path to write a file to."""
        self.suffixes.append(suffix)
        return self.draft(suffix)
