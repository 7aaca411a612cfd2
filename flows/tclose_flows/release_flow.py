"""The release as a Prefect flow: a task for each pass of ``tclose.passes.release.RELEASE``.

But for the first, which inspects the input: the release is named by it, and its lease taken before.

What Prefect's server stores of a run is the policy, times, states, tclose's own error messages and
the verdict: no results, and no values of the microdata. Whether a release is made already is
decided by its own manifest and digests, never by Prefect's cache, so tasks have none. What may pass
is tried again: a further attempt goes on from the last piece whose files match their digests.
"""

from collections.abc import Callable
from typing import Any, cast

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed
from prefect.transactions import CommitMode, transaction

from tclose.errors import TcloseError
from tclose.passes import release as recipe
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.metrics import counting_run
from tclose.runtime.monitoring.progress import Progress, default_style
from tclose.runtime.pipeline import Pass, Runner
from tclose.runtime.run import INSPECTION, Outcome, outcome_of
from tclose.runtime.safe_errors import to_safe_error
from tclose_flows.concurrency import (
    RETRIES,
    RETRY_SECONDS,
    TIMEOUT_MINUTES,
    Minutes,
    Retries,
    one_at_a_time,
    retryable,
)
from tclose_flows.flow_interrupts import check_interrupted
from tclose_flows.pages.failures import TimeLimitError, fail
from tclose_flows.pages.prefect_artifacts import describe_outcome, leave
from tclose_flows.pages.run_log import RunLog, shows_lines
from tclose_flows.pages.run_names import name_release
from tclose_flows.parameters import check_parameters
from tclose_flows.policies import command_arguments, resolve_policy
from tclose_flows.schedule import AsOf

NOTHING_KEPT: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "cache_result_in_memory": False,
}


def _task_of(one: Pass, log: RunLog) -> Callable[[Runner], None]:
    """Make a task of a pass; nothing but tclose's own errors, which hold no values, leaves it."""

    def guarded(runner: Runner) -> None:
        try:
            with log.passing(one):
                runner.execute(one)
        except Exception as error:
            raise to_safe_error(error, one.name).redacted() from None

    named = {"name": one.name, "task_run_name": one.name, "description": one.about}
    options: dict[str, Any] = NOTHING_KEPT | named
    return cast("Callable[[Runner], None]", task(guarded, **options))


def _run_passes(runner: Runner, log: RunLog) -> None:
    """Run the passes that are left, each of which is done when it ends.

    Otherwise Prefect says of all of them that they were rolled back as soon as a later one fails,
    which they are not: the next attempt goes on from them.
    """
    with transaction(commit_mode=CommitMode.EAGER):
        for one in recipe.RELEASE.after(INSPECTION).passes:
            _task_of(one, log)(runner)
            check_interrupted()


@task(
    **NOTHING_KEPT,
    task_run_name="attempt",
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=retryable,
)
def attempt(policy: Policy, quiet: bool) -> Outcome:
    """Take the lease of the release and run the passes that are left; or find it published."""
    log = RunLog(quiet=quiet)
    progress = Progress("none" if shows_lines() else default_style(quiet), listener=log)
    try:
        with (
            counting_run(policy.name, progress.warn) as outcomes,
            one_at_a_time(policy.name),
            recipe.open_release(policy, progress, flow_run=flow_run.id) as run,
        ):
            already_published = run.is_published
            if not already_published:
                _run_passes(Runner(run, progress), log)
            outcomes.append(outcome_of(run, already_published=already_published))
            return outcomes[-1]
    except Exception as error:
        raise to_safe_error(error, "release").redacted() from None


# Parameters of flows are described under Args: there Prefect's pages find what to say of them.
@flow(
    name="release",
    flow_run_name=name_release,
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
        as_of: The day put in place of {as_of} in the policy's name, input.path and about;
            "scheduled" is the one for which the run is scheduled, "scheduled - 1 month" one before
            it.
        timezone: Of the scheduled day, as in Europe/Madrid.
        retries: Further attempts where one can help; refusals have none.
        timeout_minutes: Of one attempt.
        quiet: No progress in the log.
    """
    name = "release"
    try:
        check_parameters(retries=retries, timeout_minutes=timeout_minutes, timezone=timezone)
        resolved = resolve_policy(policy, overrides, as_of, timezone)
        name = resolved.name
        limited = attempt.with_options(retries=retries, timeout_seconds=60 * timeout_minutes)
        outcome = limited(resolved, quiet)
    except Exception as error:
        arguments = command_arguments(policy, overrides, as_of, timezone)
        return fail("failed", name, describe(error, "release"), f"{name}: failed", arguments)
    verb = "already published" if outcome.already_published else "published"
    verdict = f"{outcome.manifest.verdict.upper()}, {verb}"
    leave("release", name, describe_outcome(outcome), f"{verdict}: {outcome.release.name}")
    return Completed(message=f"{verb}: {outcome.release}", data=outcome)


def describe(error: Exception, location: str) -> TcloseError:
    """An error as Prefect may keep it; the timeout of a task with its remedy."""
    if isinstance(error, TimeoutError):
        return TimeLimitError(f"{location}: stopped after timeout_minutes")
    return to_safe_error(error, location).redacted()
