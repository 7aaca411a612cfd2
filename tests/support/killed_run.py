"""A run that ends itself with SIGKILL at a named point: ``python -m support.killed_run``.

Arguments: policy file, point. Points: ``before:STAGE`` and ``after:STAGE`` of the recipe,
``during:PASS`` (after its first unit), and ``before:STEP`` and ``after:STEP`` of publishing's steps
(``commit``, ``set_current``, ``clear_work``).
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.execution import release
from pipeline.execution.progress import Progress
from pipeline.settings import load_policy
from pipeline.stages import tree
from pipeline.storage.releases import Shelf

# As tests of runs have it, see tests/execution/conftest.py: another plan would have other regions.
SMALL_REGION = 12_000
STEPS = ("commit", "set_current", "clear_work")


def end_now() -> None:
    """What ``kill -9`` does: no handler, no clean-up."""
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
    """Ends the process after the first unit of a pass."""

    pass_name = ""

    @contextlib.contextmanager
    def following(
        self, pass_name: str, n_units: int, *, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Follow a pass; in the fatal one the first step is the last."""
        with super().following(pass_name, n_units, done=done) as step:
            yield end_now if pass_name == self.pass_name else step


def main() -> None:
    """Run until the point is reached."""
    tree.MIN_REGION_RECORDS = SMALL_REGION
    policy = load_policy(sys.argv[1])
    when, _, name = sys.argv[2].partition(":")
    progress = EndingProgress("none")
    if when == "during":
        progress.pass_name = name
    else:
        owner: Any = Shelf if name in STEPS else release
        if name == "clear_work" and when == "before":
            when = "after"
            name = "set_current"
        setattr(owner, name, wrap(getattr(owner, name), when))
    release.run_release(policy, progress)


if __name__ == "__main__":
    main()
