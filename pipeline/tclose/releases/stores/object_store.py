"""Releases in a bucket: no rename, no folders, no locks; only writes on condition.

``<output>/<name>/<release id>/``           data, documents, and last ``manifest.json``: without it
                                            there is no release
``<output>/<name>/CURRENT``                 first line: id of the current release; the second line
                                            tells each move from every other
``<output>/<name>/.internal/<release id>/`` what stays of a release: lineage, plan, full manifest
``<output>/<name>/.internal/``              leases, journal, lineage of runs that failed
``<output>/.internal/release-key``          keys the release ids

So whoever hands releases out denies ``*/.internal/*``. Objects are replaced only on the condition
that they are those that were seen. Only removal knows no condition: it is for what is no release
and for releases that are pruned, and the lease is checked before each.
"""

import contextlib
import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tclose.data.places.bucket_paths import BucketPath, ChangedError
from tclose.data.places.locations import HIDDEN, INTERNAL
from tclose.errors import OutputError
from tclose.releases.stores.folder_entries import BEGUN, CURRENT
from tclose.releases.stores.store import Check, conflict, moved

MANIFEST = "manifest.json"
_OF_RELEASE = re.compile(r"([0-9a-f]{20})/.+")
_TOKEN_BYTES = 16
_WITHDRAWN = b'"withdrawn '  # how the mark begins that stands in the place of a manifest
_TRIES = 5
_LARGEST = 5 << 30  # bytes that one PUT may have


