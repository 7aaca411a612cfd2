"""Small inputs and policies to try the whole path on, and how to look at what came of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
import yaml

from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import FileContent, inspect_file
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Outcome

QUASI, CONFIDENTIAL, PASSTHROUGH = "quasi-identifier", "confidential", "non-confidential"
N_PEOPLE = 60


def people(n_records: int = N_PEOPLE, /, **columns: Any) -> pa.Table:
    """A table with a number, a text and a confidential number; ``columns`` replace or add."""
    rng = np.random.default_rng(20_260_101)
    table = {
        "age": rng.integers(18, 90, n_records),
        "sex": pa.array(np.where(rng.integers(0, 2, n_records), "m", "f")),
        "pay": rng.integers(1_000, 9_000, n_records),
    }
    return pa.table(table | columns)


def policy_for(source: Path | str, **changes: Any) -> dict[str, Any]:
    """A policy for `people`, with releases beside ``source``; ``changes`` replace its keys.

    The search is short: most tests wait for it, and are not about it.
    """
    place = Path(source).parent if "://" not in str(source) else Path()
    return {
        "name": "people",
        "input": {"path": str(source)},
        "attributes": {"age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL},
        "privacy": {"k": 3, "t": 0.3},
        "method": {"refine": "lean"},
        "output": {"path": str(place / "releases")},
    } | changes


def mixed_people(n_records: int) -> pa.Table:
    """Ties, quoted texts, dates, holes and pass-through columns."""
    rng = np.random.default_rng(11)
    notes = np.array(["plain", 'quo"ted', "line\nfeed", "com,ma", "ünï"])[
        rng.integers(0, 5, n_records)
    ]
    pay = rng.integers(0, 40, n_records)
    return people(
        n_records,
        pay=pa.array(pay, mask=rng.random(n_records) < 0.02),
        day=pa.array(rng.integers(18_000, 19_000, n_records).astype(np.int32)).cast(pa.date32()),
        height=rng.integers(0, 1_000, n_records) / 8,
        note=pa.array(notes, mask=rng.random(n_records) < 0.1),
    )


def mixed_policy(source: Path, output: Path, partition_by: tuple[str, ...] = ()) -> dict[str, Any]:
    """A policy for `mixed_people`: missing values are dropped, and there are several files."""
    return policy_for(
        source,
        attributes={
            "age": QUASI, "sex": QUASI, "pay": CONFIDENTIAL, "day": QUASI, "height": QUASI,
            "note": PASSTHROUGH,
        },
        missing="drop",
        output={"path": str(output), "partition_by": list(partition_by), "rows_per_file": 70},
    )  # fmt: skip


def write_policy(path: Path, document: dict[str, Any]) -> Path:
    """Write a policy as YAML."""
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def write_csv(path: Path, table: pa.Table, **options: Any) -> Path:
    """Write a table as CSV, texts in quotes where they need them."""
    pv.write_csv(table, path, pv.WriteOptions(quoting_style="needed", **options))
    return path


def write_parquet(path: Path, table: pa.Table, **options: Any) -> Path:
    """Write a table as Parquet."""
    pq.write_table(table, path, **options)
    return path


def look_at(path: Path, **keys: Any) -> FileContent:
    """Return the inspection of a file."""
    return inspect_file(str(path), InputSettings(path=str(path), **keys))


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: relative path and content, None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def punch_gaps(table: pa.Table, shares: Mapping[str, float], seed: int) -> pa.Table:
    """The table without about these shares of the values of some columns."""
    rng = np.random.default_rng(seed)
    for name, share in shares.items():
        column = table[name].combine_chunks()
        gaps = pa.array(rng.random(len(table)) < share)
        filled = pc.if_else(gaps, pa.scalar(None, column.type), column)
        table = table.set_column(table.column_names.index(name), name, filled)
    return table


def people_policy(folder: Path, **changes: Any) -> dict[str, Any]:
    """A policy for `people`, who are in a CSV file of a folder; ``changes`` replace its keys."""
    return policy_for(write_csv(folder / "people.csv", people()), **changes)


def read_document(folder: Path) -> dict[str, Any]:
    """The manifest in a folder as whoever reads it has it: as JSON, to be changed."""
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


@dataclass(frozen=True)
class Released:
    """Return a run's published release."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def paths(self) -> list[str]:
        """Paths of the data files, sorted."""
        return sorted(file["path"] for file in self.manifest["files"])

    @property
    def data(self) -> dict[str, bytes]:
        """Content of the data files by path."""
        return {path: (self.folder / path).read_bytes() for path in self.paths}

    @property
    def table(self) -> pa.Table:
        """All rows of the data files, in the files' order, without partition columns."""
        files = [pq.read_table(self.folder / path, partitioning=None) for path in self.paths]
        return pa.concat_tables(files)

    @property
    def frame(self) -> pd.DataFrame:
        """All rows as pandas reads them, partition columns among them."""
        return pd.read_parquet(self.folder / "data")

    @property
    def schema(self) -> pa.Schema:
        """Schema of the first data file."""
        return pq.read_schema(self.folder / self.paths[0])

    @property
    def internal(self) -> dict[str, Any]:
        """The manifest that stays inside."""
        return read_document(self.folder / "internal")

    def class_sizes(self, quasi: list[str]) -> list[int]:
        """Sizes of the groups that share all of these columns."""
        counted = self.table.group_by(quasi).aggregate([([], "count_all")])
        return sorted(counted["count_all"].to_pylist())


def folder_of(outcome: Outcome) -> Path:
    """The release of a run, which is no bucket's."""
    # One in a bucket has all of a path that tests use.
    return cast(Path, outcome.release)


def publish(document: dict[str, Any]) -> Outcome:
    """Run a policy in this process, and say nothing."""
    return run_release(parse_policy(document), Progress("none"))


def release(document: dict[str, Any]) -> Released:
    """Run a policy in this process and look at what it published."""
    outcome = publish(document)
    return Released(folder_of(outcome), outcome.manifest.to_json())
