"""A new pair of keys for public signatures, as files."""

import os
from dataclasses import dataclass
from pathlib import Path

from tclose.data.places.atomic_files import force_to_disk, write_new
from tclose.errors import OutputError
from tclose.releases.signatures.manifest_signature import PublicKey

PRIVATE_FILE, PUBLIC_FILE = "signing-key.pem", "public-key.pem"


@dataclass(frozen=True)
class KeyPair:
    """The files of the two keys of a pair, and their id."""

    private: Path
    public: Path
    key_id: str


def write_key_pair(folder: Path) -> KeyPair:
    """Make a pair of keys: the private one for its owner alone. Nothing is ever written over.

    Raises
    ------
    OutputError
        There are keys already, it holds releases, or the folder cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    private, public = folder / PRIVATE_FILE, folder / PUBLIC_FILE
    _open_folder(folder, (private, public))
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    shared = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    try:
        write_new(private, secret, 0o600)
        _write_public(public, shared, private)
        force_to_disk(folder)
    except OSError as error:
        raise OutputError(f"keys {folder}: cannot be written ({error.strerror})") from None
    return KeyPair(private, public, PublicKey(key.public_key().public_bytes_raw()).key_id)


def _open_folder(folder: Path, files: tuple[Path, ...]) -> None:
    """Make the folder; refuse one that is handed out, and one that has keys."""
    place = folder.absolute().resolve()
    marks = ("CURRENT", ".release-key")
    for at in (place, *place.parents):
        if any((at / mark).exists() for mark in marks):
            within = "" if at == place else f"is in {at}, and "
            raise OutputError(f"keys {folder}: {within}it holds releases; choose another folder")
    for file in files:
        if os.path.lexists(file):
            raise OutputError(f"keys {file}: exists already and is not overwritten; choose "
                              "another folder")  # fmt: skip
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"keys {folder}: cannot be written ({error.strerror})") from None


def _write_public(public: Path, content: bytes, private: Path) -> None:
    """Write the public key; without it the private one is gone, too, so that a call can follow."""
    try:
        write_new(public, content, 0o644)
    except BaseException:
        private.unlink(missing_ok=True)
        raise
