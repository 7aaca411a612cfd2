"""A partition of the input as pass 1 reads it: pass-through columns are read in batches.

Digests get the values as the files have them, all else gets them prepared.
"""

from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from tclose.data.files.input_partitions import (
    Reading,
    column_groups,
    read_partition,
    read_raw_batches,
)
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.widths import NO_WIDTHS, PassthroughWidths, measure_widths
from tclose.model.input_pieces import Partition
from tclose.passes.compare.digest_task import InputDigests
from tclose.passes.compare.record_digests import RecordDigest, RecordHashes, join_hashes
from tclose.passes.summarise.records import Source
from tclose.runtime.artifacts.artifacts import Workspace


@dataclass(frozen=True, eq=False)
class Streamed:
    """The records read: deciding columns, the widths of the others, and a digest.

    ``digest``: of the complete records.
    """

    held: pa.Table
    passthrough: PassthroughWidths
    digest: RecordDigest | None


def stream_partition(workspace: Workspace, partition: Partition, source: Source) -> Streamed:
    """Read a partition through; of pass-through columns one batch is in memory at a time."""
    digests = InputDigests(workspace, source)
    if len(column_groups(partition, source.reading)) == 1:
        return _read_together(partition, source, digests)
    return _read_apart(partition, source, digests)


def _read_together(partition: Partition, source: Source, digests: InputDigests) -> Streamed:
    names = [column.name for column in source.checked]
    pieces, passthrough, table_digests = [], NO_WIDTHS, []
    for raw in read_raw_batches(partition, source.reading):
        table = prepare_table(raw, source.reading.prepared)
        pieces.append(table.select(names))
        passthrough = passthrough.merge(measure_widths(table.drop_columns(names)))
        table_digests.append(digests.digest(raw))
    present = [digest for digest in table_digests if digest is not None]
    digest = reduce(RecordDigest.merge, present) if present else None
    return Streamed(pa.concat_tables(pieces), passthrough, digest)


def _read_apart(partition: Partition, source: Source, digests: InputDigests) -> Streamed:
    """Columns group by group: first those that say which records are complete."""
    names = [column.name for column in source.checked]
    raw = read_partition(partition, replace(source.reading.of(names), prepared=()))
    mask = digests.find_complete(raw)
    passthrough = NO_WIDTHS
    hashes = [digests.hash_columns(raw if mask is None else raw.filter(mask))]
    others = source.reading.of([name for name in source.reading.names if name not in set(names)])
    for group in column_groups(partition, others):
        widths, of_group = _read_group(partition, group, mask, digests)
        passthrough = passthrough.beside(widths)
        hashes.append(of_group)
    held = prepare_table(raw, source.reading.prepared)
    return Streamed(held, passthrough, digests.close(hashes))


def _read_group(
    partition: Partition, group: Reading, mask: pa.ChunkedArray | None, digests: InputDigests
) -> tuple[PassthroughWidths, RecordHashes | None]:
    widths, parts, at = NO_WIDTHS, [], 0
    for raw in read_raw_batches(partition, group):
        widths = widths.merge(measure_widths(prepare_table(raw, group.prepared)))
        records = raw if mask is None else raw.filter(mask.slice(at, len(raw)))
        parts.append(digests.hash_columns(records))
        at += len(raw)
    present = [part for part in parts if part is not None]
    return widths, join_hashes(present) if present else None
