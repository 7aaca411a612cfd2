"""Policies and data that several tests use."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tclose.data.synthetic import generate_rows
from tclose.policy.policy import Policy, parse_policy

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
DISCHARGE_ROLES = {
    "patient_id": "identifier",
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "zip": "quasi-identifier",
    "admission_date": "quasi-identifier",
    "length_of_stay": "quasi-identifier",
    "diagnosis_group": "quasi-identifier",
    "insurance_type": "quasi-identifier",
    "charge": "confidential",
}


def shared_file(name: str) -> Path:
    """A file of the real data; skips the test where it is not at hand."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"real data not present: {name}")
    return path


def write_discharges(path: Path, n_rows: int, seed: int = 1) -> Path:
    """Generated discharges in one Parquet file of several row groups."""
    pq.write_table(generate_rows(0, n_rows, seed), path, row_group_size=2_500)
    return path


def discharge_document(path: Path, place: Path, **keys: Any) -> dict[str, Any]:
    """A policy over generated discharges, as YAML would give it; the search is short."""
    document: dict[str, Any] = {
        "name": "discharges",
        "input": {"path": str(path)},
        "unlisted": "drop",
        "attributes": dict(DISCHARGE_ROLES),
        "privacy": {"k": 5, "t": 0.1},
        "method": {"refine": "lean"},
        "output": {"path": str(place)},
    }
    return document | keys


def discharge_policy(path: Path, place: Path, **keys: Any) -> Policy:
    """The same as a policy."""
    return parse_policy(discharge_document(path, place, **keys))


def data_digests(release: Path) -> dict[str, str]:
    """SHA-256 of every data file, by its path in the release."""
    return {
        path.relative_to(release).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((release / "data").rglob("*.parquet"))
    }
