"""A policy whose releases go to a bucket, and where they stand."""

import pytest

from support.cases import people, policy_for, write_parquet


@pytest.fixture
def source(tmp_path):
    return write_parquet(tmp_path / "people.parquet", people())


@pytest.fixture
def document(source, bucket, tmp_path):
    """A policy whose releases go to a bucket."""
    return policy_for(
        source,
        output={"path": f"{bucket}/out"},
        engine={"work_path": str(tmp_path / "work"), "claim_expiry": 1},
    )


@pytest.fixture
def root(bucket):
    """Where the releases of the policy stand."""
    return bucket / "out" / "people"
