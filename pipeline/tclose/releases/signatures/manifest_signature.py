"""Public signatures: who has the public key can tell that a manifest is as it was published.

``manifest.sig`` holds an Ed25519 signature (RFC 8032) over the exact bytes of ``manifest.json``,
after a prefix that no other use of the key has. The manifest has the digests of all other files.
A key is known by its id: SHA-256 of the public key as DER (SubjectPublicKeyInfo).
"""

import base64
import binascii
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError, parse_json, read_bounded
from tclose.errors import PolicyError, UsageError
from tclose.releases.signatures.key_files import read_key_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE_FILE = "manifest.sig"
KEY_VARIABLE = "TCLOSE_SIGNING_KEY"
ALGORITHM = "Ed25519"
_PREFIX = b"tclose release manifest, version 1\n"
_KEY_ID = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_BYTES = 16_384
_DER_PREFIX = bytes.fromhex("302a300506032b6570032100")  # of SubjectPublicKeyInfo (RFC 8410)
_MAKE_ONE = "`tclose keys --out FOLDER` makes a pair"


@dataclass(frozen=True)
class PublicKey:
    """The 32 bytes of an Ed25519 public key."""

    raw: bytes

    @property
    def key_id(self) -> str:
        """The id of the key."""
        return f"sha256:{hashlib.sha256(_DER_PREFIX + self.raw).hexdigest()}"

    def verifies(self, signature: bytes, manifest: bytes) -> bool:
        """Return whether a signature is this key's, of these bytes."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, _PREFIX + manifest)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class Signature:
    """The content of a signature file: the key's id, and the signature."""

    key_id: str
    content: bytes


@dataclass(frozen=True, repr=False)
class Signer:
    """A private key, by its 32 bytes."""

    seed: bytes

    @property
    def public(self) -> PublicKey:
        """Its public key."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    @property
    def _key(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)

    def sign(self, manifest: bytes) -> bytes:
        """Content of the signature file of a manifest: the same for the same bytes."""
        return _write(Signature(self.public.key_id, self._key.sign(_PREFIX + manifest)))


def _write(signature: Signature) -> bytes:
    lines = (
        f'"algorithm": "{ALGORITHM}"',
        f'"key_id": "{signature.key_id}"',
        f'"signature": "{base64.b64encode(signature.content).decode()}"',
    )
    return ("{\n  " + ",\n  ".join(lines) + "\n}\n").encode()


def read_signature(release: Location) -> Signature | None:
    """Read the signature file of a release; None where there is none.

    Raises
    ------
    MalformedError
        It is no signature file, or not written as one: the same signature has one form only.
    """
    try:
        content = read_bounded(release / SIGNATURE_FILE, _MOST_BYTES)
        document = parse_json(content)
    except FileNotFoundError:
        return None
    except OSError:
        raise MalformedError("cannot be read") from None
    keys = ("algorithm", "key_id", "signature")
    if not isinstance(document, dict) or not all(type(document.get(key)) is str for key in keys):
        raise MalformedError("is damaged")
    if not _KEY_ID.fullmatch(document["key_id"]):
        raise MalformedError("is damaged")
    if document["algorithm"] != ALGORITHM:
        raise MalformedError(f"is of another algorithm than {ALGORITHM}")
    try:
        decoded = base64.b64decode(document["signature"], validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError("is damaged") from None
    signature = Signature(document["key_id"], decoded)
    if _write(signature) != content:
        raise MalformedError("is damaged")
    return signature


def find_signing_key(release: Location) -> str | None:
    """Id of the key that a release says it is signed by; None where it says nothing sound."""
    try:
        signature = read_signature(release)
    except MalformedError:
        return None
    return None if signature is None else signature.key_id


def find_wrong_signature(release: Location, manifest: bytes, key: PublicKey) -> list[str]:
    """List the reasons why a manifest is not the one that a key has signed; empty if it is."""
    try:
        signature = read_signature(release)
    except MalformedError as error:
        return [f"{SIGNATURE_FILE}: {error}"]
    if signature is None:
        return [f"{SIGNATURE_FILE}: is missing, so nothing says who published the manifest"]
    if signature.key_id == key.key_id and key.verifies(signature.content, manifest):
        return []
    if signature.key_id != key.key_id:
        both = f"{signature.key_id}, not {key.key_id}"
        return [f"{SIGNATURE_FILE}: is by another key than the one given ({both})"]
    return [f"{SIGNATURE_FILE}: does not fit manifest.json: one of them was changed"]


def read_public_key(path: Path) -> PublicKey:
    """The public key of a PEM file.

    Raises
    ------
    UsageError
        It cannot be read, or is no Ed25519 public key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        content = read_bounded(path, _MOST_BYTES, follow=True)
        key = load_pem_public_key(content)
    except OSError as error:
        raise UsageError(f"public key {path}: cannot be read ({error.strerror})") from None
    except MalformedError as error:
        raise UsageError(f"public key {path}: {error}; {_MAKE_ONE}") from None
    except (ValueError, UnsupportedAlgorithm):
        if b"PRIVATE KEY" in content:
            raise UsageError(f"public key {path}: is a private key; give the public one") from None
        raise UsageError(f"public key {path}: is not a public key in PEM; {_MAKE_ONE}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(f"public key {path}: is of another algorithm than {ALGORITHM}")
    return PublicKey(key.public_bytes_raw())


def find_signer(key_name: str | None) -> Signer | None:
    """The key that a policy's ``output.signing_key`` names, or the environment; None if neither.

    Raises
    ------
    PolicyError
        It cannot be read, could be read by others, or is no Ed25519 private key.
    """
    named = key_name or os.environ.get(KEY_VARIABLE)
    if not named:
        return None
    where = f"{'output.signing_key' if key_name else KEY_VARIABLE} {named}"
    return _parse_private(read_key_file(named, where, _MAKE_ONE), where)


def _parse_private(content: bytes, where: str) -> Signer:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(content, password=None)
    except TypeError:
        raise PolicyError(f"{where}: has a passphrase; give a key without one") from None
    except (ValueError, UnsupportedAlgorithm):
        raise PolicyError(f"{where}: is not a private key in PEM; {_MAKE_ONE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise PolicyError(f"{where}: is of another algorithm than {ALGORITHM}; {_MAKE_ONE}")
    return Signer(key.private_bytes_raw())
