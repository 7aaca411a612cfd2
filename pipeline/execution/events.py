"""A run's lineage: begun, gone on with and ended; kept with the run, and told to who listens."""

from datetime import UTC, datetime

import pyarrow as pa

from pipeline.execution.progress import Progress
from pipeline.storage import listeners
from pipeline.storage.lineage import Lineage
from pipeline.storage.workspace import Workspace

# A run that takes long says from time to time, after a unit of work or a stage, that it goes on.
SECONDS_OF_SILENCE = 60.0
_KEPT = "lineage"


def begin(workspace: Workspace, lineage: Lineage, schema: pa.Schema, progress: Progress) -> None:
    """A run begins. If it takes the place of one that ended without a word, that one is ended."""
    earlier: Lineage | None = workspace.load(_KEPT)
    if earlier is not None and not earlier.has_ended:
        earlier.abort(f"it ended without a word; run {lineage.run_id} goes on from there")
        tell(earlier, progress)
    lineage.start(schema)
    tell(lineage, progress)
    workspace.save(_KEPT, lineage)


def go_on(workspace: Workspace, progress: Progress) -> None:
    """Tell that a run goes on, if nothing was heard of it for long."""
    lineage: Lineage | None = workspace.load(_KEPT)
    if lineage is None or lineage.has_ended:
        return
    if (datetime.now(UTC) - lineage.told_at).total_seconds() >= SECONDS_OF_SILENCE:
        lineage.go_on()
        tell(lineage, progress)
        workspace.save(_KEPT, lineage)


def end(
    workspace: Workspace, message: str, progress: Progress, *, aborted: bool = False
) -> Lineage | None:
    """Tell that a run has failed, or was interrupted; its lineage, if it had begun."""
    lineage: Lineage | None = workspace.load(_KEPT)
    if lineage is None or lineage.has_ended:
        return None
    if aborted:
        lineage.abort(message)
    else:
        lineage.fail(message)
    tell(lineage, progress)
    workspace.save(_KEPT, lineage)
    return lineage


def tell(lineage: Lineage, progress: Progress) -> None:
    """Tell whoever listens of what has not been told yet; if that fails, say so and go on."""
    if not lineage.untold or not listeners.are_there():
        return
    problem = listeners.tell(lineage.untold)
    if problem:
        progress.say(problem)
    else:
        lineage.untold.clear()
