"""The shelf: where the releases of one name stand, who may write to it, and what is current.

``<output>/<name>/<release id>/``  ``data/``, ``manifest.json`` and documents: may be handed out
                                   ``internal/``: stays; readable by its owner only
``<output>/<name>/CURRENT``        the id of the current release
``<output>/<name>/.work/``         private working files of a run; gone after success
``<output>/<name>/.work-path``     where they are if not there, while there are any; private
``<output>/<name>/.claims/``       the claim of the run that is at work; private
``<output>/<name>/.failed/``       lineage of runs that failed; private
``<output>/<name>/.journal.jsonl`` who moved CURRENT back or removed releases, and when; private
``<output>/.release-key``          keys the release ids; private

In a bucket what is private or internal stands below ``.internal/`` (see `bucket_store`), and the
working files in a private folder of this machine (see `workfolder`).
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import ForbiddenError, OutputError, TcloseError
from pipeline.storage import claims
from pipeline.storage.bucket_store import BucketStore
from pipeline.storage.buckets import BucketPath
from pipeline.storage.claims import EXPIRY, Tell, Ticket
from pipeline.storage.folder_store import WORK, FolderStore
from pipeline.storage.places import Place, internal_of
from pipeline.storage.seals import INSIDE, SEAL_FILE, find_broken
from pipeline.storage.stores import Store, lost_claim
from pipeline.storage.workfolder import open_folder, read_note, work_folders, write_note
from pipeline.storage.workspace import Workspace

DOCUMENTS = ("datapackage.json", "dictionary.md")
KEY_FILE = "release-key"
KEY_BYTES = 32
FIRST_SEALED = 3  # format of the manifest from which on there are seals
_BLOCK = 1 << 22


def file_sha256(path: Place) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def open_store(root: Place) -> Store:
    """What knows how to write to a place."""
    return BucketStore(root) if isinstance(root, BucketPath) else FolderStore(root)


@dataclass(frozen=True)
class Shelf:
    """The releases of one name below an output folder.

    ``work_path``: where working files go, if the policy says it; ``ticket``: of the claim that is
    held, without which nothing is written.
    """

    output: Place
    name: str
    work_path: Path | None = None
    ticket: Ticket | None = None

    @property
    def root(self) -> Place:
        """Folder of this name."""
        return self.output / self.name

    @property
    def store(self) -> Store:
        """What knows how to write to it."""
        return open_store(self.root)

    def release(self, release_id: str) -> Place:
        """Folder of a release."""
        return self.root / release_id

    @property
    def _work_folders(self) -> tuple[Path, ...]:
        if self.work_path is None and isinstance(self.root, Path):
            return (self.root / WORK,)
        return work_folders(self.work_path, self.output, self.name)

    @property
    def work(self) -> Path:
        """Folder of the working files of all runs of this name."""
        return self._work_folders[-1]

    def workspace(self, release_id: str) -> Workspace:
        """Working files of the run that makes a release."""
        return Workspace(self.work / release_id)

    @contextlib.contextmanager
    def claim(self, expiry: float = EXPIRY, tell: Tell = lambda _: None) -> Iterator["Shelf"]:
        """Hold the only right to write here; it ends with the process, however that ends.

        ``expiry``: seconds after which a claim that is not renewed may be taken over; ``tell`` is
        told what is waited for. In the block the shelf that is given is the one to write to.

        Raises
        ------
        BusyError
            Another run holds it.
        OutputError
            The output cannot be written.
        """
        with claims.holding(self.store, expiry, tell) as ticket:
            yield replace(self, ticket=ticket)

    def check_claim(self) -> None:
        """See that the claim is still held.

        Raises
        ------
        LostClaimError
            Another run has taken it over, or there never was one.
        """
        claims.check(self.store, self._ticket)

    @property
    def _ticket(self) -> Ticket:
        if self.ticket is None:
            raise lost_claim(self.name)
        return self.ticket

    def release_key(self) -> bytes:
        """The secret that keys release ids, made at the first use."""
        store = open_store(self.output)
        key = store.read(KEY_FILE)
        if key is None:
            store.create(KEY_FILE, secrets.token_bytes(KEY_BYTES))
            key = store.read(KEY_FILE)
        if key is None or len(key) != KEY_BYTES:
            raise OutputError(
                f"output {store.private(KEY_FILE)}: is no release key; put back the {KEY_BYTES} "
                "bytes it had, or remove it: releases then get new ids"
            )
        return key

    def current(self) -> str | None:
        """Id of the current release."""
        try:
            words = (self.root / "CURRENT").read_text(encoding="ascii").split()
        except (OSError, UnicodeDecodeError):
            return None
        return words[0] if words else None

    def set_current(self, release_id: str) -> None:
        """Move CURRENT to a release, in one step."""
        self.store.point(release_id, self._ticket.token, self.check_claim)

    def staging(self, release_id: str) -> Path:
        """An empty place to stage a release in."""
        work = self.workspace(release_id).root
        return self.store.staging(self._ticket.token, release_id, work)

    def commit(self, staging: Path, release_id: str) -> None:
        """Move a staged release to its place; one that stands there whole stays as it is."""
        if not is_whole(self.release(release_id)):
            self.store.commit(staging, release_id, self._ticket.token, self.check_claim)

    def take_away(self, release_id: str) -> None:
        """Remove a release; the first step makes it none."""
        self.store.take_away(release_id, self._ticket.token, self.check_claim)

    def clear_leftovers(self, keep: str | None = None) -> None:
        """Remove what dead runs left among the releases, but of one."""
        self.store.clear_leftovers(keep, self.check_claim)

    @property
    def scratch(self) -> Path:
        """Where this process's workers spill; private like all working files."""
        return self.work / f"dask-{os.getpid()}"

    def open_work(self) -> None:
        """Make the folder of working files, readable by its owner only, and note where it is.

        What a run left where its policy said is removed if this one says another place.
        """
        before = self.find_work()
        if before.work != self.work:
            before.clear_work()
            before.leave_work()
        for folder in self._work_folders:
            open_folder(folder)
        write_note(self.store, self.work_path)

    def find_work(self) -> "Shelf":
        """The shelf with its working files where the last run had them."""
        return replace(self, work_path=read_note(self.store))

    def clear_work(self, keep: str | None = None) -> None:
        """Remove the working files of runs that ended; all, or all but those of one release."""
        for folder in self.work.iterdir() if self.work.is_dir() else ():
            if folder.name not in (keep, self.scratch.name):
                Workspace(folder).remove()

    def leave_work(self) -> None:
        """Remove this process's scratch folder, and the folders of working files if empty."""
        Workspace(self.scratch).remove()
        for folder in reversed(self._work_folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        if self.work_path is not None and not self.work.exists():
            with contextlib.suppress(OSError, TcloseError):  # which would hide why a run failed
                write_note(self.store, None)


def make_release_id(key: bytes, content: dict[str, Any]) -> str:
    """Id of a release from what decides its content; without the key it confirms no guess."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:20]


def read_manifest(release: Place) -> dict[str, Any] | None:
    """The public manifest of a release; None where it is missing or no JSON."""
    try:
        found = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def read_internal(release: Place) -> dict[str, Any] | None:
    """The manifest of a release that stays inside; None where it is not at hand, or no JSON."""
    try:
        return read_manifest(internal_of(release))
    except ForbiddenError:  # to whom the release was handed out
        return None


def find_damage(release: Place, manifest: dict[str, Any]) -> list[str]:
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


def find_edits(release: Place, manifest: dict[str, Any]) -> list[str]:
    """Keys in which the public manifest differs from the internal one; none where that is away."""
    internal = read_internal(release)
    if internal is None:
        return []
    keys = dict.fromkeys((*manifest, "documents"))  # no key, no documents: seen too
    return [key for key in keys if key != "code" and internal.get(key) != manifest.get(key)]


def find_broken_seals(release: Place, manifest: dict[str, Any]) -> list[str]:
    """Manifests and internal files that are not as they were published, where that can be seen.

    It takes the release key and the internal files. Format 2 and earlier had no seals; a manifest
    that says so while there are some is checked by them.
    """
    needed = (SEAL_FILE,) if manifest["format"] < FIRST_SEALED else (*INSIDE, SEAL_FILE)
    try:
        if not any((internal_of(release) / name).is_file() for name in needed):
            return []
        key = open_store(release.parent.parent).read(KEY_FILE)
    except (OSError, OutputError):
        return []
    return [] if key is None else find_broken(release, key)


def is_whole(release: Place) -> bool:
    """Whether a release stands as it was published: data, both manifests, plan and lineage."""
    manifest = read_manifest(release)
    if manifest is None or read_internal(release) is None:
        return False
    try:
        same = not find_edits(release, manifest) and not find_broken_seals(release, manifest)
        return same and not find_damage(release, manifest)
    except (KeyError, TypeError, OSError):
        return False


def dump_json(value: Any) -> bytes:
    """JSON as files hold it: indented, in the given order, ending with a line feed."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
