"""Runs whose releases go to a bucket, and what can be read of them there."""

from typing import Any

from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.execution.run import Outcome
from pipeline.settings import parse_policy
from pipeline.storage.buckets import BucketPath
from support.buckets import objects

QUIET = Progress("none")


def run(document: dict[str, Any]) -> Outcome:
    """Run a policy in this process, and say nothing."""
    return run_release(parse_policy(document), QUIET)


def public(root: BucketPath, release_id: str) -> dict[str, bytes]:
    """What of a release can be handed out: content by path."""
    return objects(root / release_id)
