"""The centres that stand for missing quasi-identifiers, found before anything is counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tclose.data.files.input_partitions import Reading, read_partition
from tclose.data.preparation.column_centres import (
    GapCounts,
    Key,
    KeyRange,
    count_gaps,
    find_category,
    find_median,
    share_keys,
)
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.records import Source
from tclose.runtime.artifacts import PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task


@dataclass(frozen=True)
class GapsInput:
    """Columns of a partition, and the range in which the ranks of each one's keys are asked.

    ``most_keys``: of how many keys.
    """

    partition: Partition
    reading: Reading
    columns: tuple[Column, ...]
    ranges: dict[str, KeyRange]
    most_keys: int


def gaps_task(_: Workspace, item: GapsInput, __: PendingFiles) -> dict[str, GapCounts]:
    """Count the missing values of a partition's columns, and rank the others."""
    table = read_partition(item.partition, item.reading)
    return {
        column.name: count_gaps(
            table[column.name].combine_chunks(), column, item.ranges[column.name], item.most_keys
        )
        for column in item.columns
    }


GAPS_TASK = Task("gaps", "finding centres", gaps_task)


def find_centres(context: PassContext, source: Source, partitions: Sequence[Partition]) -> Source:
    """The source that knows the centre of each column in which missing values get it."""
    waiting = {c.name: KeyRange() for c in source.columns if _imputes(c)}
    settled: dict[str, Column] = {}
    n_read, n_round = sum(partition.n_records for partition in partitions), 0
    while waiting:
        columns = tuple(c for c in source.columns if c.name in waiting)
        reading = source.reading.of(list(waiting))
        counted = context.map(
            GAPS_TASK,
            [
                GapsInput(partition, reading, columns, waiting, share_keys(len(partitions)))
                for partition in partitions
            ],
            names=[f"{n_round}-{i}" for i in range(len(partitions))],
        )
        found = {c.name: _find(c, [one[c.name] for one in counted], waiting) for c in columns}
        for column in columns:
            centre = found[column.name]
            if not isinstance(centre, KeyRange):
                n_missing = sum(one[column.name].n_missing for one in counted)
                settled[column.name] = _settle(column, centre, n_missing, n_read)
        waiting = {name: one for name, one in found.items() if isinstance(one, KeyRange)}
        n_round += 1
    return _replace_columns(source, settled)


def _imputes(column: Column) -> bool:
    preparation = column.attribute.preparation
    return preparation is not None and preparation.imputes is not None


def _find(
    column: Column, counted: Sequence[GapCounts], ranges: dict[str, KeyRange]
) -> Key | str | KeyRange | None:
    if column.kind.is_categorical:
        return find_category(counted, column)
    ranks = [one.ranks for one in counted if one.ranks is not None]
    return find_median(ranks, ranges[column.name])


def _settle(column: Column, centre: Key | str | None, n_missing: int, n_read: int) -> Column:
    assert column.attribute.preparation is not None
    n_imputed = 0 if centre is None else n_missing
    preparation = replace(
        column.attribute.preparation,
        imputed=centre,
        n_imputed=n_imputed,
        percent_imputed=-(-100 * n_imputed // n_read),
    )
    return replace(column, attribute=replace(column.attribute, preparation=preparation))


def _replace_columns(source: Source, settled: dict[str, Column]) -> Source:
    columns = tuple(settled.get(c.name, c) for c in source.columns)
    prepared = tuple(
        (c.name, c.attribute.preparation) for c in columns if c.attribute.preparation is not None
    )
    return replace(source, columns=columns, reading=replace(source.reading, prepared=prepared))
