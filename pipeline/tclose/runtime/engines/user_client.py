"""A Dask client of the caller, used instead of a connection of tclose's own."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tclose.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    from distributed import Client

_USER_CLIENT: ContextVar["Client | None"] = ContextVar("user_client", default=None)


@contextlib.contextmanager
def using_client(client: Any) -> Iterator[None]:
    """Run the block with the caller's client, whatever engine policies name.

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
    token = _USER_CLIENT.set(client)
    try:
        yield
    finally:
        _USER_CLIENT.reset(token)


def user_client_address() -> str:
    """Return the scheduler's address of the caller's client; ``""`` if there is none."""
    client = _USER_CLIENT.get()
    scheduler = None if client is None else client.scheduler
    return "" if scheduler is None else str(scheduler.address)


def find_client(address: str) -> "Client | None":
    """Return the caller's client of a scheduler, if there is one."""
    return _USER_CLIENT.get() if address and user_client_address() == address else None
