"""A release as a recipient reads it: folders, Parquet files, manifest."""

import datetime
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from nightly.independent.values import read_values

PUBLIC = {"manifest.json", "dictionary.md", "datapackage.json", "report.html", "data", "internal"}


class DamagedError(Exception):
    """Files that cannot be read as a release."""


@dataclass(frozen=True)
class Release:
    """What stands in the files: rows column by column, and the manifest."""

    folder: Path
    manifest: dict[str, Any]
    columns: dict[str, list[Any]]
    types: dict[str, str]

    @property
    def n_records(self) -> int:
        """Rows of all files."""
        return len(next(iter(self.columns.values())))

    def classes(self, names: list[str]) -> list[list[int]]:
        """Rows that share the values of these columns."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for row, key in enumerate(zip(*(self.columns[n] for n in names), strict=True)):
            found.setdefault(key, []).append(row)
        return list(found.values())


def read_release(folder: Path) -> Release:
    """Read a release.

    Raises
    ------
    DamagedError
        Files differ in their columns, or a folder has no column that the manifest knows.
    """
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    types = {column["name"]: column["type"] for column in manifest["columns"]}
    columns: dict[str, list[Any]] = {name: [] for name in types}
    stored: dict[str, str] = {}
    for path in sorted((folder / "data").rglob("*.parquet")):
        table = pq.ParquetFile(path).read()
        found = {n: read_values(table[n]) for n in table.column_names}
        stored |= {field.name: str(field.type) for field in table.schema}
        for part in path.parent.relative_to(folder / "data").parts:
            name, _, text = part.partition("=")
            value = _read_folder(unquote(text), types[unquote(name)])
            found[unquote(name)] = [value] * len(table)
        if found.keys() != columns.keys():
            raise DamagedError(f"{path.name} has columns {sorted(found)}, not {sorted(columns)}")
        for name, values in found.items():
            columns[name].extend(values)
    return Release(folder, manifest, columns, stored)


def _read_folder(text: str, dtype: str) -> Any:
    if dtype == "bool":
        return {"true": True, "false": False}[text]
    if "int" in dtype:
        return int(text)
    if dtype.startswith("date32"):
        return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
    return text


def check_files(release: Release) -> list[str]:
    """What is wrong with files and manifest as such."""
    folder, wrong = release.folder, []
    names = {path.name for path in folder.iterdir()}
    if names != PUBLIC:
        wrong.append(f"the folder holds {sorted(names ^ PUBLIC)} too many or too few")
    there = {p.relative_to(folder).as_posix() for p in (folder / "data").rglob("*") if p.is_file()}
    listed = {file["path"]: file for file in release.manifest["files"]}
    if there != set(listed) or len(listed) != len(release.manifest["files"]):
        wrong.append("the manifest lists other files than there are")
    for file in [*release.manifest["files"], *release.manifest["documents"]]:
        path = folder / file["path"]
        if not path.is_file():
            wrong.append(f"{file['path']} is missing")
            continue
        content = path.read_bytes()
        if (len(content), hashlib.sha256(content).hexdigest()) != (file["bytes"], file["sha256"]):
            wrong.append(f"{file['path']} has another digest or length")
        elif "rows" in file:
            wrong += _check_parquet(path, file["rows"])
    return wrong


def _check_parquet(path: Path, n_rows: int) -> list[str]:
    file, wrong = pq.ParquetFile(path), []
    if file.metadata.num_rows != n_rows:
        wrong.append(f"{path.name} has another number of rows")
    if set(file.schema_arrow.metadata or {}) - {b"ARROW:schema"} or any(
        field.metadata and set(field.metadata) - {b"PARQUET:field_id"}
        for field in file.schema_arrow
    ):
        wrong.append(f"{path.name} carries metadata of its own")
    return wrong


def released_type(dtype: pa.DataType) -> str:
    """The type as which a column is released unchanged."""
    if pa.types.is_dictionary(dtype):
        return released_type(dtype.value_type)
    return "string" if pa.types.is_string_view(dtype) else str(dtype)
