"""Wide columns that stay where a partition's task wrote them, and are fetched by record.

A file has all records of a partition in the order of the input, in batches; beside it stand where
each batch ends and how many bytes each record takes. So whoever needs a record needs its position
in the input alone.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, takewhile

import numpy as np
import pyarrow as pa

from tclose.data.widths import record_bytes
from tclose.model.array_types import Int64
from tclose.passes.summarise.input_summary import PARTITIONS
from tclose.runtime.artifacts.arrays import ArrayFile, WorkingFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace

WIDE = FileArtifact("encode/wide", WorkingFile)
WIDE_ENDS = FileArtifact("encode/wide-ends", ArrayFile)
WIDE_SIZES = FileArtifact("encode/wide-sizes", ArrayFile)


class ReferenceWriter:
    """Writes a group of columns of a partition, batch by batch."""

    def __init__(self, pending: PendingFiles, group: int) -> None:
        self._drafts, self._group = pending, group
        self._sink = pa.OSFile(str(pending.new(WIDE, group).path), "wb")
        self._writer: pa.RecordBatchFileWriter | None = None
        self._ends: list[int] = []
        self._sizes: list[Int64] = []

    def write(self, table: pa.Table) -> None:
        """Add the next records; at least once, be there none."""
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._sink, table.schema)
        for batch in table.combine_chunks().to_batches():
            self._writer.write_batch(batch)
            self._ends.append((self._ends[-1] if self._ends else 0) + batch.num_rows)
        self._sizes.append(record_bytes(table))

    def finish(self) -> None:
        """Complete the files."""
        if self._writer is not None:
            self._writer.close()
        self._sink.close()
        self._drafts.new(WIDE_ENDS, self._group).write(np.array(self._ends, dtype=np.int64))
        self._drafts.new(WIDE_SIZES, self._group).write(np.concatenate(self._sizes))


@dataclass(frozen=True, eq=False)
class References:
    """The files of all partitions; ``firsts`` int64: position of the first record of each."""

    workspace: Workspace
    firsts: Int64

    def measure(self, positions: Int64) -> Int64:
        """Bytes that records take, by their positions: int64 (n,)."""
        widths = np.empty(positions.size, dtype=np.int64)
        for index, rows, local in self._split(positions):
            sizes = [
                self.workspace.file(WIDE_SIZES, index, group).read()[local]
                for group in self._groups(index)
            ]
            widths[rows] = np.sum(sizes, axis=0)
        return widths

    def fetch(self, positions: Int64) -> pa.Table:
        """Records by their positions, in that order."""
        pieces, places = [], []
        for index, rows, local in self._split(positions):
            groups = [self._take(index, group, local) for group in self._groups(index)]
            columns = {name: group[name] for group in groups for name in group.column_names}
            pieces.append(pa.table(columns))
            places.append(rows)
        order = np.argsort(np.concatenate(places))
        return pa.concat_tables(pieces).take(pa.array(order))

    def _split(self, positions: Int64) -> list[tuple[int, Int64, Int64]]:
        """Per partition: which of the positions are its, and the rows in it, ascending."""
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        cuts = np.append(np.searchsorted(ordered, self.firsts), positions.size)
        return [
            (index, order[start:stop], ordered[start:stop] - first)
            for index, (first, start, stop) in enumerate(
                zip(self.firsts, cuts[:-1], cuts[1:], strict=True)
            )
            if start < stop
        ]

    def _groups(self, index: int) -> Iterator[int]:
        """Numbers of the groups of columns that a partition's task has written."""
        return takewhile(lambda group: self.workspace.file(WIDE, index, group).exists, count())

    def _take(self, index: int, group: int, rows: Int64) -> pa.Table:
        """Copies of rows, which ascend, of a partition's columns, batch by batch.

        After each batch the map lets go of what was read: it would count as the process's memory.
        """
        ends = self.workspace.file(WIDE_ENDS, index, group).read()
        with self.workspace.file(WIDE, index, group).path.open("rb", buffering=0) as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(data)))
        taken, batch_of = [], np.searchsorted(ends, rows, side="right")
        for batch in np.unique(batch_of).tolist():
            first = ends[batch - 1] if batch else 0
            of_batch = pa.array(rows[batch_of == batch] - first)
            taken.append(reader.get_batch(batch).take(of_batch))
            data.madvise(mmap.MADV_DONTNEED)
        return pa.Table.from_batches(taken)


def load_references(workspace: Workspace) -> References:
    """Load the locations of the referenced columns, which no record takes along."""
    partitions = workspace.load_shared(PARTITIONS)
    firsts = np.array([partition.first_position for partition in partitions], dtype=np.int64)
    return References(workspace, firsts)
