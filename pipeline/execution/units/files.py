"""The release's files: written, read back, compared."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import VerificationError
from pipeline.storage.releases import file_sha256
from pipeline.storage.tables import as_bits, read_table
from pipeline.storage.workspace import Drafts, Workspace

ROW_GROUP_ROWS = 131_072


@dataclass(frozen=True)
class FileItem:
    """A file of the release: its path, and the rows of stretches that it holds."""

    path: str
    pieces: tuple[tuple[int, int, int], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FileResult:
    """What was written."""

    path: str
    rows: int
    bytes: int
    sha256: str


def write_unit(workspace: Workspace, item: FileItem, drafts: Drafts) -> FileResult:
    """Write one Parquet file, read it back, and compare it with the rows that were verified."""
    tables = [
        read_table(workspace.unit("verify", index).path("released"))
        .select(list(item.columns))
        .slice(start, stop - start)
        for index, start, stop in item.pieces
    ]
    table = pa.concat_tables(tables)
    path = drafts.new("parquet")
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS)
    if not as_bits(pq.read_table(path, partitioning=None)).equals(as_bits(table)):
        raise VerificationError(f"file {item.path}: does not read back as it was written")
    return FileResult(item.path, len(table), path.stat().st_size, file_sha256(path))
