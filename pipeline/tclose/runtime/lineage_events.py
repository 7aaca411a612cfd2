"""A run's lineage: begun, gone on with and ended; kept with the run, and told to who listens."""

import time

import pyarrow as pa

from tclose.releases.lineage import emit
from tclose.releases.lineage.run_events import Lineage
from tclose.runtime.artifacts import Artifact, Workspace
from tclose.runtime.progress import Progress

LINEAGE = Artifact("lineage", Lineage)

# A run that takes long says from time to time, after a unit of work or a stage, that it goes on.
SECONDS_OF_SILENCE = 60.0


def begin(workspace: Workspace, lineage: Lineage, schema: pa.Schema, progress: Progress) -> None:
    """A run begins. If it takes the place of one that ended without a word, that one is ended."""
    earlier = workspace.find(LINEAGE)
    if earlier is not None and not earlier.has_ended:
        earlier.abort(f"it ended without a word; run {lineage.run_id} goes on from there")
        tell(earlier, progress)
    lineage.start(schema)
    tell(lineage, progress)
    workspace.save(LINEAGE, lineage)


def heartbeat(workspace: Workspace, progress: Progress) -> None:
    """Tell that a run goes on, if nothing was heard of it for long."""
    lineage = workspace.find(LINEAGE)
    if lineage is None or lineage.has_ended:
        return
    if time.monotonic() - lineage.told_at >= SECONDS_OF_SILENCE:
        lineage.heartbeat()
        tell(lineage, progress)
        workspace.save(LINEAGE, lineage)


def end(
    workspace: Workspace, message: str, progress: Progress, *, aborted: bool = False
) -> Lineage | None:
    """Tell that a run has failed, or was interrupted; its lineage, if it had begun."""
    lineage = workspace.find(LINEAGE)
    if lineage is None or lineage.has_ended:
        return None
    if aborted:
        lineage.abort(message)
    else:
        lineage.fail(message)
    tell(lineage, progress)
    workspace.save(LINEAGE, lineage)
    return lineage


def tell(lineage: Lineage, progress: Progress) -> None:
    """Tell whoever listens of what has not been told yet; if that fails, say so and go on."""
    if not lineage.untold or not emit.is_configured():
        return
    problem = emit.tell(lineage.untold)
    if problem:
        progress.say(problem)
    else:
        lineage.untold.clear()
