"""A partition of the input as pass 1 reads it: pass-through columns are read in batches.

Digests get the values as the files have them, all else gets them prepared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.input_partitions import (
    Reading,
    column_groups,
    read_partition,
    read_raw_batches,
)
from tclose.data.keys import is_text
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.value_counts import number_values, sampled_rows
from tclose.data.widths import NO_WIDTHS, PassthroughWidths, measure_widths
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.compare.digest_task import InputDigests
from tclose.passes.compare.record_digests import RecordDigest, RecordHashes, join_hashes
from tclose.passes.summarise.records import Source
from tclose.runtime.artifacts.artifacts import Workspace

TOLD_APART = 64  # characters of a text that is released as it is


@dataclass(frozen=True, eq=False)
class Streamed:
    """The records read: deciding columns, the widths of the others, and a digest.

    ``digest``: of the complete records; ``carried``: of the others, sampled values, as numbers that
    are equal where they are, by name: int64 (n,).
    """

    held: pa.Table
    passthrough: PassthroughWidths
    digest: RecordDigest | None
    carried: dict[str, Int64]


def stream_partition(workspace: Workspace, partition: Partition, source: Source) -> Streamed:
    """Read a partition through; of pass-through columns one batch is in memory at a time."""
    digests = InputDigests(workspace, source)
    if len(column_groups(partition, source.reading)) == 1:
        return _read_together(partition, source, digests)
    return _read_apart(partition, source, digests)


def _read_together(partition: Partition, source: Source, digests: InputDigests) -> Streamed:
    names = [column.name for column in source.checked]
    pieces, passthrough, table_digests, sampled, at = [], NO_WIDTHS, [], [], 0
    for raw in read_raw_batches(partition, source.reading):
        table = prepare_table(raw, source.reading.prepared)
        pieces.append(table.select(names))
        others = table.drop_columns(names)
        passthrough = passthrough.merge(measure_widths(others))
        sampled.append(_sample_carried(others, partition.first_position + at, source))
        table_digests.append(digests.digest(raw))
        at += len(raw)
    present = [digest for digest in table_digests if digest is not None]
    digest = reduce(RecordDigest.merge, present) if present else None
    return Streamed(pa.concat_tables(pieces), passthrough, digest, join_samples(sampled))


def _read_apart(partition: Partition, source: Source, digests: InputDigests) -> Streamed:
    """Columns group by group: first those that say which records are complete."""
    names = [column.name for column in source.checked]
    raw = read_partition(partition, replace(source.reading.of(names), prepared=()))
    mask = digests.find_complete(raw)
    passthrough = NO_WIDTHS
    carried: dict[str, Int64] = {}
    hashes = [digests.hash_columns(raw if mask is None else raw.filter(mask))]
    others = source.reading.of([name for name in source.reading.names if name not in set(names)])
    for group in column_groups(partition, others):
        widths, of_group, sampled = _read_group(partition, group, mask, digests, source)
        passthrough = passthrough.beside(widths)
        hashes.append(of_group)
        carried |= sampled
    held = prepare_table(raw, source.reading.prepared)
    return Streamed(held, passthrough, digests.close(hashes), carried)


def _read_group(
    partition: Partition,
    group: Reading,
    mask: pa.ChunkedArray | None,
    digests: InputDigests,
    source: Source,
) -> tuple[PassthroughWidths, RecordHashes | None, dict[str, Int64]]:
    widths, parts, sampled, at = NO_WIDTHS, [], [], 0
    for raw in read_raw_batches(partition, group):
        table = prepare_table(raw, group.prepared)
        widths = widths.merge(measure_widths(table))
        sampled.append(_sample_carried(table, partition.first_position + at, source))
        records = raw if mask is None else raw.filter(mask.slice(at, len(raw)))
        parts.append(digests.hash_columns(records))
        at += len(raw)
    present = [part for part in parts if part is not None]
    return widths, join_hashes(present) if present else None, join_samples(sampled)


def _sample_carried(table: pa.Table, first: int, source: Source) -> dict[str, Int64]:
    """Sample the values of pass-through columns; ``first``: the position of the first record.

    Texts are told apart by their beginnings, as all of long ones would take memory that is not
    counted.
    """
    short = [
        pc.utf8_slice_codeunits(column, 0, TOLD_APART) if is_text(column.type) else column
        for column in table.columns
    ]
    named = pa.table(short, names=table.column_names)
    return sample_values(named, np.arange(first, first + len(table)), source)


def sample_values(table: pa.Table, positions: Int64, source: Source) -> dict[str, Int64]:
    """Sample the values of columns, but missing ones: numbers that are equal where they are.

    Parameters
    ----------
    positions : int64 (n,): of the records in the input, by which and the seed they are drawn

    Returns
    -------
    by column, int64 (m,)
    """
    sample = table.take(pa.array(sampled_rows(positions, source.seed, source.known_share)))
    return {
        name: number_values(sample[name].combine_chunks().drop_null())
        for name in sample.column_names
    }


def join_samples(samples: Sequence[dict[str, Int64]]) -> dict[str, Int64]:
    """The sampled values of several pieces of a table together, by column."""
    names = samples[0] if samples else ()
    return {name: np.concatenate([sample[name] for sample in samples]) for name in names}
