"""Records of persons who left, held in the release until all of them who left a cell hold.

Registers have no values, and the input of a later month has no record of somebody who left. What
is held is her row of the release before, as it was handed out: the register says which it is. So
nothing of her is read, kept or told that was not released, and her quasi-identifiers are those of
her class.

A cell is held where those who left it would not hold by themselves, and only if everybody else of
it has the same confidential values as in the release before. Those who left cannot have others: if
one of five changed, the values that are still there are of four. So of a cell that is held nothing
is told that was not told before; one that cannot be held is dropped.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.data.files.input_files import file_stamp
from tclose.data.files.input_partitions import PARTITION_ROWS
from tclose.data.keys import plain_type
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import OutputError, PolicyError
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.series.kept_records import LinkedTable
from tclose.passes.series.series_cells import Bools, KnownRelease, measure_cells, number_hashes
from tclose.passes.summarise.records import Source
from tclose.releases.contents import read_manifest
from tclose.releases.series.register_file import ReleasedPersons
from tclose.releases.series.series_history import SeriesRelease
from tclose.runtime.arrays import WorkingFile
from tclose.runtime.artifacts import FileArtifact
from tclose.runtime.pipeline import PassContext

HELD = FileArtifact("summarise/held", WorkingFile)  # Parquet, as a file of the input
NAME = "the release before, of persons who left"


@dataclass(frozen=True, eq=False)
class Departed:
    """Persons of the release before who have no record now, in the order of its rows.

    ``rows``: what was released of each, in the types of the input; ``hashes`` uint64 (n, 2);
    ``ages`` int64 (n,): for how many releases each is held, if she is; ``moved`` int64 (m,):
    records of the table whose persons had other confidential values in the release before.
    """

    rows: pa.Table
    hashes: np.ndarray
    ages: Int64
    moved: Int64

    def take(self, chosen: Bools) -> "Departed":
        """Some of them: bool (n,)."""
        rows = self.rows.filter(pa.array(chosen))
        return replace(self, rows=rows, hashes=self.hashes[chosen], ages=self.ages[chosen])

    def join(self, table: LinkedTable) -> LinkedTable:
        """The records of a table, and after them those that may be held."""
        if not len(self.hashes):
            return table
        values = [
            pa.concat_arrays([own, self.rows[column.name].combine_chunks()])
            for own, column in zip(table.values, table.columns, strict=True)
        ]
        return replace(table, hashes=np.concatenate([table.hashes, self.hashes]), values=values)


NOBODY_LEFT = Departed(
    pa.table({}),
    np.empty((0, 2), dtype=np.uint64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
)


def find_departed(
    release: SeriesRelease, persons: ReleasedPersons, table: LinkedTable, source: Source
) -> Departed:
    """Find who left since the release before; after somebody was forgotten in it, nobody.

    A forgotten person's row cannot be told from those of persons who left, and is not to be
    released again.

    Parameters
    ----------
    persons : its register
    table : records of the new release

    Raises
    ------
    OutputError
        Its files are not as they were published.
    PolicyError
        It has other columns, or of other types.
    """
    types = {
        name: plain_type(dtype)
        for name, dtype in zip(source.reading.names, source.reading.types, strict=True)
        if source.person is None or name != source.person.name
    }
    rows = read_handed_out(release, types)
    if len(rows) != len(persons.hashes):
        raise _damaged(release)
    n_persons, (before, now) = number_hashes([persons.hashes, table.hashes])
    record_of = np.full(n_persons, -1, dtype=np.int64)
    record_of[now] = np.arange(now.size)
    records = record_of[before]
    left = (records < 0) & (len(persons.forgotten) == 0)
    ages = persons.stale if persons.stale.size else np.zeros(left.size, dtype=np.int64)
    stays = np.flatnonzero(records >= 0)
    moved = _find_moved(rows.take(pa.array(stays)), table, records[stays])
    return Departed(rows.filter(pa.array(left)), persons.hashes[left], ages[left] + 1, moved)


def _find_moved(rows: pa.Table, table: LinkedTable, records: Int64) -> Int64:
    """Return which of some records have other confidential values than their released rows."""
    is_moved = np.zeros(records.size, dtype=np.bool_)
    for column, values in zip(table.columns, table.values, strict=True):
        same = pc.equal(rows[column.name].combine_chunks(), values.take(pa.array(records)))
        is_moved |= ~same.fill_null(False).to_numpy(zero_copy_only=False)
    return records[is_moved]


def choose_held(
    window: Sequence[KnownRelease], cells: Int64, left: Int64, moved: Int64, k: int
) -> Bools:
    """Choose who of those who left is held: bool (n,).

    Parameters
    ----------
    cells : int64 (persons,): of the earlier releases
    left : int64 (n,): persons of the release before without a record
    moved : int64 (m,): persons who have other values than in the release before
    """
    if not left.size:
        return np.zeros(0, dtype=np.bool_)
    groups = np.full(cells.size, -1, dtype=np.int64)
    groups[left] = cells[left]
    failing = np.flatnonzero(measure_cells(groups, window).fail(k))
    held: Bools = np.isin(cells[left], failing) & ~np.isin(cells[left], cells[moved])
    return held


def add_held(
    context: PassContext,
    source: Source,
    partitions: tuple[Partition, ...],
    held: Departed,
) -> tuple[Partition, ...]:
    """The partitions of the input, and after them those of the rows that are held."""
    if source.person is None or not len(held.hashes):
        return partitions
    rows = held.rows
    about = np.column_stack([held.hashes.view(np.int64), held.ages])
    nobody = _fill(plain_type(source.person.type), len(rows))
    path = context.workspace.new_file(HELD).path
    pq.write_table(
        rows.append_column(source.person.name, nobody), path, row_group_size=PARTITION_ROWS
    )
    first = sum(partition.n_records for partition in partitions)
    starts = range(0, len(rows), PARTITION_ROWS)
    added = [
        Partition(
            path=str(path),
            name=NAME,
            format="parquet",
            row_group=group,
            start=0,
            stop=min(PARTITION_ROWS, len(rows) - start),
            n_records=min(PARTITION_ROWS, len(rows) - start),
            first_position=first + start,
            stamp=file_stamp(str(path)),
            held=about[start : start + PARTITION_ROWS],
        )
        for group, start in enumerate(starts)
    ]
    return (*partitions, *added)


def _fill(dtype: pa.DataType, n_rows: int) -> pa.Array:
    """Some value in the place of persons, who are told by hashes alone: all the same."""
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype)
    one = pa.scalar("0") if is_text else pa.scalar(0, pa.int32())
    return pa.repeat(one, n_rows).cast(dtype)


def read_handed_out(release: SeriesRelease, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The rows of a release in their order, in the types that the input has now.

    Raises
    ------
    OutputError
        Its files are not as they were published.
    PolicyError
        It has other columns, or of other types.
    """
    manifest = read_manifest(release.place)
    if manifest is None:
        raise _damaged(release)
    pieces = []
    for file in manifest.files:
        try:
            content = read_bounded(release.place / file.path, file.bytes)
        except (OSError, MalformedError):
            raise _damaged(release) from None
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise _damaged(release)
        piece = pq.read_table(io.BytesIO(content))
        columns = {name: _cast(piece, name, dtype, release) for name, dtype in types.items()}
        pieces.append(pa.table(columns))
    return pa.concat_tables(pieces).combine_chunks()


def _cast(
    piece: pa.Table, name: str, dtype: pa.DataType, release: SeriesRelease
) -> pa.ChunkedArray:
    """A released column in the type of the input; means are rounded where that has no fractions."""
    try:
        values = piece[name]
        if pa.types.is_integer(dtype) and pa.types.is_floating(values.type):
            values = pc.round(values, round_mode="half_to_even")
        if pa.types.is_decimal(dtype) and not pa.types.is_integer(values.type):
            values = pc.round(values, dtype.scale, round_mode="half_to_even")
        return values.cast(dtype)
    except MemoryError:  # which an exception of pyarrow can be
        raise
    except (KeyError, pa.ArrowException):
        raise PolicyError(
            f"privacy.over_time.departures: hold: release {release.name} has no column {name!r} of "
            f"type {dtype}, so its records cannot be held; keep the columns of the series and "
            "their types, or take departures: drop"
        ) from None


def _damaged(release: SeriesRelease) -> OutputError:
    return OutputError(
        f"release {release.name}: its files are missing or not as they were published, and the "
        "records of persons who left are held from them; put it back"
    )
