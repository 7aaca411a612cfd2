"""Small files that appear whole or not at all, and digests of files."""

import hashlib
import os
import secrets
from pathlib import Path

from tclose.data.places.process_limits import add_place


def file_digest(path: Path) -> bytes:
    """SHA-256 of a file's bytes: processors have instructions for it."""
    with path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def force_to_disk(path: Path) -> None:
    """Force a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(
    path: Path, data: bytes | memoryview, *, mode: int = 0o600, is_forced: bool = True
) -> None:
    """Write a file beside its place, force it to disk and move it there in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if is_forced:
                os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        add_place(error, path.parent)
        raise
    finally:
        draft.unlink(missing_ok=True)


def write_new(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file that is not there yet, to stay; one that cannot be written leaves nothing.

    ``mode``: of the file, whatever the umask is; None: as the umask has it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(descriptor, mode)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
