"""Some complete records of a planned release's input, and which of them it would leave out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.files.input_partitions import read_partition
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.value_counts import complete_records, sampled_rows
from tclose.model.input_pieces import Partition
from tclose.passes.persons.person_keys import hide_persons, load_person_key
from tclose.passes.summarise.input_summary import INPUT_SUMMARY, PARTITIONS
from tclose.passes.summarise.records import Source, kept_positions
from tclose.passes.suppress.suppress_records import SUPPRESSION
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import Run

MOST_READ = 4_000_000  # records, to draw a few


@dataclass(frozen=True, eq=False)
class DrawnRecords:
    """Complete records in the order of the input, with all columns that decide over classes.

    ``is_left_out`` bool (n,): whether the release leaves it out as an isolated one; ``n_table``:
    complete records that the release keeps. Values that a record gets from its class are missing.
    """

    table: pa.Table
    is_left_out: NDArray[np.bool_]
    n_table: int

    @property
    def has_gaps(self) -> bool:
        """True if a record gets a value from its class."""
        return any(column.null_count for column in self.table.columns)

    @property
    def is_whole(self) -> bool:
        """True if it is the whole table."""
        return int(np.count_nonzero(~self.is_left_out)) == self.n_table


def draw_records(run: Run, size: int, progress: Progress) -> DrawnRecords:
    """Draw about ``size`` complete records of a planned run, or take all if there are fewer.

    Policy, input and seed decide who is drawn. Of an input of more than `MOST_READ` records only
    some partitions are read, evenly spread.
    """
    workspace = run.workspace
    summary, partitions = workspace.load(INPUT_SUMMARY), workspace.load(PARTITIONS)
    source, n_table = summary.source, summary.table.n_complete
    read = _spread(partitions)
    if workspace.load(SUPPRESSION):  # others that are left out have no place in a table alone
        source = replace(source, reading=replace(source.reading, hidden=None))
    key = b"" if source.person is None else load_person_key(run)
    n_among = n_table * sum(one.n_records for one in read) / sum(o.n_records for o in partitions)
    share = min(1.0, size / n_among) if n_among else 1.0
    tables, left_out = [], []
    with progress.following("draw", len(read), label="drawing records") as step:
        for partition in read:
            table, is_left_out = _draw(partition, source, share, key)
            tables.append(table)
            left_out.append(is_left_out)
            step()
    return DrawnRecords(pa.concat_tables(tables), np.concatenate(left_out), n_table)


def _spread(partitions: Sequence[Partition]) -> list[Partition]:
    """All partitions, or as many as have `MOST_READ` records, evenly spread."""
    n_records = sum(one.n_records for one in partitions)
    n_read = max(1, min(len(partitions), len(partitions) * MOST_READ // max(1, n_records)))
    return [partitions[i * len(partitions) // n_read] for i in range(n_read)]


def _draw(
    partition: Partition, source: Source, share: float, key: bytes
) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Read a sample of a partition's complete records, and which of them are left out."""
    names = [column.name for column in source.checked]
    is_cleared = source.reading.hidden is None
    nobody = np.empty(0, dtype=np.int64)
    there = replace(partition, left_out=nobody) if is_cleared else partition
    reading = source.reading.of(names)
    table = read_partition(there, reading.with_gaps())
    filled = prepare_table(table, reading.filled_by_class)
    positions = kept_positions(filled, source.checked, partition.first_position)
    mask = complete_records(filled, source.checked)
    records = table if mask is None else table.filter(mask)
    if share < 1:
        rows = sampled_rows(positions, source.seed, share)
        records, positions = records.take(pa.array(rows)), positions[rows]
    if source.person is not None:
        records = hide_persons(records, source.person, key)
    return records.select(names), np.isin(positions, partition.left_out)
