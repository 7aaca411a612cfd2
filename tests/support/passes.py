"""Passes of a release by their names: some of them run, or other work in the place of one's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tclose.passes import release
from tclose.passes.release import Decided, deciding
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pass, PassContext, Pipeline, Runner
from tclose.runtime.run import Run

BEFORE_VERIFY = ("summarise", "plan", "encode", "microaggregate")
UNTIL_VERDICT = (*BEFORE_VERIFY, "verify")
Work = Callable[[PassContext], None]


def find_pass(name: str) -> Pass:
    """The pass of that name."""
    [found] = [one for one in release.RELEASE.passes if one.name == name]
    return found


def run_passes(run: Run, progress: Progress, *names: str) -> None:
    """Run the passes of these names, in this order."""
    runner = Runner(run, progress)
    for name in names:
        runner.execute(find_pass(name))


def decide_only(policy: Policy, scratch: Path, progress: Progress) -> Decided:
    """What a run of the policy would be, decided in a scratch folder; its engine is closed."""
    with deciding(policy, scratch, progress) as (_, decided):
        return decided


def replace_work(patch: pytest.MonkeyPatch, name: str, work: Work) -> None:
    """Let a pass do other work, in whatever runs the release."""
    changed = replace(find_pass(name), work=work)
    passes = tuple(changed if one.name == name else one for one in release.RELEASE.passes)
    patch.setattr(release, "RELEASE", Pipeline(release.RELEASE.given, passes))
