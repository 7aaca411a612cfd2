"""Deploying the flows, and a run that the server's own scheduler starts."""

import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deploy.stack.errors import StackError
from deploy.stack.processes import Processes, last_lines

ROOT = Path(__file__).resolve().parents[2]
_IN_SECONDS = 20  # the server looks for new schedules every five
_SCHEDULE_SECONDS = 90
_RUN_SECONDS = 900  # kernels may have to be compiled
_POLL_SECONDS = 1.0
_CLIENT_SECONDS = 120
_EARLIEST: Any = "EXPECTED_START_TIME_ASC"


def prefect(processes: Processes, *arguments: str) -> None:
    """Call the command ``prefect``.

    Raises
    ------
    StackError
        It fails; with its last lines.
    """
    log = processes.logs / "prefect.log"
    with log.open("ab") as output:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
            cwd=ROOT,  # where a deployment without another place is run, too
            env=dict(processes.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=_CLIENT_SECONDS,
            check=False,
        )
    processes.check_interrupted()
    if done.returncode:
        raise StackError(f"prefect {' '.join(arguments[:2])} failed\n{last_lines(log)}")


def deploy_all(processes: Processes, file: Path, pool: str) -> None:
    """Make the work pool, and every deployment that a ``prefect.yaml`` describes."""
    prefect(processes, "work-pool", "create", pool, "--type=process", "--overwrite")
    prefect(processes, "deploy", "--all", f"--prefect-file={file}")


def schedule_once(name: str, parameters: Mapping[str, Any]) -> Any:
    """Give a deployment a schedule that is due once, in some seconds; returns its id."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.schedules import RRuleSchedule

    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=_IN_SECONDS)
    rule = f"DTSTART:{start:%Y%m%dT%H%M%SZ}\nRRULE:FREQ=YEARLY;COUNT=1"
    schedule = DeploymentScheduleCreate(
        schedule=RRuleSchedule(rrule=rule), parameters=dict(parameters), slug="stack"
    )
    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name(name)
        client.create_deployment_schedules(deployment.id, [schedule])
        return deployment.id


def await_run(processes: Processes, deployment: Any, tell: Callable[[str], None]) -> Any:
    """Follow the run of a deployment that comes first until it is over.

    Returns
    -------
    Its last state.

    Raises
    ------
    StackError
        It takes too long, or a process ended.
    """
    from prefect.client.orchestration import get_client

    shown: str | None = None
    found: Any = None

    def is_over() -> bool:
        nonlocal shown, found
        runs = client.read_flow_runs(flow_run_filter=_of(deployment), sort=_EARLIEST, limit=1)
        found = next(iter(runs), None)
        if found is None or found.state is None:
            return False
        if found.state.name != shown:
            shown = found.state.name
            tell(f"run {found.name}: {shown}")
        time.sleep(_POLL_SECONDS)
        return bool(found.state.is_final())

    with get_client(sync_client=True) as client:
        processes.wait(lambda: is_over() or bool(shown), "a run is scheduled", _SCHEDULE_SECONDS)
        processes.wait(is_over, "the scheduled run is over", _RUN_SECONDS)
    return found


def _of(deployment: Any) -> Any:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId

    return FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[deployment]))
