"""The release's files: written, read back, compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.files.input_partitions import COLUMNS_AT_ONCE
from tclose.data.formats.released_file import ReleasedFile
from tclose.data.keys import folder_name
from tclose.errors import VerificationError
from tclose.passes.compare.digest_task import WrittenDigests
from tclose.passes.compare.record_digests import RecordDigest, RecordHashes
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import key_encodings
from tclose.passes.verify.key_range_task import RELEASED, KeyRangeResult
from tclose.releases.repository.repository import file_sha256
from tclose.runtime.artifacts.arrays import as_bits
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

WRITTEN = FileArtifact("publish/written", Path)  # in the format that the policy asks for
COMPARED_BYTES = 1 << 24
WRITTEN_AT_ONCE = 1_024  # values of a column between two looks at the size of a page


@dataclass(frozen=True)
class FileInput:
    """A file of the release: its path, and the rows of key ranges that it holds."""

    path: str
    pieces: tuple[tuple[int, int, int], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FileResult:
    """A written file; ``digest``: of the records that were read back."""

    path: str
    rows: int
    bytes: int
    sha256: str
    digest: RecordDigest | None


def cut_files(plan: Plan, key_ranges: list[KeyRangeResult]) -> list[FileInput]:
    """The release's files: for each folder its rows in order, ``rows_per_file`` at a time."""
    rows_of: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
    for index, key_range in enumerate(key_ranges):
        start = 0
        for prefix, n_rows in key_range.segments:
            rows_of.setdefault(prefix, []).append((index, start, start + n_rows))
            start += n_rows
    columns = tuple(name for name in plan.released if name not in plan.partition_by)
    items, suffix = [], plan.output_format.suffix
    for prefix, pieces in rows_of.items():
        folder = "/".join(("data", *_folder_names(plan, prefix)))
        for number, part in enumerate(_split_pieces(pieces, plan.rows_per_file)):
            items.append(FileInput(f"{folder}/part-{number:05d}.{suffix}", part, columns))
    return items


def _folder_names(plan: Plan, prefix: tuple[Any, ...]) -> list[str]:
    encodings = key_encodings(plan)[: len(prefix)]
    return [
        folder_name(encoding.column.name, encoding.decode(np.array([key]))[0].as_py())
        for encoding, key in zip(encodings, prefix, strict=True)
    ]


def _split_pieces(
    pieces: list[tuple[int, int, int]], rows_per_file: int
) -> list[tuple[tuple[int, int, int], ...]]:
    files: list[list[tuple[int, int, int]]] = [[]]
    room = rows_per_file
    for index, start, stop in pieces:
        at = start
        while at < stop:
            if room == 0:
                files.append([])
                room = rows_per_file
            taken = min(room, stop - at)
            files[-1].append((index, at, at + taken))
            at += taken
            room -= taken
    return [tuple(file) for file in files]


def write_task(workspace: Workspace, item: FileInput, pending: PendingFiles) -> FileResult:
    """Write one file, read it back, and compare it with the rows that were verified."""
    plan = workspace.load_shared(PLAN)
    output_format = plan.output_format
    path, n_rows = pending.new(WRITTEN), output_format.rows_per_chunk(plan.widths)
    output_format.write(path, _cut_chunks(workspace, item, n_rows))
    with output_format.open(path) as written:
        reader = _Reader(workspace, item.path, written)
        for table in _cut_chunks(workspace, item, n_rows):
            reader.compare_chunk(table)
            del table  # before the next one is made
        n_found, digest = reader.finish()
    return FileResult(item.path, n_found, path.stat().st_size, file_sha256(path), digest)


def _cut_chunks(workspace: Workspace, item: FileInput, n_rows: int) -> Iterator[pa.Table]:
    """The rows of a file, as its chunks have them."""
    waiting: list[pa.RecordBatch] = []
    room = n_rows
    for index, start, stop in item.pieces:
        at = start
        while at < stop:
            last = min(stop, at + room)
            rows = workspace.file(RELEASED, index).read_slices(at, last)
            waiting += _aligned(rows, list(item.columns))
            room -= last - at
            at = last
            if not room:
                yield _release(waiting)
                room = n_rows
    if waiting:
        yield _release(waiting)


def _release(batches: list[pa.RecordBatch]) -> pa.Table:
    """The batches as a table, which alone holds them from then on."""
    table = pa.Table.from_batches(batches)
    batches.clear()
    return table


def _aligned(batches: Iterator[pa.RecordBatch], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that end where the writer looks whether a page is full.

    So the bytes of a file do not depend on how the rows were cut on their way to it.
    """
    rest: list[pa.RecordBatch] = []
    for batch in batches:
        n_rest = sum(part.num_rows for part in rest)
        n_complete = (n_rest + batch.num_rows) // WRITTEN_AT_ONCE * WRITTEN_AT_ONCE
        chosen = batch.select(columns)
        if n_complete:
            yield _join([*rest, chosen.slice(0, n_complete - n_rest)])
            rest, chosen = [], chosen.slice(n_complete - n_rest)
        if chosen.num_rows:
            rest.append(chosen)
    if rest:
        yield _join(rest)


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches)


class _Reader:
    """Reads a file back beside the rows that it was written from, and digests what it reads."""

    def __init__(self, workspace: Workspace, path: str, written: ReleasedFile) -> None:
        self._digesting, self._path, self._written = WrittenDigests(workspace), path, written
        self._n_chunks, self._digests = 0, []  # type: int, list[RecordDigest | None]

    def compare_chunk(self, table: pa.Table) -> None:
        """Read the next chunk, some columns and some rows at a time."""
        if self._n_chunks == self._written.n_chunks:
            raise self._refusal()
        parts = [
            self._read_columns(table.select(table.column_names[start : start + COLUMNS_AT_ONCE]))
            for start in range(0, table.num_columns, COLUMNS_AT_ONCE)
        ]
        folders = self._digesting.hash_folders(self._path, len(table))
        self._digests.append(self._digesting.close([*parts, folders]))
        self._n_chunks += 1

    def _read_columns(self, table: pa.Table) -> RecordHashes | None:
        names, at, hashes = table.column_names, 0, []
        n_rows = max(1, min(len(table), len(table) * COMPARED_BYTES // max(1, table.nbytes)))
        for batch in self._written.read_chunk(self._n_chunks, names, n_rows):
            read_back = pa.Table.from_batches([batch])
            if not as_bits(read_back).equals(as_bits(table.slice(at, len(read_back)))):
                raise self._refusal()
            hashes.append(self._digesting.hash_columns(read_back))
            at += len(read_back)
        if at != len(table):
            raise self._refusal()
        return self._digesting.join(hashes)

    def finish(self) -> tuple[int, RecordDigest | None]:
        """Rows of the file, and their digest."""
        if self._n_chunks != self._written.n_chunks:
            raise self._refusal()
        digests = [digest for digest in self._digests if digest is not None]
        digest = reduce(RecordDigest.merge, digests) if digests else None
        return self._written.n_rows, digest

    def _refusal(self) -> VerificationError:
        return VerificationError(f"file {self._path}: does not read back as it was written")


WRITE_TASK = Task("publish", "writing files", write_task, (WRITTEN,))
