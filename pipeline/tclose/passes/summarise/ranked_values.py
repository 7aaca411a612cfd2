"""Values of columns that are looked for by their rank or frequency, before anything is counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tclose.data.files.input_partitions import Reading, read_partition
from tclose.data.preparation.column_centres import (
    GapCounts,
    Key,
    KeyRange,
    count_gaps,
    share_keys,
)
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
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


@dataclass(frozen=True)
class FoundValue:
    """A key or the text of a category, None where no record has a value; who has none."""

    value: Key | str | None
    n_missing: int


FindValue = Callable[[Column, Sequence[GapCounts], KeyRange], Key | str | KeyRange | None]


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


def look_for_values(
    context: PassContext,
    reading: Reading,
    columns: Sequence[Column],
    partitions: Sequence[Partition],
    find: FindValue,
    *,
    label: str = "",
) -> dict[str, FoundValue]:
    """Find one value of each column, in as many rounds over the partitions as it takes.

    Parameters
    ----------
    reading : of values as the files have them
    find : the value, or the range that it is in, from the counts of all partitions within a range
    label : tells the tasks of one search from those of another
    """
    waiting = {column.name: KeyRange() for column in columns}
    values: dict[str, FoundValue] = {}
    n_round = 0
    while waiting:
        open_columns = tuple(c for c in columns if c.name in waiting)
        part, most = reading.of(list(waiting)), share_keys(len(partitions))
        counted = context.map(
            GAPS_TASK,
            [GapsInput(partition, part, open_columns, waiting, most) for partition in partitions],
            names=[f"{label}{n_round}-{i}" for i in range(len(partitions))],
        )
        ranges = {}
        for column in open_columns:
            pieces = [one[column.name] for one in counted]
            value = find(column, pieces, waiting[column.name])
            if isinstance(value, KeyRange):
                ranges[column.name] = value
            else:
                values[column.name] = FoundValue(value, sum(one.n_missing for one in pieces))
        waiting, n_round = ranges, n_round + 1
    return values
