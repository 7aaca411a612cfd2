"""The address of an existing scheduler, its TLS settings, and a check that it answers.

Whether it does is asked of a socket. ``distributed.comm.connect`` tries a closed port again until
its time is over, and takes the first bytes of a server of another kind for sizes of memory.
"""

import contextlib
import os
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from tclose.errors import PolicyError, UnreachableError
from tclose.policy.sections.engine_settings import KUBERNETES, LOCAL, EngineSettings, TlsSettings
from tclose.runtime.engines import kubernetes

ANSWER_SECONDS = 10
START_SECONDS = 300  # of a cluster that is made for the run: images may have to be pulled
SECONDS_BETWEEN_PROBES = 2
_GREETING_BYTES = 8
_LONGEST_GREETING = 1 << 20


def check_scheduler(settings: EngineSettings) -> None:
    """Refuse a scheduler that does not answer: Dask would wait for long, or for ever.

    Raises
    ------
    UnreachableError
        Nobody answers, or something else does.
    PolicyError
        The certificates do not fit; says which and why.
    """
    if settings.scheduler == LOCAL:
        return
    with _certificates(settings):
        if settings.scheduler != KUBERNETES:
            _probe(settings.scheduler)
        elif settings.kubernetes.manifest is None:
            _probe(kubernetes.service_address(settings.kubernetes, _protocol()))
        else:
            kubernetes.read_cluster_manifest(settings.kubernetes)


@contextlib.contextmanager
def existing_address(settings: EngineSettings) -> Iterator[str]:
    """Address of the policy's scheduler; what Dask does in the block uses its certificates."""
    with _certificates(settings):
        if settings.scheduler != KUBERNETES:
            yield settings.scheduler
        elif settings.kubernetes.manifest is None:
            yield kubernetes.service_address(settings.kubernetes, _protocol())
        else:
            with kubernetes.cluster_for_run(settings, _protocol()) as address:
                _wait_for(address)
                yield address


@contextlib.contextmanager
def _certificates(settings: EngineSettings) -> Iterator[None]:
    """Give Dask the policy's certificates; without them Dask's own configuration holds."""
    import dask
    import distributed  # noqa: F401 (with it comes its configuration, which would replace ours)

    if settings.tls is None:
        yield
        return
    _check_files(settings.tls)
    configured = {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": settings.tls.ca,
        "distributed.comm.tls.client.cert": settings.tls.cert,
        "distributed.comm.tls.client.key": settings.tls.key,
    }
    with dask.config.set(configured):
        yield


def _check_files(tls: TlsSettings) -> None:
    for key, path in (("ca", tls.ca), ("cert", tls.cert), ("key", tls.key)):
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise PolicyError(
                f"engine.tls.{key} {path}: cannot be read ({os.strerror(error.errno or 0)})"
            ) from None
        if b"ENCRYPTED" in text:  # a passphrase would be asked for on the terminal
            raise PolicyError(
                f"engine.tls.{key} {path}: has a passphrase, which cannot be entered; give a key "
                "without one that only its user may read"
            )


def _protocol() -> str:
    import dask

    return "tls" if dask.config.get("distributed.comm.tls.ca-file") else "tcp"


def _wait_for(address: str) -> None:
    """Wait until the scheduler of a cluster that was just made answers."""
    deadline = time.monotonic() + START_SECONDS
    while not _answers(address):
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"engine.scheduler {address}: no answer in {START_SECONDS} seconds; look for what "
                "its pods wait for: kubectl get events"
            )
        time.sleep(SECONDS_BETWEEN_PROBES)


def _answers(address: str) -> bool:
    try:
        _probe(address)
    except UnreachableError:
        return False
    return True


def _probe(address: str) -> None:
    """Listen to the scheduler: it speaks first, eight bytes with the length of its greeting."""
    place = urlsplit(address)
    context = _tls_context(address) if place.scheme == "tls" else None
    try:
        heard = _listen(place, context)
    except ssl.SSLError as error:
        raise _refused(address, error) from None
    except (OSError, ValueError):
        heard = b""
    if len(heard) < _GREETING_BYTES or int.from_bytes(heard, "little") >= _LONGEST_GREETING:
        raise UnreachableError(
            f"engine.scheduler {address}: no Dask scheduler answers there; start it, use local, or "
            "look whether it is tcp:// or tls://"
        )


def _listen(place: SplitResult, context: ssl.SSLContext | None) -> bytes:
    host, port = place.hostname or "", place.port or 0
    heard = b""
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(socket.create_connection((host, port), ANSWER_SECONDS))
        if context is not None:
            stream = stack.enter_context(context.wrap_socket(stream, server_hostname=host))
        while len(heard) < _GREETING_BYTES:
            more = stream.recv(_GREETING_BYTES - len(heard))
            if not more:
                break
            heard += more
    return heard


def _tls_context(address: str) -> ssl.SSLContext:
    """Return Dask's TLS context: certificates of the cluster's own authority, on both sides."""
    from distributed import Security

    try:
        context: Any = Security().get_connection_args("client")["ssl_context"]
    except (OSError, ssl.SSLError):
        raise PolicyError(
            f"engine.scheduler {address}: engine.tls names no certificate in PEM with its own key; "
            "correct ca, cert and key"
        ) from None
    if context is None:
        raise PolicyError(
            f"engine.scheduler {address}: engine.tls is missing; give ca, cert and key"
        )
    return cast(ssl.SSLContext, context)


def _refused(address: str, error: ssl.SSLError) -> PolicyError:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"its certificate is not verified by engine.tls.ca: {error.verify_message}"
    elif "ALERT" in (error.reason or ""):
        reason = "it does not take the certificate of engine.tls.cert; have it signed by its own ca"
    else:
        reason = "what answers there does not speak TLS; start the scheduler with --protocol tls"
    return PolicyError(f"engine.scheduler {address}: {reason}")
