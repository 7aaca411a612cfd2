"""Small tables of memory, and policies for them without an input."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tclose.data.synthetic import generate_rows

QUASI = ["age", "sex", "zip"]


def small_table(n_rows: int = 400) -> pa.Table:
    """Generated discharges."""
    return generate_rows(0, n_rows, 3)


def frame_document(place: Path, **keys: Any) -> dict[str, Any]:
    """A policy that names no input; the search is short, as in `policy_for`."""
    document: dict[str, Any] = {
        "name": "frames",
        "unlisted": "drop",
        "attributes": dict.fromkeys(QUASI, "quasi-identifier") | {"charge": "confidential"},
        "privacy": {"k": 5, "t": 0.3},
        "method": {"refine": "lean"},
        "output": {"path": str(place)},
    }
    return document | keys
