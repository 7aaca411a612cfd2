"""A policy whose releases go to a bucket, and where they stand."""

from pathlib import Path
from typing import Any

import pytest

from support.cases.people import people, policy_for, write_parquet
from tclose.data.places.bucket_paths import BucketPath


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "people.parquet", people())


@pytest.fixture
def document(source: Path, bucket: BucketPath, tmp_path: Path) -> dict[str, Any]:
    """A policy whose releases go to a bucket."""
    return policy_for(
        source,
        output={"path": f"{bucket}/out"},
        engine={"work_path": str(tmp_path / "work"), "lease_seconds": 1},
    )


@pytest.fixture
def root(bucket: BucketPath) -> BucketPath:
    """Where the releases of the policy stand."""
    return bucket / "out" / "people"
