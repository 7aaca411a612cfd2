"""A Dask client that the caller of this process has, used instead of a connection of one's own."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from tclose.errors import UnreachableError, UsageError

_GIVEN: ContextVar[Any] = ContextVar("given_client", default=None)


@contextlib.contextmanager
def using_client(client: Any) -> Iterator[None]:
    """Have runs in the block use a client, whatever engine their policy names.

    The client stays open: it is the caller's.

    Raises
    ------
    UsageError
        It is no client, or one that can only be awaited.
    UnreachableError
        It is closed, or has lost its scheduler.
    """
    from distributed import Client

    if not isinstance(client, Client):
        raise UsageError(
            f"client: has to be a distributed.Client, not a {type(client).__name__}; make one by "
            "Client(address) or Client(cluster)"
        )
    if client.status != "running":
        raise UnreachableError(
            f"client: is {client.status}; make a new one, or leave client out to run on this "
            "machine"
        )
    if client.asynchronous:
        raise UsageError("client: is asynchronous; make it by Client(..., asynchronous=False)")
    token = _GIVEN.set(client)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given_address() -> str:
    """Address of the scheduler of the client that was given; ``""`` where none was."""
    client = _GIVEN.get()
    scheduler = None if client is None else client.scheduler
    return "" if scheduler is None else str(scheduler.address)


def find_client(address: str) -> Any | None:
    """The client that was given for a scheduler, if one was."""
    return _GIVEN.get() if address and given_address() == address else None
