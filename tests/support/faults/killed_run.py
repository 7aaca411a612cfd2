"""A run that ends itself with SIGKILL at a named point: ``python -m support.faults.killed_run``.

Arguments: policy file, point. Points: ``before:STAGE`` and ``after:STAGE`` of the recipe,
``during:PASS`` (after its first task), and ``before:STEP`` and ``after:STEP`` of publishing's steps
(``commit``, ``set_current``, ``clear_work``).
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.passes import find_pass, replace_work
from tclose.passes import release
from tclose.passes.plan import coarse_tree
from tclose.policy.policy import load_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.monitoring.work import Work

# As `small_regions` has it in tests/conftest.py: another plan would have other regions.
SMALL_REGION = 3_000
STEPS = ("commit", "set_current", "clear_work")


def end_now() -> None:
    """End like ``kill -9``: no handler, no clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)


def wrap(function: Callable[..., Any], when: str) -> Callable[..., Any]:
    """The function, with the end of the process before or after it."""

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        if when == "before":
            end_now()
        result = function(*arguments, **keywords)
        end_now()
        return result

    return wrapped


class EndingProgress(Progress):
    """Ends the process after the first task of a pass."""

    task_name = ""

    @contextlib.contextmanager
    def following(
        self, task_name: str, n_tasks: int | Work, *, label: str = ""
    ) -> Iterator[Callable[[], None]]:
        """Follow a pass; in the fatal one the first step is the last."""
        with super().following(task_name, n_tasks, label=label) as step:
            yield end_now if task_name == self.task_name else step


def main() -> None:
    """Run until the point is reached."""
    coarse_tree.MIN_REGION_RECORDS = SMALL_REGION
    policy = load_policy(sys.argv[1])
    when, _, name = sys.argv[2].partition(":")
    progress = EndingProgress("none")
    if when == "during":
        progress.task_name = name
    else:
        if name == "clear_work" and when == "before":
            when = "after"
            name = "set_current"
        if name in STEPS:
            setattr(ReleaseRepository, name, wrap(getattr(ReleaseRepository, name), when))
        else:
            replace_work(pytest.MonkeyPatch(), name, wrap(find_pass(name).work, when))
    release.run_release(policy, progress)


if __name__ == "__main__":
    main()
