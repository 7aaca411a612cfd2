"""Records that Prefect keeps of a run while it goes on: its lines, and how far each pass is.

Lines and artifacts hold counts, times, and names of passes, columns and releases: no values of the
microdata, and no partitions.
"""

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from tclose.passes.inspect.inspect_files import INSPECT
from tclose.runtime.monitoring.progress import LINE_SECONDS
from tclose.runtime.monitoring.work import Work
from tclose.runtime.pipeline import Pass
from tclose.security.redaction import redact

_LOGGERS = ("prefect.flow_runs", "prefect.task_runs")


class RunLog:
    """The listener of a run's progress that speaks to Prefect's server.

    The server may be away: lines are sent by a thread of Prefect's own, and after an artifact that
    could not be kept no other is tried.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._logger = get_run_logger()
        self._pass_name = INSPECT.name  # which comes before the tasks: see ``release_flow``
        self._artifact: UUID | None = None
        self._answers = True
        self._next_update = time.monotonic() + LINE_SECONDS

    def hear(self, text: str, *, warns: bool) -> None:
        """Put a line into the log of the pass's task run; of a quiet run the warnings alone."""
        if warns or not self._quiet:
            level = logging.WARNING if warns else logging.INFO
            self._logger.log(level, "%s", redact(text))

    def follow(self, work: Work, text: str) -> None:
        """Keep the finished share of the pass's work at hand, from time to time."""
        if time.monotonic() >= self._next_update:
            self._keep(100 * work.share, text)

    @contextlib.contextmanager
    def passing(self, one: Pass) -> Iterator[None]:
        """Lines and work within the block are of the pass, whose task run this is called in.

        A pass that ends has an artifact however short it was; of one that fails the last share
        stays as it was.
        """
        before = self._logger
        self._logger, self._pass_name, self._artifact = get_run_logger(), one.name, None
        start = time.monotonic()
        self._next_update = start + LINE_SECONDS
        try:
            yield
            self._keep(100.0, f"done in {time.monotonic() - start:.1f} s")
        finally:
            self._logger = before

    def _keep(self, percent: float, text: str) -> None:
        self._next_update = time.monotonic() + LINE_SECONDS
        if not self._answers:
            return
        described = f"{self._pass_name}: {text}"
        try:
            if self._artifact is None:
                artifact_id = create_progress_artifact(percent, description=described)
                self._artifact = cast(UUID, artifact_id)  # as it is called from no coroutine
            else:
                update_progress_artifact(self._artifact, percent, description=described)
        except Exception as error:
            self._answers = False
            self._logger.warning("progress is not kept (%s)", type(error).__name__)


def shows_lines() -> bool:
    """Return whether Prefect shows the log's lines itself, as in the process of a worker's run."""
    return all(
        logger.propagate and logger.isEnabledFor(logging.INFO)
        for logger in map(logging.getLogger, _LOGGERS)
    )


def keep_lines_off_the_terminal() -> None:
    """Send the lines of runs to the server alone, where they are kept from INFO on."""
    for logger in map(logging.getLogger, _LOGGERS):
        logger.propagate = False
        logger.setLevel(logging.INFO)
