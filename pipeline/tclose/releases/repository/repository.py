"""The repository: where the releases of one name are, who may write to it, and what is current.

``<output>/<name>/<release id>/``  ``data/``, ``manifest.json`` and documents: may be handed out
                                   ``internal/``: stays; readable by its owner only
``<output>/<name>/CURRENT``        the id of the current release
``<output>/<name>/.work/``         private working files of a run; gone after success
``<output>/<name>/.work-path``     where they are if not there, while there are any; private
``<output>/<name>/.claims/``       the lease of the run that is at work; private
``<output>/<name>/.committing/``   of a series: names whose runs are about to publish; private
``<output>/<name>/.failed/``       lineage of runs that failed; private
``<output>/<name>/.journal.jsonl`` who moved CURRENT back or removed releases, and when; private
``<output>/.release-key``          keys the release ids; private

In a bucket what is private or internal is below ``.internal/`` (see `stores.object_store`), and
the working files in a private folder of this machine (see `work_folders`).
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

from tclose.data.places.locations import Location, show_name
from tclose.data.places.removal import remove_folder
from tclose.data.places.untrusted_files import read_bounded
from tclose.errors import OutputError, TcloseError
from tclose.releases.repository.contents import (
    DOCUMENTS,
    KEY_BYTES,
    KEY_FILE,
    MANIFEST,
    check_key,
    file_sha256,
    is_intact,
    open_store,
    read_content,
    read_internal,
    read_manifest,
)
from tclose.releases.repository.name_folders import is_closed, list_folders
from tclose.releases.repository.work_folders import (
    draw_token,
    open_folder,
    read_note,
    read_token,
    work_folders,
    write_note,
)
from tclose.releases.signatures.manifest_signature import (
    SIGNATURE_FILE,
    Signer,
    find_wrong_signature,
)
from tclose.releases.stores import lease
from tclose.releases.stores.folder_entries import COMMITTING, WORK
from tclose.releases.stores.lease import EXPIRY, LeaseToken, Notify
from tclose.releases.stores.store import Store, lost_lease

__all__ = [
    "DOCUMENTS",
    "KEY_FILE",
    "ReleaseRepository",
    "file_sha256",
    "is_intact",
    "make_release_id",
    "open_store",
    "read_internal",
    "read_manifest",
]

_CURRENT_BYTES = 4096


@dataclass(frozen=True)
class ReleaseRepository:
    """The releases of one name below an output folder.

    ``work_path``: where working files go, if the policy says it; ``lease_token``: of the lease that
    is held, without which nothing is written; ``beside``: another one whose lease has to be held,
    too.
    """

    output: Location
    name: str
    work_path: Path | None = None
    lease_token: LeaseToken | None = None
    beside: "ReleaseRepository | None" = None

    @property
    def root(self) -> Location:
        """Folder of this name."""
        return self.output / self.name

    @property
    def store(self) -> Store:
        """The store that the repository writes to."""
        return open_store(self.root)

    def release(self, release_id: str) -> Location:
        """Folder of a release."""
        return self.root / release_id

    @property
    def _work_folders(self) -> tuple[Path, ...]:
        return self._folders_of(self._work_token)

    def _folders_of(self, token: str) -> tuple[Path, ...]:
        if self.work_path is None and isinstance(self.root, Path):
            return (self.root / WORK,)
        return work_folders(self.work_path, self.output, self.name, token)

    @property
    def _work_token(self) -> str:
        """What is noted of the folders of working files; a bucket has one name everywhere."""
        if self.work_path is None or not isinstance(self.root, Path):
            return ""
        return read_token(self.store, self.work_path)

    @property
    def work(self) -> Path:
        """Folder of the working files of all runs of this name."""
        return self._work_folders[-1]

    def work_folder(self, release_id: str) -> Path:
        """Folder of the working files of the run that makes a release."""
        return self.work / release_id

    @contextlib.contextmanager
    def acquire_lease(
        self, expiry: float = EXPIRY, notify: Notify = lambda _: None
    ) -> Iterator["ReleaseRepository"]:
        """Hold the only right to write here; it ends with the process, however that ends.

        ``expiry``: seconds after which a lease that is not renewed may be taken over; ``notify`` is
        told what is waited for. In the block the repository that is given is the one to write to.

        Raises
        ------
        BusyError
            Another run holds it.
        OutputError
            The output cannot be written.
        """
        with lease.acquire_lease(self.store, expiry, notify) as lease_token:
            yield replace(self, lease_token=lease_token)

    def check_lease(self) -> None:
        """Check that the lease is still held.

        Raises
        ------
        LostLeaseError
            Another run has taken it over, or there never was one.
        """
        lease.check_lease(self.store, self._lease_token)
        if self.beside is not None:
            self.beside.check_lease()

    @property
    def _lease_token(self) -> LeaseToken:
        if self.lease_token is None:
            raise lost_lease(self.name)
        return self.lease_token

    def release_key(self) -> bytes:
        """The secret that keys release ids, made at the first use.

        Raises
        ------
        OutputError
            It is no key, or is missing where there are releases: with another one the same input
            would be released again, and what is there could not be told from what was changed.
        """
        store = open_store(self.output)
        key = store.read(KEY_FILE)
        if key is None:
            made_with_it = self._find_released_name()
            key = store.read(KEY_FILE)  # who made it meanwhile may have published
        if key is None and made_with_it is not None:
            raise OutputError(
                f"output {store.private(KEY_FILE)}: the release key is missing, and {made_with_it} "
                "has releases that were made with it; put it back (cp -r FOLDER/* leaves out what "
                "begins with a point), or give another output.path"
            )
        if key is None:
            store.create(KEY_FILE, secrets.token_bytes(KEY_BYTES))
            key = store.read(KEY_FILE)
        return check_key(key, store)

    def _find_released_name(self) -> str | None:
        """A name below the output folder that has releases."""
        for folder in list_folders(self.output):
            ids = [] if is_closed(folder) else open_store(folder).ids()
            if any((folder / release_id / MANIFEST).is_file() for release_id in ids):
                return show_name(folder.name)
        return None

    def find_release_key(self) -> bytes | None:
        """The secret, for those who write nothing; None where it is not there or not readable."""
        try:
            key = open_store(self.output).read(KEY_FILE)
        except (OutputError, OSError):
            return None
        return key if key is not None and len(key) == KEY_BYTES else None

    def current(self) -> str | None:
        """Id of the current release."""
        try:
            content = read_bounded(self.root / "CURRENT", _CURRENT_BYTES, follow=True)
            words = content.decode("ascii").split()
        except (OSError, ValueError):
            return None
        return words[0] if words else None

    def set_current(self, release_id: str) -> None:
        """Move CURRENT to a release, in one step."""
        self.store.point(release_id, self._lease_token.token, self.check_lease)

    def staging(self, release_id: str) -> Path:
        """An empty place to stage a release in."""
        work = self.work_folder(release_id)
        return self.store.staging(self._lease_token.token, release_id, work)

    def abandon(self) -> None:
        """Remove what was staged under the lease, and was not published."""
        self.store.abandon(self._lease_token.token)

    def commit(self, staging: Path, release_id: str) -> None:
        """Move a staged release to its place; one that is there whole stays as it is.

        That it is about to be moved is noted beside a lease of another name before the leases are
        checked for the last time: whoever takes that one over is seen by the check, or sees the
        note. The note of a commit that failed stays: its last write may still be under way.
        """
        if is_intact(self.release(release_id)):
            return
        token = self._lease_token.token
        if self.beside is not None:
            self.beside.store.create(f"{COMMITTING}/{token}", self.name.encode())
        self.store.commit(staging, release_id, token, self.check_lease)
        if self.beside is not None:
            self.beside.store.remove(f"{COMMITTING}/{token}")

    def fence_beside(
        self, own: "ReleaseRepository", expiry: float, notify: Notify = lambda _: None
    ) -> None:
        """Bring to an end what runs of other names had begun to commit beside an earlier lease.

        The lease of each such name is acquired once, and that fences what was staged there; what
        was put there of a release that is none is removed.
        ``own``: the name of which the caller has acquired it already.

        Raises
        ------
        BusyError
            A run works on one of the names.
        OutputError
            A note is damaged, so that it cannot be told what was begun.
        """
        for token in self.store.names(COMMITTING):
            note = f"{COMMITTING}/{token}"
            name = (self.store.read(note) or b"").decode(errors="replace")
            if name in ("", ".", "..") or "/" in name:
                raise OutputError(
                    f"{self.store.private(note)}: is damaged, so it cannot be told which run was "
                    "about to publish; see that none of the series is alive, then remove it"
                )
            if name not in (self.name, own.name):
                other = ReleaseRepository(self.output, name)
                with other.acquire_lease(expiry, notify) as acquired:
                    acquired.clear_leftovers()  # of a bucket: rows that recipients could read
            self.check_lease()
            self.store.remove(note)

    def sign(self, release_id: str, signer: Signer) -> bool:
        """Sign a published release; return False if it is signed by that key already."""
        release = self.release(release_id)
        manifest = read_content(release)
        if not find_wrong_signature(release, manifest, signer.public):
            return False
        signed = signer.sign(manifest)
        token = self._lease_token.token
        self.store.attach(release_id, SIGNATURE_FILE, signed, token, self.check_lease)
        return True

    def replace_internal(self, release_id: str, name: str, content: bytes) -> None:
        """Replace a file of a release's internal part, in one step."""
        self.store.attach(release_id, name, content, self._lease_token.token, self.check_lease)

    def delete_release(self, release_id: str) -> None:
        """Remove a release; the first step makes it none."""
        self.store.delete_release(release_id, self._lease_token.token, self.check_lease)

    def clear_leftovers(self, keep: str | None = None) -> None:
        """Remove what dead runs left among the releases, but of one."""
        self.store.clear_leftovers(keep, self.check_lease)

    def open_work(self) -> None:
        """Make the folder of working files, readable by its owner only, and note where it is.

        What a run left where its policy said is removed if this one says another place.
        """
        token = self._work_token or (draw_token() if isinstance(self.root, Path) else "")
        folders = self._folders_of(token)
        for folder in folders:
            open_folder(folder)
        before = self.find_work()
        if before.work != folders[-1]:
            before.clear_work()
            before.leave_work()
        write_note(self.store, self.work_path, token)

    def find_work(self) -> "ReleaseRepository":
        """The repository with its working files where the last run had them."""
        return replace(self, work_path=read_note(self.store))

    def clear_work(self, keep: str | None = None) -> None:
        """Remove the working files of runs that ended; all, or all but those of one release."""
        try:  # by descriptor: what others put in its place meanwhile is not removed
            descriptor = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return
        try:
            for name in set(os.listdir(descriptor)) - {keep}:  # noqa: PTH208  # of a descriptor
                remove_folder(Path(name), descriptor)
        finally:
            os.close(descriptor)

    def leave_work(self) -> None:
        """Remove the folders of working files if they are empty."""
        with contextlib.suppress(OSError, TcloseError):  # which would hide why a run failed
            folders = self._work_folders
            for folder in reversed(folders):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if self.work_path is not None and not folders[-1].exists():
                write_note(self.store, None)


def make_release_id(key: bytes, content: dict[str, Any]) -> str:
    """Id of a release from what decides its content; without the key it confirms no guess."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:20]
