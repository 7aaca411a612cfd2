"""Records of persons who left, held in the release until enough of their cell have left.

Registers have no values, and the input of a later month has no record of somebody who left. What
is held is her row of the release before, as it was handed out: the register says which it is. So
nothing of her is read, kept or told that was not released, and her quasi-identifiers are those of
her class.

Whether a cell is held does not depend on the values of those who left: it is let go if all of it
left, or if any persons of it might, so many as did. It is held only if everybody else of it has the
same confidential values as in the release before. Those who left cannot have others: if one of five
changed, the values that are still there are of four. So of a cell that is held nothing is told that
was not told before; one that cannot be held is dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose.data.files.input_files import file_stamp
from tclose.data.files.input_partitions import MIN_PARTITION_ROWS
from tclose.data.keys import plain_type
from tclose.model.array_types import Bools, Int32, Int64, Integers
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.passes.series.held.divisible_cells import find_divisible
from tclose.passes.series.held.handed_out import HandedOut, ToldApart, refuse_damaged
from tclose.passes.series.kept_records import LinkedTable
from tclose.passes.series.series_cells import KnownRelease, measure_cells
from tclose.passes.series.window.earlier_registers import find_hashes
from tclose.passes.summarise.records import Source
from tclose.runtime.artifacts.arrays import TableFile, WorkingFile
from tclose.runtime.artifacts.artifacts import FileArtifact
from tclose.runtime.pipeline import PassContext

HELD = FileArtifact("summarise/held", WorkingFile)  # Parquet, as a file of the input
# The confidential values of the release before, in the order of its rows, as they were handed out.
HANDED_OUT = FileArtifact("summarise/handed-out", TableFile)
NAME = "the release before, of persons who left"
HELD_ROWS = MIN_PARTITION_ROWS  # of a partition


@dataclass(frozen=True, eq=False)
class Departed:
    """Persons of the release before who have no record now, in the order of its rows.

    ``rows`` int64 (n,): of the release before; ``values``: confidential ones, as the table has
    them; ``persons`` (n,): who they are; ``ages`` (n,): for how many releases each is held, if she
    is; ``moved`` (m,): records of the table whose persons had other confidential values in
    the release before.
    """

    rows: Int64
    values: tuple[pa.Array, ...]
    persons: Integers
    ages: Integers
    moved: Integers

    def take(self, chosen: Bools) -> "Departed":
        """Some of them: bool (n,)."""
        values = tuple(column.filter(pa.array(chosen)) for column in self.values)
        return replace(
            self,
            rows=self.rows[chosen],
            values=values,
            persons=self.persons[chosen],
            ages=self.ages[chosen],
        )

    def join(self, table: LinkedTable) -> LinkedTable:
        """The records of a table, and after them those that may be held."""
        if not self.persons.size:
            return table
        pairs = zip(table.values, self.values, strict=True)
        values = [pa.concat_arrays([own, held]) for own, held in pairs]
        return replace(table, persons=np.concatenate([table.persons, self.persons]), values=values)


NOBODY_LEFT = Departed(
    np.empty(0, dtype=np.int64),
    (),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
)


def released_types(source: Source) -> dict[str, pa.DataType]:
    """The types of the columns that a held row needs, as the input has them."""
    pairs = zip(source.reading.names, source.reading.types, strict=True)
    person = None if source.person is None else source.person.name
    return {name: plain_type(dtype) for name, dtype in pairs if name != person}


def copy_values(
    handed_out: HandedOut, columns: Sequence[Column], attributes: Sequence[str], file: TableFile
) -> None:
    """Write the confidential values of a release as it was handed out, for whoever chooses.

    Parameters
    ----------
    columns : confidential ones, as the table has them
    attributes : those of the register

    Raises
    ------
    OutputError
        The register has other columns, or a file cannot be read.
    PolicyError
        The release lacks a column, or has one of another type.
    """
    names = [column.name for column in columns]
    if not set(names) <= set(attributes):
        raise refuse_damaged(handed_out.release, "its register has other columns")
    empty = pa.schema([(name, handed_out.types[name]) for name in names]).empty_table()
    file.write_all(chain([empty], handed_out.read(names)))


def find_departed(
    handed_out: TableFile, before: KnownRelease, table: LinkedTable, *, has_forgotten: bool
) -> Departed | None:
    """Find who left since the release before; after somebody was forgotten in it, nobody.

    A forgotten person's row cannot be told from those of persons who left, and is not to be
    released again.

    Parameters
    ----------
    handed_out : what `copy_values` wrote of that release
    before : the release, as its register has it
    table : records of the new one
    has_forgotten : whether somebody was forgotten in it

    Returns
    -------
    None if the register is not of the rows that were handed out
    """
    record_of = np.full(before.n_persons, -1, dtype=np.int32)
    record_of[table.persons] = np.arange(table.persons.size, dtype=np.int32)
    records = record_of[before.rows]
    del record_of
    left = (records < 0) & (not has_forgotten)
    found = _compare_values(handed_out, before, table, records, left)
    if found is None:
        return None
    values, is_moved = found
    rows = np.flatnonzero(left)
    ages = before.stale[rows] if before.stale.size else np.zeros(rows.size, dtype=np.int64)
    return Departed(rows, values, before.rows[rows], ages + 1, records[is_moved])


def _compare_values(
    handed_out: TableFile,
    before: KnownRelease,
    table: LinkedTable,
    records: Int32,
    left: Bools,
) -> tuple[tuple[pa.Array, ...], Bools] | None:
    """The confidential values of those who left, and which rows have other ones now: bool (n,).

    Parameters
    ----------
    records : int32 (n,): of each row's person, -1 of who has none
    left : bool (n,): who left, of the rows

    Returns
    -------
    None if there are other rows than the register has, or it tells their values apart otherwise
    """
    names = [column.name for column in table.columns]
    places = [before.attributes.index(name) for name in names]
    comparisons = [ToldApart(before.codes[a], before.tables[a].values.size) for a in places]
    values_of_left: list[list[pa.Array]] = [[column.slice(0, 0)] for column in table.values]
    is_moved = np.zeros(records.size, dtype=np.bool_)
    start = 0
    for piece in handed_out.read_slices(0, records.size + 1):  # one more, if there are more
        part = slice(start, start + len(piece))
        start += len(piece)
        if start > records.size:
            return None
        stays = records[part] >= 0
        for column, now, compared, of_left in zip(
            piece.columns, table.values, comparisons, values_of_left, strict=True
        ):
            compared.add(column)
            of_left.append(column.filter(pa.array(left[part])))
            same = _is_same(column.filter(pa.array(stays)), now.take(records[part][stays]))
            is_moved[part][stays] |= ~same
    if start != records.size or not all(one.is_alike() for one in comparisons):
        return None
    return tuple(pa.concat_arrays(column) for column in values_of_left), is_moved


def _is_same(before: pa.Array, now: pa.Array) -> Bools:
    """Return where values are written alike: bool (n,); -0.0 is not 0.0."""
    same: Bools = pc.equal(before, now).fill_null(False).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(before.type):
        signs = [np.signbit(column.to_numpy(zero_copy_only=False)) for column in (before, now)]
        same = same & (signs[0] == signs[1])
    return same


def choose_held(
    window: Sequence[KnownRelease], cells: Integers, left: Integers, moved: Integers, k: int
) -> Bools:
    """Choose who of those who left is held: bool (n,).

    Parameters
    ----------
    cells : (persons,): of the earlier releases
    left : (n,): persons of the release before without a record
    moved : (m,): persons who have other values than in the release before
    """
    if not left.size:
        return np.zeros(0, dtype=np.bool_)
    n_cells = int(cells.max()) + 1
    groups = np.full(cells.size, -1, dtype=cells.dtype)
    groups[left] = cells[left]
    n_left = np.bincount(cells[left], minlength=n_cells)
    # Where any part holds, so do those who left: it is looked at first, as it is found at once.
    holding = np.zeros(n_cells, dtype=np.bool_)
    measured = measure_cells(groups, window)
    holding[: measured.sizes.size] = (measured.sizes > 0) & ~measured.fail(k)
    is_gone = n_left == np.bincount(cells[window[-1].rows], minlength=n_cells)
    lets_go = holding & (is_gone | find_divisible(window, cells, n_left, holding & ~is_gone, k))
    held: Bools = ~lets_go[cells[left]] & ~np.isin(cells[left], cells[moved])
    return held


def add_held(
    context: PassContext,
    source: Source,
    partitions: tuple[Partition, ...],
    held: Int64,
    handed_out: HandedOut,
    release: int,
) -> tuple[Partition, ...]:
    """The partitions of the input, and after them those of the rows that are held.

    Parameters
    ----------
    held : int64 (2, n): rows of the release before, ascending, and for how many releases each is
        held
    release : that release's place in the window

    Raises
    ------
    OutputError
        The release that they are held from was changed meanwhile.
    """
    rows, ages = held
    if source.person is None or not rows.size:
        return partitions
    path = context.workspace.new_file(HELD).path
    person = (source.person.name, plain_type(source.person.type))
    _write_rows(str(path), _find_rows(handed_out, rows), person)
    handed_out.check_again()
    hashes = find_hashes(context.workspace, release, rows)
    about = np.column_stack([hashes.view(np.int64), ages])
    first = sum(partition.n_records for partition in partitions)
    starts = range(0, len(about), HELD_ROWS)
    added = [
        Partition(
            path=str(path),
            name=NAME,
            format="parquet",
            first_group=group,
            last_group=group,
            start=0,
            stop=min(HELD_ROWS, len(about) - start),
            n_records=min(HELD_ROWS, len(about) - start),
            first_position=first + start,
            stamp=file_stamp(str(path)),
            held=about[start : start + HELD_ROWS],
        )
        for group, start in enumerate(starts)
    ]
    return (*partitions, *added)


def _find_rows(handed_out: HandedOut, rows: Int64) -> Iterator[pa.Table]:
    """Yield some rows of a release, piece by piece: int64 (n,), ascending."""
    start = 0
    for piece in handed_out.read(list(handed_out.types)):
        first, last = np.searchsorted(rows, [start, start + len(piece)])
        if first < last:
            yield piece.take(pa.array(rows[first:last] - start))
        start += len(piece)


def _write_rows(path: str, pieces: Iterator[pa.Table], person: tuple[str, pa.DataType]) -> None:
    """Write rows in row groups of `HELD_ROWS`, without their persons, whom hashes stand for.

    A record needs a person, and one that is left out is read without her: so all have the same one.
    """
    name, dtype = person
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype)
    nobody = pa.scalar("0") if is_text else pa.scalar(0, pa.int32())
    writer, waiting = None, None
    try:
        for piece in pieces:
            filled = piece.append_column(name, pa.repeat(nobody, len(piece)).cast(dtype))
            waiting = filled if waiting is None else pa.concat_tables([waiting, filled])
            writer = writer or pq.ParquetWriter(path, waiting.schema)
            while len(waiting) >= HELD_ROWS:
                writer.write_table(waiting.slice(0, HELD_ROWS), HELD_ROWS)
                waiting = waiting.slice(HELD_ROWS)
        if writer is not None and waiting is not None and len(waiting):
            writer.write_table(waiting, HELD_ROWS)
    finally:
        if writer is not None:
            writer.close()
