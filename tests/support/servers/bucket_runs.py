"""Runs whose releases go to a bucket, and what can be read of them there."""

from typing import Any

from support.servers.s3_buckets import objects
from tclose.data.places.bucket_paths import BucketPath
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Outcome

QUIET = Progress("none")


def run(document: dict[str, Any]) -> Outcome:
    """Run a policy in this process, and say nothing."""
    return run_release(parse_policy(document), QUIET)


def public(root: BucketPath, release_id: str) -> dict[str, bytes]:
    """Return the files of a release that can be handed out: content by path."""
    return objects(root / release_id)
