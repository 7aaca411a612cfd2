"""The Parquet files of a release as far as their footers tell: columns, rows, nothing beside them.

They are read by others than who wrote them, so whether their rows fit in memory is asked first.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.keys import natural_kind, plain_type
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError

_OWN_METADATA = {b"ARROW:schema", b"PARQUET:field_id"}
_BYTES_PER_VALUE = 24  # of a column that is checked: the value, its key, and a copy of one


@contextmanager
def refusing_content() -> Iterator[None]:
    """Turn what Arrow says of a file that is no sound Parquet into `MalformedError`.

    An error of the system, as a disk's, and one of memory stay what they are.
    """
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError):
        raise MalformedError("cannot be read as Parquet") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise MalformedError("cannot be read as Parquet") from None


def check_files(release: Location, manifest: dict[str, Any]) -> list[str]:
    """Whether each file has the columns and rows that the manifest names, and nothing beside them.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    findings = []
    for entry in manifest["files"]:
        try:
            with refusing_content():
                wrong = _check_file(release / entry["path"], entry["rows"], manifest)
        except MalformedError as error:
            wrong = [str(error)]
        findings += [f"{entry['path']}: {what}" for what in wrong]
    return findings


def _check_file(path: Location, n_rows: int, manifest: dict[str, Any]) -> list[str]:
    inside = [c for c in manifest["columns"] if c["name"] not in manifest["partition_by"]]
    with path.open("rb") as stream:
        parquet = pq.ParquetFile(stream)
        schema, footer = parquet.schema_arrow, parquet.metadata
    found = []
    if [(field.name, str(field.type)) for field in schema] != [
        (column["name"], column["type"]) for column in inside
    ]:
        found.append("its columns are not those of the manifest")
    if any(natural_kind(field.type) is None or not _is_plain(field.type) for field in schema):
        found.append("has columns of types that no release has")
    fields = any(set(field.metadata or ()) - _OWN_METADATA for field in schema)
    if fields or set(footer.metadata or ()) - _OWN_METADATA:
        found.append("has metadata beside its schema")
    if footer.num_rows != n_rows:
        found.append(f"has {footer.num_rows:,} rows, not the {n_rows:,} of the manifest")
    if n_rows * len(manifest["columns"]) * _BYTES_PER_VALUE > machine_memory():
        found.append(f"{n_rows:,} rows are more than this machine has the memory to check")
    return found


def _is_plain(dtype: pa.DataType) -> bool:
    return bool(plain_type(dtype) == dtype)


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
