"""A range of releases as a Prefect flow: the flow ``release`` for each of many days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from tclose.errors import PolicyError, TaskError
from tclose.policy.policy import Policy
from tclose_flows.concurrency import RETRIES, TIMEOUT_MINUTES, Minutes, Retries
from tclose_flows.pages.failures import fail
from tclose_flows.pages.prefect_artifacts import leave, table
from tclose_flows.pages.run_names import name_backfill
from tclose_flows.parameters import check_parameters
from tclose_flows.policies import resolve_policy
from tclose_flows.release_flow import describe, release
from tclose_flows.schedule import Day, Step, days_between, parse_day

_TO_DO = """The days that failed have flow runs of their own below this one, and each says what to
do. Then run the backfill again with the same range: what is published is found by its digests and
skipped."""
_NOT_BEGUN = """The days after it were not begun: releases of a series are held together in the
order in which they are made, and one that comes after later ones has to leave more records out."""


@dataclass(frozen=True)
class _DayOutcome:
    """The outcome of one day's release."""

    day: date
    name: str
    state: State[Any]

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Return a row of a table: day, name, state, message."""
        return str(self.day), self.name, str(self.state.name), self.state.message or ""


@flow(
    name="backfill",
    flow_run_name=name_backfill,
    persist_result=False,
    cache_result_in_memory=False,
    validate_parameters=False,
)
def backfill(
    policy: Policy | str,
    first: Day,
    last: Day,
    every: Step = "month",
    overrides: tuple[str, ...] = (),
    retries: Retries = RETRIES,
    timeout_minutes: Minutes = TIMEOUT_MINUTES,
) -> State[Any]:
    """Make the releases of a range of days, one after the other; what is published is skipped.

    A day that fails does not keep the others from being made, but those of a series that is held
    together.

    Args:
        policy: A policy, or the path of its file where the flow runs; its name has {as_of}.
        first: The first day.
        last: The last day, included where it falls on a step.
        every: The step from day to day.
        overrides: Of the policy's keys, as in privacy.t=0.05.
        retries: Further attempts of each release where one can help.
        timeout_minutes: Of one attempt at one release.
    """
    try:
        check_parameters(retries=retries, timeout_minutes=timeout_minutes)
        days = days_between(parse_day(first, "first"), parse_day(last, "last"), every)
        policies = [resolve_policy(policy, overrides, day, "UTC") for day in days]
        _check_names(policies)
    except Exception as error:
        return fail("failed", "backfill", describe(error, "backfill"), "Backfill: failed")
    outcomes: list[_DayOutcome] = []
    for day, day_policy in zip(days, policies, strict=True):
        state = release(
            policy, overrides, day, retries=retries, timeout_minutes=timeout_minutes,
            return_state=True,
        )  # fmt: skip
        outcomes.append(_DayOutcome(day, day_policy.name, state))
        if not state.is_completed() and day_policy.privacy.over_time is not None:
            break
    return _end(outcomes, days)


def _check_names(policies: list[Policy]) -> None:
    """Refuse releases of several days under one name: the last made would become the current one.

    Raises
    ------
    PolicyError
    """
    if len({policy.name for policy in policies}) < len(policies):
        raise PolicyError(
            f"name: {policies[0].name!r} stands for several days, so that an old release would "
            "become the current one; tell them apart, as in adult-{as_of:%Y-%m}"
        )


def _end(outcomes: list[_DayOutcome], days: Sequence[date]) -> State[Any]:
    failed = [one for one in outcomes if not one.state.is_completed()]
    stand = f"{len(outcomes) - len(failed)} of {len(days)} releases stand"
    lines = [f"# Backfill: {stand}", ""]
    lines += table(("as of", "release", "state", "message"), [one.row for one in outcomes])
    if failed:
        lines += ["", "## What to do", "", _TO_DO]
    if len(outcomes) < len(days):
        lines += ["", _NOT_BEGUN]
    about = f"{stand}: {days[0]} to {days[-1]}"
    leave("backfill", outcomes[0].name, "\n".join(lines), about)
    if failed:
        which = ", ".join(str(one.day) for one in failed)
        left = (
            f"; {len(days) - len(outcomes)} after it not begun" if len(outcomes) < len(days) else ""
        )
        failure = TaskError(f"{len(failed)} of {len(days)} releases failed: those of {which}{left}")
        return Failed(message=str(failure), data=failure)
    return Completed(message=f"{len(outcomes)} releases stand", data=len(outcomes))
