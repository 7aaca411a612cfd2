"""The shelf: where the releases of one name stand, who may write to it, and what is current.

``<output>/<name>/<release id>/``  ``data/``, ``manifest.json`` and documents: may be handed out
                                   ``internal/``: stays; readable by its owner only
``<output>/<name>/CURRENT``        the id of the current release
``<output>/<name>/.work/``         private working files of a run; gone after success
``<output>/<name>/.failed/``       lineage of runs that failed; private
``<output>/<name>/.journal.jsonl`` who moved CURRENT back or removed releases, and when; private
``<output>/.release-key``          keys the release ids; private
"""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import BusyError, OutputError
from pipeline.storage.workspace import Workspace, write_atomically

KEY_FILE = ".release-key"
DOCUMENTS = ("datapackage.json", "dictionary.md")
KEY_BYTES = 32
_BLOCK = 1 << 22


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sync_folder(path: Path) -> None:
    """Force a folder's entries to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Shelf:
    """The releases of one name below an output folder."""

    output: Path
    name: str

    @property
    def root(self) -> Path:
        """Folder of this name."""
        return self.output / self.name

    def release(self, release_id: str) -> Path:
        """Folder of a release."""
        return self.root / release_id

    def workspace(self, release_id: str) -> Workspace:
        """Working files of the run that makes a release."""
        return Workspace(self.root / ".work" / release_id)

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the only right to write here; it ends with the process, however that ends.

        Folders that were made for a run that leaves nothing are taken away again.

        Raises
        ------
        BusyError
            Another run holds it.
        OutputError
            The output cannot be written.
        """
        made = self._make_folders()
        had_key = (self.output / KEY_FILE).exists()
        lock = self.root / ".lock"
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise OutputError(f"output {self.root}: cannot be written ({error.strerror})") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_ino != lock.stat().st_ino:
                    raise FileNotFoundError  # a run that ends has just removed the lock
            except OSError:
                raise BusyError(
                    f"another run is working on release {self.name!r}; wait for it to end"
                ) from None
            yield
        finally:
            self._clear_empty(made, had_key=had_key)
            os.close(descriptor)

    def _make_folders(self) -> list[Path]:
        try:
            missing = [path for path in (self.root, *self.root.parents) if not path.exists()]
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"output {self.output}: cannot be written ({error.strerror}); choose another "
                "output.path or give write permission"
            ) from None
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise OutputError(f"output {self.root}: cannot be written (no permission)")
        return missing

    def _clear_empty(self, made: list[Path], *, had_key: bool) -> None:
        """Remove what was made for this run if it leaves nothing: lock, key and folders."""
        with contextlib.suppress(OSError):
            if self.root in made and [path.name for path in self.root.iterdir()] == [".lock"]:
                (self.root / ".lock").unlink()
                if not had_key and not any(self.output.glob("*/.lock")):
                    (self.output / KEY_FILE).unlink(missing_ok=True)
                for folder in made:
                    folder.rmdir()

    def release_key(self) -> bytes:
        """The secret that keys release ids, made at the first use."""
        path = self.output / KEY_FILE
        if not path.exists():
            draft = path.with_name(f"{KEY_FILE}.{secrets.token_hex(8)}")
            write_atomically(draft, secrets.token_bytes(KEY_BYTES))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            draft.unlink()
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise OutputError(
                f"output {path}: is no release key; put back the {KEY_BYTES} bytes it had, or "
                "remove it: releases then get new ids"
            )
        return key

    def current(self) -> str | None:
        """Id of the current release."""
        try:
            return (self.root / "CURRENT").read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def set_current(self, release_id: str) -> None:
        """Move CURRENT to a release, in one step."""
        write_atomically(self.root / "CURRENT", f"{release_id}\n".encode(), mode=0o644)
        sync_folder(self.root)

    def commit(self, staging: Path, release_id: str) -> None:
        """Move a staged release to its place in one step; a damaged one there is put aside."""
        place = self.release(release_id)
        if place.exists():
            aside = staging.with_name(f"damaged-{secrets.token_hex(4)}")
            place.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        staging.rename(place)
        sync_folder(self.root)

    @property
    def scratch(self) -> Path:
        """Where this process's workers spill; private like all working files."""
        return self.root / ".work" / f"dask-{os.getpid()}"

    def open_work(self) -> None:
        """Make the folder of working files, readable by its owner only."""
        work = self.root / ".work"
        work.mkdir(mode=0o700, exist_ok=True)
        work.chmod(0o700)

    def clear_work(self, keep: str | None = None) -> None:
        """Remove the working files of runs that ended; all, or all but those of one release."""
        work = self.root / ".work"
        for folder in work.iterdir() if work.is_dir() else ():
            if folder.name not in (keep, self.scratch.name):
                Workspace(folder).remove()


def make_release_id(key: bytes, content: dict[str, Any]) -> str:
    """Id of a release from what decides its content; without the key it confirms no guess."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:20]


def read_manifest(release: Path) -> dict[str, Any] | None:
    """The public manifest of a release; None where it is missing or no JSON."""
    try:
        found = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def find_damage(release: Path, manifest: dict[str, Any]) -> list[str]:
    """What differs between a release's files and its manifest; empty where nothing does.

    Raises
    ------
    KeyError, TypeError
        The manifest does not have the form of one.
    """
    documents = {e["path"]: e for e in manifest.get("documents", ()) if e["path"] in DOCUMENTS}
    listed = documents | {entry["path"]: entry for entry in manifest["files"]}
    present = {
        path.relative_to(release).as_posix()
        for path in (*(release / "data").rglob("*"), *(release / name for name in documents))
        if path.is_file() or path.is_symlink()
    }
    known = {"data", "manifest.json", "internal", *documents}
    beside = sorted(path.name for path in release.iterdir() if path.name not in known)
    damage = [f"{name}: does not belong to the release" for name in beside]
    damage += [f"{name}: is missing" for name in sorted(listed.keys() - present)]
    damage += [f"{name}: is not in the manifest" for name in sorted(present - listed.keys())]
    for name in sorted(present & listed.keys()):
        path, entry = release / name, listed[name]
        if path.stat().st_size != entry["bytes"] or file_sha256(path) != entry["sha256"]:
            damage.append(f"{name}: its content has changed")
    return damage


def find_edits(release: Path, manifest: dict[str, Any]) -> list[str]:
    """Keys in which the public manifest differs from the internal one; none where that is away."""
    internal = read_manifest(release / "internal")
    if internal is None:
        return []
    keys = dict.fromkeys((*manifest, "documents"))  # no key, no documents: seen too
    return [key for key in keys if key != "code" and internal.get(key) != manifest.get(key)]


def is_whole(release: Path) -> bool:
    """Whether a release stands as it was published: data, both manifests, plan and lineage."""
    manifest = read_manifest(release)
    internal = release / "internal"
    parts = (internal / "manifest.json", internal / "plan.json", internal / "lineage.jsonl")
    if manifest is None or not all(part.is_file() for part in parts):
        return False
    try:
        same = read_manifest(internal) is not None and not find_edits(release, manifest)
        return same and not find_damage(release, manifest)
    except (KeyError, TypeError, OSError):
        return False


def dump_json(value: Any) -> bytes:
    """JSON as files hold it: indented, in the given order, ending with a line feed."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
