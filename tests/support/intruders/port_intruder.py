"""Attempts of another user of the machine on loopback ports: ``intruder USER PORT ...``.

An empty USER is the one that calls it. Prints a line of JSON: what was achieved, by port. Clients
and messages of Dask are used, without encryption and with a certificate of the intruder's own, and
its pages are asked for.
"""

import asyncio
import contextlib
import http.client
import json
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from distributed import Client, Security
from distributed.core import rpc

from support.intruders.other_users import become

SECONDS = 4
PAGES = ("/", "/health", "/metrics", "/json/identity.json", "/info/main/workers.html", "/status")


async def identify(address: str, security: Security) -> str:
    """Ask a process of a cluster what it is."""
    async with rpc(address, connection_args=security.get_connection_args("client")) as peer:
        answer = await peer.identity()
    return f"is a {answer['type']}"


async def run_code(address: str, security: Security) -> str:
    """Have a function run as the user of the cluster."""
    async with Client(address, security=security, asynchronous=True, timeout=SECONDS) as client:
        return f"runs code as user {await client.submit(os.getuid)}"


async def attempt(action: Any, address: str, security: Security) -> str | None:
    with contextlib.suppress(Exception):
        return await asyncio.wait_for(action(address, security), SECONDS)
    return None


async def attack(port: int, own: Security) -> list[str]:
    ways = [("tcp", Security(require_encryption=False)), ("tls", own)]
    attempts = [
        attempt(action, f"{scheme}://127.0.0.1:{port}", security)
        for scheme, security in ways
        for action in (identify, run_code)
    ]
    return [result for result in await asyncio.gather(*attempts) if result]


def read_pages(port: int) -> Iterator[str]:
    """Pages that are there."""
    for page in PAGES:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
            connection.request("GET", page)
            if connection.getresponse().status < 400:
                yield f"shows {page}"


async def main(ports: list[int], own: Security) -> dict[int, list[str]]:
    found = await asyncio.gather(*(attack(port, own) for port in ports))
    return {port: [*done, *read_pages(port)] for port, done in zip(ports, found, strict=True)}


if __name__ == "__main__":
    logging.disable()
    certificate = Security.temporary()
    if sys.argv[1]:
        become(sys.argv[1])
    achieved = asyncio.run(main([int(port) for port in sys.argv[2:]], certificate))
    sys.stdout.write(json.dumps({port: done for port, done in achieved.items() if done}) + "\n")
