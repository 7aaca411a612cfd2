"""Queries of flow runs on Prefect's server, as its UI makes them."""

import time
from collections.abc import Callable
from typing import Any

_SECONDS = 300.0
_ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def wait_until(ready: Callable[[], Any], what: str, seconds: float = _SECONDS) -> Any:
    """Wait for the first true result of ``ready``, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
    return found


def last_run(flow: str | None = None) -> Any:
    """The flow run that ended last, of a flow or of any."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    ended = FlowRunFilter.model_validate({"state": {"type": {"any_": _ENDED}}})
    of_flow = FlowFilter(name=FlowFilterName(any_=[flow])) if flow else None
    with get_client(sync_client=True) as client:
        [run] = client.read_flow_runs(
            flow_filter=of_flow, flow_run_filter=ended, sort=FlowRunSort.END_TIME_DESC, limit=1
        )
    return run


def read_tasks(run: Any, n_tasks: int = 0) -> list[Any]:
    """Task runs of a flow run, in the order in which they started.

    They reach the server as events, a moment after they end.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[run.id]))

    def ended() -> list[Any]:
        tasks = client.read_task_runs(flow_run_filter=of_run)
        done = [task for task in tasks if task.state is not None and task.state.is_final()]
        return sorted(done, key=lambda task: task.start_time) if len(done) >= n_tasks else []

    with get_client(sync_client=True) as client:
        return wait_until(ended, f"{n_tasks} tasks of {run.name}") if n_tasks else ended()


def passes_of(run: Any, n_passes: int) -> dict[str, str]:
    """Return the last state of each pass of a flow run, in the order in which they started."""
    tasks = read_tasks(run, n_passes + 1)
    named = {task.name: task.state.type.value for task in tasks}
    del named["attempt"]
    return named


def attempts_of(run: Any) -> int:
    """Return the number of times that the passes were begun."""

    def ended() -> list[Any]:  # its passes reach the server before it does
        return [task for task in read_tasks(run) if task.name == "attempt"]

    [attempt] = wait_until(ended, f"the attempt of {run.name}")
    return int(attempt.run_count)


def artifacts_of(run: Any) -> dict[str, str]:
    """Artifacts of a flow run that have a key, as progress has none: their markdown by key."""
    found = read_artifacts(run)
    return {artifact.key: str(artifact.data) for artifact in found if artifact.key is not None}


def progress_of(run: Any) -> dict[str, float]:
    """Percentage of each progress artifact of a flow run, by its description."""
    found = read_artifacts(run)
    return {str(one.description): float(one.data) for one in found if one.type == "progress"}


def read_artifacts(run: Any) -> list[Any]:
    """All artifacts of a flow run, the newest first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId

    wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run.id]))
    with get_client(sync_client=True) as client:
        return list(client.read_artifacts(artifact_filter=wanted))


def read_log(run: Any, line: str) -> list[tuple[int, str]]:
    """Level and text of the lines in a flow run's log, once the one that is named has come."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
    from prefect.client.schemas.sorting import LogSort

    wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id]))

    def lines() -> list[tuple[int, str]]:
        logs = client.read_logs(log_filter=wanted, sort=LogSort.TIMESTAMP_ASC)
        found = [(log.level, log.message) for log in logs]
        return found if any(line in text for _, text in found) else []

    with get_client(sync_client=True) as client:
        return list(wait_until(lines, f"{line!r} is in the log of {run.name}"))
