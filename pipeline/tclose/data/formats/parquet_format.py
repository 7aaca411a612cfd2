"""Parquet: the rows of a chunk are a row group."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.data.files.input_files import STREAM_BYTES
from tclose.data.formats.format_registry import register_format
from tclose.data.formats.output_format import OutputFormat
from tclose.data.formats.released_file import ReleasedFile
from tclose.data.widths import PassthroughWidths

ROW_GROUP_ROWS = 131_072
GROUP_BYTES = 1 << 28  # of the values of a row group; up to 2 kB a record have `ROW_GROUP_ROWS`
_OWN_METADATA = {b"ARROW:schema", b"PARQUET:field_id"}


class ParquetReleased(ReleasedFile):
    """A Parquet file that is open."""

    def __init__(self, parquet: pq.ParquetFile) -> None:
        """Look at its footer."""
        self._parquet = parquet
        self.schema = parquet.schema_arrow
        self.n_rows, self.n_chunks = parquet.metadata.num_rows, parquet.num_row_groups

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """The rows."""
        if names is None:
            return self._parquet.read()
        return self._parquet.read(list(names)).select(list(names))

    def read_chunk(
        self, number: int, names: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a row group."""
        batches = self._parquet.iter_batches(n_rows, row_groups=[number], columns=list(names))
        return (batch.select(list(names)) for batch in batches)

    def find_extras(self) -> list[str]:
        """Metadata of the file or a column that are not Arrow's."""
        fields = any(set(field.metadata or ()) - _OWN_METADATA for field in self.schema)
        of_file = set(self._parquet.metadata.metadata or ()) - _OWN_METADATA
        return ["has metadata in addition to its schema"] if fields or of_file else []


@register_format
class Parquet(OutputFormat):
    """Apache Parquet, as Arrow writes it."""

    suffix: ClassVar[str] = "parquet"
    media_type: ClassVar[str] = "application/vnd.apache.parquet"
    title: ClassVar[str] = "Parquet"

    name: Literal["parquet"] = "parquet"

    def rows_per_chunk(self, widths: PassthroughWidths) -> int:
        """Rows of a row group: as many in every release but those of very wide records."""
        fitting = GROUP_BYTES * widths.n_records // max(1, sum(widths.columns.values()))
        return min(ROW_GROUP_ROWS, max(1, fitting)) if widths.n_records else ROW_GROUP_ROWS

    def write(self, path: Path, chunks: Iterator[pa.Table]) -> None:
        """Write a row group of each table."""
        writer = None
        try:
            for table in chunks:
                writer = writer or pq.ParquetWriter(path, table.schema)
                writer.write_table(table, row_group_size=len(table))
                del table  # before the next one is made
        finally:
            if writer is not None:
                writer.close()

    @classmethod
    @contextmanager
    def open(
        cls, source: Path | IO[bytes], listed: Collection[str] = ()
    ) -> Iterator[ParquetReleased]:
        """Open a file; one on a disk is read column by column in small pieces."""
        size = STREAM_BYTES if isinstance(source, Path) else 0
        with pq.ParquetFile(
            source, pre_buffer=False, buffer_size=size, read_dictionary=list(listed) or None
        ) as parquet:
            yield ParquetReleased(parquet)
