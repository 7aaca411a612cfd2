"""The contents of a release, compared with its manifest.

Nothing outside the release is read, whatever its manifest lists or its links point to.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from tclose.data.places.bucket_paths import BucketPath
from tclose.data.places.locations import INTERNAL, Location, internal_of
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import ForbiddenError, OutputError
from tclose.releases.manifest.internal_manifest import InternalManifest, Origin
from tclose.releases.manifest.public_manifest import Manifest, parse_as
from tclose.releases.manifest.sections import DataFile, Document
from tclose.releases.repository.entries import Entries, list_inside, scan_folder
from tclose.releases.signatures.manifest_signature import SIGNATURE_FILE
from tclose.releases.signatures.seals import (
    REGISTER_FILE,
    SEAL_FILE,
    list_internal,
    verify_signatures,
)
from tclose.releases.stores.filesystem import FolderStore
from tclose.releases.stores.store import Store

MANIFEST = "manifest.json"
DOCUMENTS = ("datapackage.json", "dictionary.md", "report.html")
KEY_FILE = "release-key"
KEY_BYTES = 32
_BLOCK = 1 << 22


def file_sha256(path: Location) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def open_store(root: Location) -> Store:
    """Return the store of a location."""
    if not isinstance(root, BucketPath):
        return FolderStore(root)
    from tclose.releases.stores.object_store import BucketStore

    return BucketStore(root)


def read_content(release: Location) -> bytes:
    """The bytes of the public manifest of a release.

    Raises
    ------
    MalformedError
        It is missing, or no file that a release has.
    """
    try:
        return read_bounded(release / MANIFEST)
    except OSError:
        raise MalformedError("is missing or cannot be read") from None


def read_manifest(release: Location) -> Manifest | None:
    """The public manifest of a release; None where it is missing or damaged."""
    try:
        return parse_as(Manifest, read_content(release))
    except MalformedError:
        return None


def read_internal(release: Location) -> InternalManifest | None:
    """The manifest of a release that stays inside; None where it is not at hand, or damaged."""
    try:
        return _parse_internal(release)
    except MalformedError:
        return None


def read_origin(release: Location) -> Origin | None:
    """Return the origin of a release's records; None where its internal manifest is missing.

    Raises
    ------
    MalformedError
        The manifest is there, and does not tell.
    """
    content = _read_inside(release)
    return None if content is None else parse_as(Origin, content)


def _parse_internal(release: Location) -> InternalManifest | None:
    """The manifest of a release that stays inside; None where it is not at hand.

    Raises
    ------
    MalformedError
        It is damaged.
    """
    content = _read_inside(release)
    return None if content is None else parse_as(InternalManifest, content)


def _read_inside(release: Location) -> bytes | None:
    try:
        return read_bounded(internal_of(release) / MANIFEST)
    except (OSError, ForbiddenError):  # to whom the release was handed out
        return None


def verify_checksums(release: Location, manifest: Manifest) -> list[str]:
    """List the differences between a release's files and its manifest; empty if there are none."""
    listed: dict[str, Document | DataFile] = {
        entry.path: entry for entry in manifest.documents if entry.path in DOCUMENTS
    }
    listed |= {entry.path: entry for entry in manifest.files}
    own = {MANIFEST, SIGNATURE_FILE}
    entries = scan_folder(release, {*listed, *own}, aside={INTERNAL})
    damage = [f"{name}: {what}" for name, what in entries.others if not _is_data(name)]
    damage += _find_strangers(entries, {*listed, *own})
    damage += [f"{name}: is missing" for name in sorted(listed.keys() - entries.names)]
    damage += [f"{name}: {what}" for name, what in entries.others if _is_data(name)]
    extra = sorted(filter(_is_data, entries.files - listed.keys()))
    damage += [f"{name}: is not in the manifest" for name in extra]
    for name in sorted(entries.files & listed.keys()):
        path, entry = release / name, listed[name]
        if path.stat().st_size != entry.bytes or file_sha256(path) != entry.sha256:
            damage.append(f"{name}: its content has changed")
    return damage + _find_strangers_inside(release)


def _is_data(name: str) -> bool:
    return name.startswith("data/")


def _find_strangers(entries: Entries, known: set[str]) -> list[str]:
    beside = sorted(name for name in entries.files - known if not _is_data(name))
    return [f"{name}: does not belong to the release" for name in beside]


