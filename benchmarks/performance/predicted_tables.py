"""The tables that predictions are measured on, each with its policy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

from benchmarks.loss.side_by_side.tables import discharges, many_columns
from benchmarks.microdata.sources import Source, adult, census, fars
from tclose.data.synthetic import generate_rows

SEED = 1
WORKERS = 2
TEXT_BYTES = 200


@dataclass(frozen=True)
class Target:
    """A table, what is asked of its release, and on how many workers it is made.

    ``n_workers``: None where the engine decides by the input's size; ``is_csv``: the file is CSV.
    """

    name: str
    source: Source
    k: int
    t: float
    method: dict[str, Any]
    n_workers: int | None = WORKERS
    is_csv: bool = False
    passed: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """What is asked, for a cell."""
        how = self.method.get("name") or self.method["refine"]
        return f"k {self.k}, t {self.t:g}, {how}"

    def write(self, folder: Path) -> Path:
        """Write the table to a file, or use what is there."""
        path = folder / f"{self.name.replace(' ', '-')}.{'csv' if self.is_csv else 'parquet'}"
        if not path.exists():
            table = self.source.read().select([*self.source.columns, *self.passed])
            pv.write_csv(table, path) if self.is_csv else pq.write_table(table, path)
        return path

    def policy(self, path: Path, place: Path) -> dict[str, Any]:
        """The policy, as YAML would give it."""
        nominal = {"role": "quasi-identifier", "type": "nominal"}
        return {
            "name": "predicted",
            "input": {"path": str(path)},
            "attributes": {
                **dict.fromkeys(self.source.numeric, "quasi-identifier"),
                **dict.fromkeys(self.source.nominal, nominal),
                **dict.fromkeys(self.source.confidential, "confidential"),
                **dict.fromkeys(self.passed, "non-confidential"),
            },
            "privacy": {"k": self.k, "t": self.t},
            "method": self.method,
            "output": {"path": str(place)},
            "engine": {} if self.n_workers is None else {"workers": self.n_workers},
        }


def _with_text(n_rows: int) -> pa.Table:
    """Discharges, each with a text of its own."""
    letters = np.random.default_rng(SEED).integers(97, 123, n_rows * TEXT_BYTES, dtype=np.uint8)
    ends = np.arange(0, letters.size + 1, TEXT_BYTES, dtype=np.int32)
    texts = pa.Array.from_buffers(
        pa.string(), n_rows, [None, pa.py_buffer(ends), pa.py_buffer(letters)]
    )
    return generate_rows(0, n_rows, SEED).append_column("note", texts)


def _read_text(n_rows: int) -> Source:
    plain = discharges(n_rows, SEED)
    read: Callable[[], pa.Table] = partial(_with_text, n_rows)
    return Source(plain.describes, read, plain.quasi_identifiers, plain.confidential, plain.nominal)


FAST, LEAN, OFF = ({"refine": name} for name in ("fast", "lean", "off"))
MONDRIAN = {"name": "mondrian"}
TARGETS = (
    Target("discharges 50,000", discharges(50_000, SEED), 5, 0.1, FAST),
    Target("discharges 200,000", discharges(200_000, SEED), 5, 0.3, LEAN),
    Target("discharges 1,000,000", discharges(1_000_000, SEED), 5, 0.05, FAST),
    Target("Adult", adult("hours-per-week"), 5, 0.1, FAST, None),
    Target("FARS", fars(), 5, 0.1, OFF, None),
    Target("Census", census("FEDTAX"), 3, 0.1, FAST, None),
    Target("15 quasi-identifiers", many_columns(50_000, 15, SEED), 5, 0.1, FAST),
    Target("30 quasi-identifiers", many_columns(50_000, 30, SEED), 5, 0.1, LEAN),
    Target("mondrian", discharges(500_000, SEED), 5, 0.3, MONDRIAN),
    Target("CSV with texts", _read_text(200_000), 5, 0.05, OFF, is_csv=True,
           passed=("note",)),
)  # fmt: skip
# What the constants are not set by: any of these may be asked for by name.
FURTHER = (
    Target("discharges 100,000", discharges(100_000, SEED), 5, 0.3, FAST),
    Target("discharges 400,000", discharges(400_000, SEED), 5, 0.1, FAST),
    Target("off 1,000,000", discharges(1_000_000, SEED), 5, 0.1, OFF),
    Target("tight 200,000", discharges(200_000, SEED), 5, 0.05, LEAN),
)
