"""The release as a Prefect flow: one task per stage, each a thin cover of ``pipeline.execution``.

What Prefect's server stores of a run is the policy, times, states, tclose's own error messages and
the verdict: no results, and no values of the microdata. Whether a release is made already is
decided by its own manifest and digests, never by Prefect's cache, so tasks have none. What may pass
is tried again: a further attempt goes on from the last piece whose files match their digests.
"""

import functools
from collections.abc import Callable
from typing import Any, cast

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from flows.accounts import leave, tell_failure, tell_outcome
from flows.days import AsOf, resolve_day
from flows.interrupts import check_interrupted
from flows.limits import (
    RETRIES,
    RETRY_SECONDS,
    TIMEOUT_MINUTES,
    Minutes,
    Retries,
    may_pass,
    one_at_a_time,
)
from pipeline.errors import TcloseError, UnitError
from pipeline.execution import release as stages
from pipeline.execution.engine import describe_failure
from pipeline.execution.progress import Progress, default_style
from pipeline.execution.release import Outcome, Run
from pipeline.settings import Policy, load_policy, parse_policy

Stage = Callable[[Run, str], None]
NOTHING_KEPT: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "cache_result_in_memory": False,
}


def _stage_task(stage: Stage) -> Stage:
    """Make a task of a stage; nothing but tclose's own errors, which hold no values, leaves it."""

    @functools.wraps(stage)
    def guarded(run: Run, style: str) -> None:
        try:
            stage(run, style)
        except Exception as error:
            raise describe_failure(error, stage.__name__).without_values() from None

    return cast(Stage, task(guarded, **NOTHING_KEPT))


@_stage_task
def summarise(run: Run, style: str) -> None:
    """Pass 1: mergeable summaries of every partition."""
    stages.summarise(run, Progress(style))


@_stage_task
def plan(run: Run, style: str) -> None:
    """Decide class size, subsets and regions; give every record its place."""
    stages.plan(run, Progress(style))


@_stage_task
def microaggregate(run: Run, style: str) -> None:
    """Pass 2: the classes of every region."""
    stages.microaggregate(run, Progress(style))


@_stage_task
def verify(run: Run, style: str) -> None:
    """Pass 3: every class checked as it is to be released."""
    stages.verify(run, Progress(style))


@_stage_task
def publish(run: Run, style: str) -> None:
    """Write the files, then switch: all or nothing."""
    stages.publish(run, Progress(style))


@task(
    **NOTHING_KEPT,
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=may_pass,
)
def attempt(policy: Policy, style: str) -> Outcome:
    """Claim the release and run the stages that are left; or find it published."""
    try:
        with (
            one_at_a_time(policy.name),
            stages.open_run(policy, Progress(style), flow_run=flow_run.id) as run,
        ):
            was_there = run.is_published
            if not was_there:
                for stage in (summarise, plan, microaggregate, verify, publish):
                    stage(run, style)
                    check_interrupted()
            return stages.outcome_of(run, was_there=was_there)
    except Exception as error:
        raise describe_failure(error, "release").without_values() from None


# Parameters of flows are described under Args: there Prefect's pages find what to say of them.
@flow(
    name="release",
    persist_result=False,
    cache_result_in_memory=False,
    validate_parameters=False,  # tclose's own messages say what is wrong with a policy
)
def release(
    policy: Policy | str,
    overrides: tuple[str, ...] = (),
    as_of: AsOf = None,
    timezone: str = "UTC",
    retries: Retries = RETRIES,
    timeout_minutes: Minutes = TIMEOUT_MINUTES,
    quiet: bool = False,
) -> State[Any]:
    """Make and publish the release that a policy asks for, or fail and publish nothing.

    Args:
        policy: A policy, or the path of its file where the flow runs.
        overrides: Of the policy's keys, as in privacy.t=0.05.
        as_of: The day put in place of {as_of} in the policy's name and input.path; "scheduled" is
            the one for which the run is scheduled, "scheduled - 1 month" one before it.
        timezone: Of the scheduled day, as in Europe/Madrid.
        retries: Further attempts where one can help; refusals have none.
        timeout_minutes: Of one attempt.
        quiet: No progress in the log.
    """
    name = "release"
    try:
        asked = resolve_policy(policy, overrides, as_of, timezone)
        name = asked.name
        limited = attempt.with_options(retries=retries, timeout_seconds=60 * timeout_minutes)
        outcome = limited(asked, default_style(quiet))
    except Exception as error:
        failure = describe(error, "release")
        leave("failed", name, tell_failure(failure, f"{name}: failed"))
        return Failed(message=str(failure), data=failure)
    leave("release", name, tell_outcome(outcome))
    verb = "already published" if outcome.was_there else "published"
    return Completed(message=f"{verb}: {outcome.release}", data=outcome)


def resolve_policy(
    policy: Policy | str | dict[str, Any], overrides: tuple[str, ...], as_of: AsOf, timezone: str
) -> Policy:
    """The policy of a run: read, with overrides, and with its day.

    Raises
    ------
    PolicyError, UsageError
    """
    day = resolve_day(as_of, flow_run.scheduled_start_time, timezone)
    if isinstance(policy, str):
        return load_policy(policy, overrides, as_of=day)
    if isinstance(policy, Policy):
        policy = policy.model_dump(mode="json", exclude_unset=True)
    return parse_policy(policy, overrides, as_of=day)


def describe(error: Exception, place: str) -> TcloseError:
    """An error as Prefect may keep it; the timeout of a task with its remedy."""
    if isinstance(error, TimeoutError):
        return UnitError(f"{place}: stopped after timeout_minutes; give it more time or workers")
    return describe_failure(error, place).without_values()