def _find_strangers_inside(release: Location) -> list[str]:
    """List the entries of the internal part that are not files of a run, where it is readable."""
    known = {*list_internal(release), SEAL_FILE, REGISTER_FILE}
    try:
        entries = list_inside(internal_of(release), known)
    except (PermissionError, FileNotFoundError, ForbiddenError):
        return []
    damage = [f"{INTERNAL}/{name}: {what}" for name, what in entries.others]
    strangers = sorted(entries.files - known)
    return damage + [f"{INTERNAL}/{name}: does not belong to the release" for name in strangers]


def find_hard_links(release: Location, manifest: Manifest) -> list[str]:
    """Files of a release that have another name too, through which they could be changed."""
    if not isinstance(release, Path):
        return []
    names = [MANIFEST, *(entry.path for entry in manifest.files)]
    linked = [name for name in names if (release / name).lstat().st_nlink > 1]
    return [f"{name}: has another hard link, through which it can be changed" for name in linked]


def diff_manifests(release: Location, manifest: Manifest) -> list[str]:
    """List the entries of the public manifest that differ from the internal one, if readable.

    Where the internal one is damaged, that it is.
    """
    try:
        internal = _parse_internal(release)
    except MalformedError as error:
        return [f"{INTERNAL}/{MANIFEST}: {error}"]
    if internal is None:
        return []
    public, inside = manifest.to_json(), internal.to_json()
    keys = dict.fromkeys((*public, "documents"))  # no key, no documents: seen too
    differing = [key for key in keys if key != "code" and inside.get(key) != public.get(key)]
    damage = [f"{MANIFEST}: {key!r} differs from the internal manifest" for key in differing]
    return damage + _find_other_register(release, internal)


def _find_other_register(release: Location, internal: InternalManifest) -> list[str]:
    """Say that the register of a release of a series is not the one that was published."""
    if internal.over_time is None:
        return []
    place = internal_of(release) / REGISTER_FILE
    if not place.is_file():
        return [f"{INTERNAL}/{REGISTER_FILE}: is missing"]
    if file_sha256(place) != internal.over_time.register_sha256:
        return [f"{INTERNAL}/{REGISTER_FILE}: its content has changed"]
    return []


def find_broken_seals(release: Location, names: Collection[str] | None = None) -> list[str]:
    """Manifests and internal files that are not as they were published, where that can be seen.

    It takes the release key. Where that is at hand seals are due, whatever the manifest says of its
    format: who takes them away can write that, too.

    Parameters
    ----------
    names : of the files that are looked at, by their paths in the release; None: all
    """
    key = find_key(release)
    return [] if key is None else verify_signatures(release, key, names)


def find_key(release: Location) -> bytes | None:
    """The key that releases of an output folder are sealed with; None where it is not at hand.

    Raises
    ------
    OutputError
        The file is there, and is no key: whatever was sealed would seem to be changed.
    """
    for output in _list_outputs(release):
        with contextlib.suppress(OSError, ForbiddenError):
            store = open_store(output)
            if (key := store.read(KEY_FILE)) is not None:
                return check_key(key, store)
    return None


def check_key(key: bytes | None, store: Store) -> bytes:
    """The release key of a store, as it was read.

    Raises
    ------
    OutputError
        It is missing, or has not as many bytes as a key has.
    """
    if key is None or len(key) != KEY_BYTES:
        raise OutputError(
            f"output {store.private(KEY_FILE)}: is not a release key; put back the {KEY_BYTES} "
            "bytes it had, or remove it if no release was made with it"
        )
    return key


def _list_outputs(release: Location) -> list[Location]:
    """The output folder that a release is in, by the path given and by where that leads."""
    if not isinstance(release, Path):
        return [release.parent.parent]
    by_path, by_links = Path(os.path.abspath(release)), release.resolve()  # noqa: PTH100
    return list(dict.fromkeys((by_path.parent.parent, by_links.parent.parent)))


def is_intact(release: Location) -> bool:
    """Return whether a release is as published: data, both manifests, plan and lineage."""
    try:
        manifest = parse_as(Manifest, read_content(release))
        if read_internal(release) is None or diff_manifests(release, manifest):
            return False
        return not find_broken_seals(release) and not verify_checksums(release, manifest)
    except (MalformedError, OSError):
        return False