@dataclass(frozen=True)
class BucketStore:
    """The part of a bucket that a name has."""

    root: BucketPath

    @contextlib.contextmanager
    def lock(self) -> Iterator[str | None]:
        """There is none: see that the bucket is there, and that it keeps to conditions."""
        self.root.is_dir()
        _check_conditions(self.private("probes"))
        yield None

    def private(self, name: str) -> BucketPath:
        """An object that is not handed out."""
        return self.root / HIDDEN / name

    def names(self, folder: str) -> list[str]:
        """Names of the objects of a private folder."""
        return sorted(self.private(folder).tags())

    def read(self, name: str) -> bytes | None:
        """Content of a private object."""
        with contextlib.suppress(FileNotFoundError):
            return self.private(name).read_bytes()
        return None

    def create(self, name: str, data: bytes) -> bool:
        """PUT, If-None-Match."""
        with contextlib.suppress(ChangedError):
            self.private(name).put(data, None)
            return True
        return False

    def renew(self, name: str, data: bytes, mine: bytes) -> bool:
        """PUT, If-Match."""
        stored = self.private(name).read_tagged()
        if stored is None or not stored[0].startswith(mine):
            return False
        with contextlib.suppress(ChangedError):
            self.private(name).put(data, stored[1])
            return True
        return False

    def write(self, name: str, data: bytes) -> None:
        """PUT over what is there."""
        path = self.private(name)
        self._put(path, data, path.tag())

    def append(self, name: str, line: bytes) -> None:
        """PUT the lines with one more, If-Match."""
        path = self.private(name)
        for _ in range(_TRIES):
            stored = path.read_tagged()
            before, tag = stored if stored is not None else (b"", None)
            with contextlib.suppress(ChangedError):
                path.put(before + line + b"\n", tag)
                return
        raise conflict(path)

    def remove(self, name: str) -> None:
        """Remove a private object."""
        self.private(name).unlink()

    def ids(self) -> list[str]:
        """Releases that have a manifest."""
        return sorted(
            path.name for path in self.root.iterdir() if path.is_dir() and self.has(path.name)
        )

    def has(self, release_id: str) -> bool:
        """Return whether a release has a manifest, with which it becomes one."""
        if not _OF_RELEASE.fullmatch(f"{release_id}/{MANIFEST}"):
            return False
        try:
            return not (self.root / release_id / MANIFEST).read_bytes().startswith(_WITHDRAWN)
        except FileNotFoundError:
            return False

    def staging(self, token: str, release_id: str, work: Path) -> Path:
        """Among the run's working files."""
        del token, release_id
        return work / "staging"

    def fence(self, token: str, *, took_over: bool) -> list[str]:
        """See to the releases that holders of earlier leases had begun to commit.

        Whoever was about to move CURRENT, and wakes up, finds another one than he saw.
        """
        if took_over:
            self._renew_current()
        finished = []
        for name in self.names(BEGUN):
            release_id, _, holder = name.partition("-")
            if holder == token:
                continue
            if self.has(release_id):
                self.point(release_id, token, _nothing)
                finished.append(release_id)
            else:
                path = self.root / release_id / MANIFEST
                self._withdraw(path, path.tag())
            self.remove(f"{BEGUN}/{name}")
        return finished

    def abandon(self, token: str) -> None:
        """Nothing is prepared but among the working files."""

    def _renew_current(self) -> None:
        """Write CURRENT anew: it names the same release, and is another object."""
        path = self.root / CURRENT
        for _ in range(_TRIES):
            stored = path.read_tagged()
            if stored is None or not stored[0].split():
                return
            with contextlib.suppress(ChangedError):
                path.put(_point_at(stored[0].split()[0]), stored[1])
                return
        raise moved(path)

    def _withdraw(self, manifest: BucketPath, tag: str | None) -> str:
        """Put a mark where a manifest would go: whoever is about to put one there cannot."""
        mark = _WITHDRAWN + secrets.token_hex(_TOKEN_BYTES).encode() + b'"\n'
        return self._put(manifest, mark, tag)

    def _put(self, path: BucketPath, data: bytes, tag: str | None) -> str:
        try:
            return path.put(data, tag)
        except ChangedError:
            raise conflict(path) from None

    def commit(self, staging: Path, release_id: str, token: str, check: Check) -> None:
        """Put the files, and the manifest last: with it the release is one.

        That this release has been begun is written down before the lease is checked for the last
        time; so whoever takes the lease over either is seen by that check, or sees what was begun.
        """
        place = self.root / release_id
        manifest = place / MANIFEST
        tag = manifest.tag()
        check()
        if tag is not None:
            tag = self._withdraw(manifest, tag)
        files = {p.relative_to(staging).as_posix(): p for p in staging.rglob("*") if p.is_file()}
        last = files.pop(MANIFEST).read_bytes()
        inside = {n.removeprefix(f"{INTERNAL}/"): p for n, p in files.items() if _is_internal(n)}
        public = {name: path for name, path in files.items() if not _is_internal(name)}
        self._put_files(place, public, check, beside={MANIFEST})
        self._put_files(self.private(release_id), inside, check)
        self.create(f"{BEGUN}/{release_id}-{token}", b"")
        check()
        self._put(manifest, last, tag)

    def _put_files(
        self,
        place: BucketPath,
        files: dict[str, Path],
        check: Check,
        beside: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        """Bring a folder to these files: what a dead run left of them is kept, or written over."""
        stored_tags = {name: tag for name, tag in place.tags().items() if name not in beside}
        check()  # after it nothing is written over but what was seen before
        for name in stored_tags.keys() - files.keys():
            check()
            (place / name).unlink()
        expected = {
            name: self._put_file(place / name, path, stored_tags.get(name))
            for name, path in files.items()
        }
        stored = {name: tag for name, tag in place.tags().items() if name not in beside}
        for name in sorted(stored.keys() | expected.keys()):
            if stored.get(name) != expected.get(name):
                raise conflict(place / name)

    def _put_file(self, path: BucketPath, source: Path, tag: str | None) -> str:
        if source.stat().st_size > _LARGEST:
            raise OutputError(
                f"{path}: is larger than one request can be ({_LARGEST:,} bytes); make "
                "output.rows_per_file smaller"
            )
        data = source.read_bytes()
        if tag is not None and _digest(path) == hashlib.sha256(data).digest():
            return tag
        return self._put(path, data, tag)

    def point(self, release_id: str, token: str, check: Check) -> None:
        """Move CURRENT, if it is not there already; what was begun is then at an end."""
        path = self.root / CURRENT
        stored = path.read_tagged()
        check()
        if stored is None or stored[0].split()[:1] != [release_id.encode()]:
            try:
                path.put(_point_at(release_id.encode()), None if stored is None else stored[1])
            except ChangedError:
                raise moved(path) from None
        self.remove(f"{BEGUN}/{release_id}-{token}")

    def attach(self, release_id: str, name: str, data: bytes, token: str, check: Check) -> None:
        """PUT over what is there, on the condition that it still is."""
        del token
        path = self.root / release_id / name
        if _is_internal(name):
            path = self.private(release_id) / name.removeprefix(f"{INTERNAL}/")
        tag = path.tag()
        check()
        self._put(path, data, tag)

    def delete_release(self, release_id: str, token: str, check: Check) -> None:
        """Remove the manifest, then everything else."""
        del token
        check()
        (self.root / release_id / MANIFEST).unlink()
        self._remove_all(release_id, check)

    def _remove_all(self, release_id: str, check: Check) -> None:
        for path in self._list_files(release_id):
            check()
            path.unlink()

    def _list_files(self, release_id: str) -> Iterator[BucketPath]:
        """The files of a release but its manifest, or what has taken the place of that."""
        for folder in (self.root / release_id, self.private(release_id)):
            for path in folder.rglob():
                if path.name != MANIFEST or path.parent != self.root / release_id:
                    yield path

    def has_leftovers(self) -> bool:
        """Return whether a release without manifest has files."""
        return any(next(self._list_files(one), None) for one in self._list_unfinished(None))

    def clear_leftovers(self, keep: str | None, check: Check) -> None:
        """Remove the files of releases without manifest; marks of withdrawal stay."""
        for release_id in self._list_unfinished(keep):
            self._remove_all(release_id, check)

    def _list_unfinished(self, keep: str | None) -> list[str]:
        whole = {*self.ids(), keep}
        names = {p.name for folder in (self.root, self.private("")) for p in folder.iterdir()}
        return sorted(
            one for one in names if _OF_RELEASE.fullmatch(f"{one}/x") and one not in whole
        )


def _check_conditions(place: BucketPath) -> None:
    """Refuse a server that does not keep to conditions: two runs could publish at once.

    Raises
    ------
    OutputError
        It wrote where it was not to write.
    """
    probe = place / f"probe-{secrets.token_hex(8)}"
    try:
        tag = probe.put(b"first", None)
    except ChangedError:
        raise conflict(probe) from None
    try:
        for other in (None, '"0123456789abcdef0123456789abcdef"'):
            with contextlib.suppress(ChangedError):
                probe.put(b"second", other)
                raise OutputError(
                    f"{place}: its server ignores conditional writes (If-None-Match, If-Match), "
                    "without which two runs could publish at once; choose another output.path"
                )
        probe.put(b"third", tag)
    except ChangedError:
        raise OutputError(f"{place}: its server refuses If-Match; choose another place") from None
    finally:
        probe.unlink()


def _point_at(release_id: bytes) -> bytes:
    """Content of CURRENT, which no other time it is written has."""
    return release_id + b"\n" + secrets.token_hex(_TOKEN_BYTES).encode() + b"\n"


def _is_internal(name: str) -> bool:
    return name.startswith(f"{INTERNAL}/")


def _nothing() -> None:
    """Check nothing, where a lease has just been acquired."""


def _digest(path: BucketPath) -> bytes:
    """SHA-256 of an object's bytes."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except FileNotFoundError:
        raise conflict(path) from None
