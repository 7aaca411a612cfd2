"""Retries of flow runs, and their order: runs of one release follow one another."""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

from prefect import Task, get_client
from prefect.client.schemas.objects import ConcurrencyLeaseHolder, State, TaskRun
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL
from pydantic import Field

from tclose.errors import TcloseError
from tclose_flows.parameters import MOST_MINUTES, MOST_RETRIES

Retries = Annotated[int, Field(ge=0, le=MOST_RETRIES)]
Minutes = Annotated[float, Field(gt=0, le=MOST_MINUTES)]
RETRIES = 3
TIMEOUT_MINUTES = 24 * 60.0
RETRY_SECONDS = [30.0, 120.0, 600.0]  # before each further attempt
SLOT_SECONDS = 30.0
_LEASE_SECONDS = 60.0  # the least that Prefect grants: a slot outlives a killed run by a minute


def retryable(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Return whether another attempt can help; it cannot after a refusal."""
    del task, run
    return isinstance(state.data, TcloseError) and state.data.retryable


def slot_name(name: str) -> str:
    """Prefect's concurrency limit for the runs of a release name."""
    return f"tclose-{name}"


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Wait a while for runs of the same release that Prefect knows.

    This keeps runs in a queue that can be looked at; that no two write is seen to by the lease on
    the release's folder, which is taken afterwards and needs no server. So a slot that is not to be
    had, as one that a killed server has forgotten to give back, stops nothing for good.
    """
    held = contextlib.ExitStack()
    if PREFECT_API_URL.value():  # not the embedded server, which is alone
        _take_slot(held, slot_name(name))
    try:
        yield
    finally:
        _release_slot(held, slot_name(name))


def _take_slot(held: contextlib.ExitStack, slot: str) -> None:
    try:
        with get_client(sync_client=True) as client, contextlib.suppress(ObjectAlreadyExists):
            client.upsert_global_concurrency_limit_by_name(slot, limit=1)
        held.enter_context(
            concurrency(
                slot,
                timeout_seconds=SLOT_SECONDS,
                lease_duration=_LEASE_SECONDS,
                strict=True,
                holder=ConcurrencyLeaseHolder(type="flow_run", id=flow_run.id),
                raise_on_lease_renewal_failure=False,
            )
        )
    except Exception as error:
        reason = "is taken" if isinstance(error, TimeoutError) else type(error).__name__
        get_run_logger().warning("no slot %s (%s): the release's lease decides", slot, reason)


def _release_slot(held: contextlib.ExitStack, slot: str) -> None:
    """Give a slot back; a server that is away takes it back by itself, and spoils no release."""
    try:
        held.close()
    except Exception as error:
        get_run_logger().warning("slot %s was not given back (%s)", slot, type(error).__name__)
