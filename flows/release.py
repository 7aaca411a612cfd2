"""The release as a Prefect flow: one task per stage, each a thin cover of ``pipeline.execution``.

What Prefect's server stores of a run is the policy, times, states and tclose's own error messages:
no results, and no values of the microdata. Whether a release is made already is decided by its own
manifest, never by Prefect's cache, and a stage that failed is gone on with by the next run, so
tasks have neither cache nor retries.

Prefect's home stays what it is for every other flow of the user (``~/.prefect``, or
``PREFECT_HOME``): profiles hold, and runs on the embedded server are there to be looked at with
``prefect server start``.
"""

import functools
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

_QUIET: Mapping[str, str] = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "NO_PROXY": "127.0.0.1,localhost",  # the embedded server is not behind a proxy
}
# Prefect reads its environment when it is imported. Where it is imported already, as in a worker
# that runs a deployment, the settings are its own affair.
_LOGS_TO_TERMINAL = "PREFECT_LOGGING_LEVEL" in os.environ
if "prefect" not in sys.modules:
    for _name, _value in _QUIET.items():
        os.environ.setdefault(_name, _value)

from prefect import flow, task  # noqa: E402
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.client.schemas.objects import State  # noqa: E402
from prefect.runtime import flow_run  # noqa: E402
from prefect.server.api.server import SubprocessASGIServer  # noqa: E402
from prefect.settings import PREFECT_API_URL  # noqa: E402
from prefect.states import Completed, Failed  # noqa: E402

from pipeline.errors import TcloseError, UnitError  # noqa: E402
from pipeline.execution import release as stages  # noqa: E402
from pipeline.execution.engine import describe_failure  # noqa: E402
from pipeline.execution.progress import Progress, default_style  # noqa: E402
from pipeline.execution.release import Outcome, Run  # noqa: E402
from pipeline.settings import Policy, load_policy, parse_policy  # noqa: E402

Stage = Callable[[Run, str], None]


def _stage_task(stage: Stage) -> Stage:
    """Make a task of a stage; nothing but tclose's own errors, which hold no values, leaves it."""

    @functools.wraps(stage)
    def guarded(run: Run, style: str) -> None:
        try:
            stage(run, style)
        except Exception as error:
            raise describe_failure(error, stage.__name__) from None

    as_task = task(cache_policy=NO_CACHE, persist_result=False, cache_result_in_memory=False)
    return cast(Stage, as_task(guarded))


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


@flow(name="release", persist_result=False, cache_result_in_memory=False)
def release(
    policy: Policy | str, overrides: tuple[str, ...] = (), quiet: bool = False
) -> State[Any]:
    """Make and publish the release that a policy asks for, or fail and publish nothing.

    ``policy`` is a policy, or the path of its file where the flow runs; ``overrides`` are
    ``key=value``. A failed run's message is what the command ``tclose run`` would print, and
    calling the flow raises that error.
    """
    try:
        outcome = _release(_resolve_policy(policy, overrides), default_style(quiet))
    except Exception as error:
        failure = describe_failure(error, "release")
        return Failed(message=str(failure), data=failure)
    verb = "already published" if outcome.was_there else "published"
    return Completed(message=f"{verb}: {outcome.release}", data=outcome)


def _resolve_policy(policy: Policy | str, overrides: tuple[str, ...]) -> Policy:
    if isinstance(policy, str):
        return load_policy(policy, overrides)
    if not overrides:
        return policy
    return parse_policy(policy.model_dump(mode="json", exclude_unset=True), overrides)


def _release(policy: Policy, style: str) -> Outcome:
    with stages.open_run(policy, Progress(style), flow_run=flow_run.id) as run:
        was_there = run.is_published
        if not was_there:
            summarise(run, style)
            plan(run, style)
            microaggregate(run, style)
            verify(run, style)
            publish(run, style)
        return stages.outcome_of(run, was_there=was_there)


def run_flow(policy: Policy, quiet: bool) -> Outcome:
    """Run the flow here and now: on the server of PREFECT_API_URL, or on an embedded one.

    Raises
    ------
    TcloseError
        As ``run_release`` does.
    UnitError
        Prefect itself could not run the flow.
    """
    if not _LOGS_TO_TERMINAL:  # the caller tells of errors; the server keeps the log
        for name in ("prefect.flow_runs", "prefect.task_runs"):
            logging.getLogger(name).propagate = False
    Progress(default_style(quiet)).say("starting Prefect")
    try:
        if PREFECT_API_URL.value() is None:
            _start_server()
        return cast(Outcome, release(policy, quiet=quiet))
    except TcloseError:
        raise
    except Exception as error:
        raise UnitError(
            f"Prefect could not run the flow ({type(error).__name__}); see that a server answers "
            "at PREFECT_API_URL, or unset it and give a PREFECT_HOME that can be written; "
            "`tclose run` does the same without Prefect"
        ) from None


def _start_server() -> None:
    """Start the embedded server out of reach of Ctrl-C; it ends when this process does.

    A terminal sends Ctrl-C to every process that was started from it. The server has to outlive it
    by a moment, or Prefect tries for minutes to tell it that the run was interrupted.
    """

    def start() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the server inherits
        SubprocessASGIServer().start()

    with ThreadPoolExecutor(1) as starter:
        starter.submit(start).result()
