"""Lineage events of a run: start, heartbeat and end; stored with the run, and emitted."""

import time

import pyarrow as pa

from tclose.errors import OutputError
from tclose.releases.lineage import emit
from tclose.releases.lineage.run_events import Lineage
from tclose.runtime.artifacts.artifacts import Artifact, Workspace
from tclose.runtime.monitoring.progress import Progress

LINEAGE = Artifact("lineage", Lineage)
COMPLETED = Artifact("completed-lineage", Lineage)  # as it is once the release is published

# A long run emits a heartbeat from time to time, after a task or a pass.
SECONDS_OF_SILENCE = 60.0


def begin(workspace: Workspace, lineage: Lineage, schema: pa.Schema, progress: Progress) -> None:
    """Start a run's lineage; that of an earlier run which ended without an event is aborted."""
    earlier = workspace.find(LINEAGE)
    if earlier is not None and not earlier.has_ended:
        earlier.abort(f"it ended without a word; run {lineage.run_id} goes on from there")
        report(earlier, progress)
    lineage.start(schema)
    report(lineage, progress)
    workspace.save(LINEAGE, lineage)


def complete(workspace: Workspace, progress: Progress) -> bool:
    """Emit that a run has published its release, as it had kept; whether it had."""
    lineage = workspace.find(COMPLETED)
    if lineage is None:
        return False
    lineage.recall()
    report(lineage, progress)
    return True


def end_stopped(workspace: Workspace, is_published: bool, progress: Progress) -> None:
    """Emit how a run has ended that was stopped and will not be gone on with."""
    if is_published and complete(workspace, progress):
        return
    lineage = workspace.find(LINEAGE)
    if lineage is not None and not lineage.has_ended:
        lineage.abort("it ended without a word")
        report(lineage, progress)


def heartbeat(workspace: Workspace, progress: Progress) -> None:
    """Emit that a run is still running, if its last event was long ago."""
    try:
        lineage = workspace.load_shared(LINEAGE)  # which is asked for after each task
    except (FileNotFoundError, OutputError):
        return
    if lineage.has_ended:
        return
    if time.monotonic() - lineage.emitted_at >= SECONDS_OF_SILENCE:
        lineage.heartbeat()
        report(lineage, progress)
        workspace.save(LINEAGE, lineage)


def end(
    workspace: Workspace, message: str, progress: Progress, *, aborted: bool = False
) -> Lineage | None:
    """Emit that a run has failed or was interrupted; return its lineage, if it had begun."""
    lineage = workspace.find(LINEAGE)
    if lineage is None or lineage.has_ended:
        return None
    if aborted:
        lineage.abort(message)
    else:
        lineage.fail(message)
    report(lineage, progress)
    workspace.save(LINEAGE, lineage)
    return lineage


def report(lineage: Lineage, progress: Progress) -> None:
    """Emit the pending events to the configured listener; of a failure is warned, once a run."""
    if not lineage.pending or not emit.is_configured():
        return
    problem = emit.emit_events(lineage.pending)
    if problem:
        progress.warn_once("lineage", problem)
    else:
        lineage.pending.clear()
