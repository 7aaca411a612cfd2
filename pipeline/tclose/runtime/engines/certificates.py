"""A certificate for the cluster of one run: whoever lacks it is no part of that cluster.

Dask trusts whatever the cluster's authority signed, on both sides of every connection. Here the
certificate is its own authority. Certificate and key are files of the run's scratch folder: of
those that it is given in memory, Dask writes a copy into TMPDIR whenever a process makes or takes
connections, and a kill at that moment leaves the copy there. ``Security.temporary`` is not used for
that, nor for its certificates, which are valid from now on for a year, so that a clock that is set
back parts a run from its workers.
"""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# A certificate lives as long as its key, which ends with the run. OpenSSL compares these with the
# clock at each connection, and a clock that jumps must not part a run from its workers.
_FIRST = datetime.datetime(1950, 1, 1, tzinfo=datetime.UTC)
_LAST = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)
_ROLES = ("client", "scheduler", "worker")


def make_tls_configuration(folder: Path) -> Mapping[str, Any]:
    """Return Dask's configuration for TLS alone, with a new key and certificate (PEM) in a folder.

    Parameters
    ----------
    folder : one that only this user can read, and that lasts as long as the cluster
    """
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    for path, text in zip((certificate, key), _make_certificate(), strict=True):
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text)
    configured: dict[str, Any] = {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": str(certificate),
        "distributed.comm.tls.min-version": 1.3,
        "distributed.comm.tls.max-version": None,
        "distributed.comm.tls.ciphers": None,
    }
    for role in _ROLES:
        configured[f"distributed.comm.tls.{role}.cert"] = str(certificate)
        configured[f"distributed.comm.tls.{role}.key"] = str(key)
    return configured


def _make_certificate() -> tuple[str, str]:
    """A certificate signed with its own key, and that key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tclose run")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FIRST)
        .not_valid_after(_LAST)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()
