"""Certificates for a Dask cluster with TLS: an authority of its own, and one for each role.

Dask trusts whatever the cluster's authority signed, on both sides of every connection, and does
not look at host names. So the authority serves this cluster alone; its key is never written, and
whoever needs another certificate makes all of them anew:

    python deploy/certificates.py --out tls --days 365
"""

import argparse
import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ROLES = ("scheduler", "worker", "client")
HOSTS = ("localhost", "127.0.0.1")
MOST_DAYS = 36_500


@dataclass(frozen=True)
class _Authority:
    """What signs; it lives as long as the process does."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    until: datetime.datetime


def make_certificates(folder: Path, *, hosts: Sequence[str] = HOSTS, days: int = 1) -> None:
    """Write ``ca.pem``, and ``<role>.pem`` and ``<role>-key.pem`` for each role, to a new folder.

    Only the user can read them. ``hosts`` are names and addresses for clients that, unlike Dask,
    look at them.

    Raises
    ------
    FileExistsError
        The folder is there: certificates in use are not overwritten.
    """
    folder.mkdir(mode=0o700, parents=True)
    authority = _make_authority(days)
    _write(folder / "ca.pem", authority.certificate.public_bytes(serialization.Encoding.PEM))
    for role in ROLES:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(authority, role, key.public_key(), hosts)
        _write(folder / f"{role}.pem", certificate.public_bytes(serialization.Encoding.PEM))
        _write(folder / f"{role}-key.pem", _as_bytes(key))


def _make_authority(days: int) -> _Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    name = _name("tclose cluster authority")
    builder = _builder(name, name, key.public_key(), until)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(signs=True), critical=True)
    return _Authority(key, builder.sign(key, hashes.SHA256()), until)


def _sign(
    authority: _Authority, role: str, key: ec.EllipticCurvePublicKey, hosts: Sequence[str]
) -> x509.Certificate:
    builder = _builder(_name(f"tclose {role}"), authority.certificate.subject, key, authority.until)
    both_ways = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    issuer = authority.key.public_key()
    builder = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both_ways), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        .add_extension(x509.SubjectAlternativeName([_host(h) for h in hosts]), critical=False)
    )
    return builder.sign(authority.key, hashes.SHA256())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    until: datetime.datetime,
) -> x509.CertificateBuilder:
    an_hour_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
        hours=1
    )  # of slow clocks
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(an_hour_ago)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _as_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make them as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--days", type=int, default=365, help="until they expire (default 365)")
    parser.add_argument("--host", action="append", default=[], help="a name of the scheduler")
    given = parser.parse_args(arguments)
    if not 1 <= given.days <= MOST_DAYS:
        parser.error(f"--days {given.days}: has to be from 1 to {MOST_DAYS:,}")
    for host in given.host:
        if not host or not host.isascii():
            parser.error(f"--host {host!r}: has to be a name or an address, in ASCII (xn--...)")
    try:
        make_certificates(given.out, hosts=(*HOSTS, *given.host), days=given.days)
    except OSError as error:
        parser.error(f"{given.out}: {error.strerror}")


if __name__ == "__main__":
    main()
