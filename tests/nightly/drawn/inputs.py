"""Drawn tables as files: one or several, CSV or Parquet, written here and not by the pipeline."""

import csv
import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nightly.drawn.drawn_columns import Rng, pick


def write_input(
    rng: Rng, table: pa.Table, folder: Path, in_csv: bool
) -> tuple[dict[str, Any], pa.Table]:
    """Write a table; what goes into ``input`` of its policy, and the table as it was stored.

    Parquet has no dates or times of some units, and stores them in others.
    """
    folder.mkdir()
    cut = int(rng.integers(1, len(table))) if rng.random() < 0.4 and len(table) > 1 else len(table)
    parts = [part for part in (table.slice(0, cut), table.slice(cut)) if len(part)]
    keys: dict[str, Any] = {}
    if in_csv:
        keys = {"delimiter": ";"} if rng.random() < 0.2 else {}
        if rng.random() < 0.4:
            keys["missing_values"] = ["?"]
    for number, part in enumerate(parts):
        place = folder / f"part-{number}"
        if in_csv:
            gap = "?" if "missing_values" in keys else ""
            write_csv(place.with_suffix(".csv"), part, keys.get("delimiter", ","), gap)
        else:
            rows = int(pick(rng, [7, 50, 10_000]))
            pq.write_table(part, place.with_suffix(".parquet"), row_group_size=rows)
    path = folder if len(parts) > 1 else next(folder.iterdir())
    stored = table if in_csv else read_back(folder)
    return {"path": str(path)} | keys, stored


def read_back(folder: Path) -> pa.Table:
    """The records of Parquet files, in the types that these have."""
    return pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(folder.iterdir())])


def write_csv(path: Path, table: pa.Table, delimiter: str, gap: str) -> None:
    """A CSV file with its columns' names; texts in quotes where they need them."""
    columns = [[spell(value, gap) for value in table[n].to_pylist()] for n in table.column_names]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*columns, strict=True))


def spell(value: Any, gap: str) -> str:
    """A value as a CSV file has it."""
    if value is None:
        return gap
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ", timespec="microseconds")
    return repr(value) if isinstance(value, float) else str(value)


def as_declared(table: pa.Table, attributes: dict[str, Any]) -> pa.Table:
    """The records of a CSV file where a policy declares columns to be names: these are texts."""
    for place, name in enumerate(table.column_names):
        keys = attributes.get(name)
        declared = isinstance(keys, dict) and (
            "taxonomy" in keys or keys.get("type") in ("nominal", "ordinal")
        )
        if declared and not pa.types.is_string(table[name].type):
            texts = [None if v is None else spell(v, "") for v in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table
