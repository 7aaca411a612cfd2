"""A real S3-compatible server on loopback, and buckets in it."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.stack.processes import free_port
from support.servers.clusters import ROOT, clean_environment
from tclose.data.places.bucket_client import filesystem
from tclose.data.places.bucket_paths import BucketPath

SECRET = "wJalrXUtnFEMI-not-to-be-told"
START_SECONDS = 300


def environment(port: int) -> dict[str, str]:
    """Environment by which an AWS client finds the server, and no other."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "AKIATESTING",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


@contextmanager
def running_server() -> Iterator[int]:
    """Port of a server that runs as long as the block lasts."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "support.servers.moto_server", str(port)],
        env=clean_environment(ROOT / "tests"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.wait(timeout=START_SECONDS)


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.05)
        else:
            return


def make_bucket() -> BucketPath:
    """A new, empty bucket."""
    name = f"bucket-{secrets.token_hex(6)}"
    filesystem().call_s3("create_bucket", Bucket=name)
    return BucketPath(name)


def objects(place: BucketPath) -> dict[str, bytes]:
    """All objects below a place: content by path."""
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob()}
