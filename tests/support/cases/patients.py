"""An invented table that every method can be tried on, and policies over it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUASI, CONFIDENTIAL = "quasi-identifier", "confidential"
TOWNS = {
    "anywhere": {
        "EU, west": {"Germany": ["Bonn", "Köln"], "France": ["Lyon", "Nice", "St. Jean, Var"]},
        "north": ["Oslo", "Umeå"],
    }
}
ILLS = {"any": {"lungs": ["flu", "cold", "asthma"], "belly": ["ulcer", "hernia"]}}
STAGES = ["none", "early", "late"]


def patients(n_records: int, seed: int = 4) -> pa.Table:
    """Records with an ``id`` to know them again; pay goes with age, both have ties."""
    rng = np.random.default_rng(seed)
    towns = ["Bonn", "Köln", "Lyon", "Nice", "St. Jean, Var", "Oslo", "Umeå"]
    age = rng.integers(18, 90, n_records)
    pay = (age // 10 + rng.integers(0, 30, n_records)) * 50
    days = rng.integers(18_000, 18_400, n_records).astype(np.int32)
    return pa.table(
        {
            "id": np.arange(n_records),
            "age": age,
            "height": np.round(rng.normal(170, 9, n_records), 1),
            "town": rng.choice(towns, n_records, p=[0.3, 0.1, 0.2, 0.1, 0.05, 0.15, 0.1]),
            "day": pa.array(days).cast(pa.date32()),
            "site": rng.choice(["a", "b c"], n_records),
            "pay": pay,
            "ill": rng.choice(["asthma", "cold", "flu", "hernia", "ulcer"], n_records),
            "stage": rng.choice(STAGES, n_records, p=[0.6, 0.3, 0.1]),
        }
    )


def write_patients(folder: Path, n_records: int, cuts: int = 1) -> Path:
    """The table in a folder of so many Parquet files, in the order of the ids."""
    folder.mkdir()
    table = patients(n_records)
    ends = [n_records * i // cuts for i in range(cuts + 1)]
    for number in range(cuts):
        piece = table.slice(ends[number], ends[number + 1] - ends[number])
        pq.write_table(piece, folder / f"{number:02d}.parquet", row_group_size=701)
    return folder


def patient_document(
    source: Path, place: Path, method: dict[str, Any], **keys: Any
) -> dict[str, Any]:
    """A policy with pay as the confidential attribute; ``attributes`` replace or add."""
    attributes: dict[str, Any] = {
        "id": "non-confidential",
        "age": QUASI,
        "height": QUASI,
        "town": QUASI,
        "pay": CONFIDENTIAL,
    }
    return {
        "name": "patients",
        "input": {"path": str(source)},
        "unlisted": "drop",
        "attributes": attributes | keys.pop("attributes", {}),
        "privacy": {"k": 5, "t": 0.2},
        "method": method,
        "output": {"path": str(place)} | keys.pop("output", {}),
    } | keys
