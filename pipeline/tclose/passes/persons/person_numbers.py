"""Persons of the whole table, numbered range by range of their hashes."""

from dataclasses import dataclass

import numpy as np

from tclose.errors import CHANGED_INPUT, ChangedInputError, PolicyError
from tclose.model.array_types import Int64, UInt64
from tclose.passes.persons.person_keys import (
    PERSON_HASHES,
    PERSON_PLACES,
    merge_key_counts,
)
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

MERGED_PERSONS = 1_000_000  # by a task, about
NUMBERED = FileArtifact("number/persons", ArrayFile)  # as `PERSON_HASHES`, of all partitions


@dataclass(frozen=True)
class PersonCounts:
    """The persons of a table.

    ``of_ranges``: how many there are in each range of hashes; numbers go on from one to the next.
    ``n_records``: of all; ``largest``: most records of one person; ``n_several``: persons with more
    than one.
    """

    of_ranges: tuple[int, ...]
    n_records: int
    largest: int
    n_several: int

    @property
    def n_persons(self) -> int:
        """All persons."""
        return sum(self.of_ranges)

    @property
    def firsts(self) -> Int64:
        """Number of the first person of each range."""
        return np.cumsum(self.of_ranges) - np.array(self.of_ranges, dtype=np.int64)


@dataclass(frozen=True)
class NumberInput:
    """The range ``index`` of ``n_ranges`` of the hashes, of so many partitions."""

    index: int
    n_ranges: int
    n_partitions: int


def number_task(
    workspace: Workspace, item: NumberInput, pending: PendingFiles
) -> tuple[int, int, int]:
    """Merge a range of all partitions' persons; how many, the most records, with several."""
    pieces = []
    for partition in range(item.n_partitions):
        rows = workspace.file(PERSON_HASHES, partition).read()
        ends = cut_hashes(item.n_ranges)[item.index : item.index + 2]
        start = np.searchsorted(rows[0], ends[0])
        stop = np.searchsorted(rows[0], ends[1]) if len(ends) == 2 else rows.shape[1]
        pieces.append(rows[:, start:stop])
    merged = merge_key_counts(np.concatenate(pieces, axis=1))
    pending.new(NUMBERED).write(merged)
    counts = merged[2].astype(np.int64)
    return counts.size, int(counts.max(initial=0)), int(np.count_nonzero(counts > 1))


def cut_hashes(n_ranges: int) -> UInt64:
    """First word of the first hash of each range."""
    return np.array([(i << 64) // n_ranges for i in range(n_ranges)], dtype=np.uint64)


NUMBER_TASK = Task("number", "numbering persons", number_task, (NUMBERED,))


def number_persons(context: PassContext, k: int, n_partitions: int, n_records: int) -> PersonCounts:
    """Number the persons of all partitions.

    Raises
    ------
    PolicyError
        There are fewer than k.
    """
    n_hashes = sum(
        context.workspace.file(PERSON_HASHES, i).read().shape[1] for i in range(n_partitions)
    )
    n_ranges = max(1, -(-n_hashes // MERGED_PERSONS))
    items = [NumberInput(index, n_ranges, n_partitions) for index in range(n_ranges)]
    sizes, largest, n_several = zip(*context.map(NUMBER_TASK, items), strict=True)
    counts = PersonCounts(sizes, n_records, max(largest), sum(n_several))
    if counts.n_persons < k:
        there = "is 1 person" if counts.n_persons == 1 else f"are {counts.n_persons:,} persons"
        raise PolicyError(
            f"privacy.k: {k} is more than the persons of the {n_records:,} records: there {there}; "
            "lower it, or name more data"
        )
    return counts


@dataclass(frozen=True, eq=False)
class RecordPersons:
    """The persons of some records: their numbers, and how many records each has in the table."""

    numbers: Int64
    n_records: Int64


def find_persons(
    workspace: Workspace, counts: PersonCounts, partition: int, n_records: int
) -> RecordPersons:
    """Find the persons of the complete records of a partition, of which there are so many.

    Raises
    ------
    ChangedInputError
        There were others when they were numbered.
    """
    hashes = workspace.file(PERSON_HASHES, partition).read()[:2]
    places = workspace.file(PERSON_PLACES, partition).read()
    if places.size != n_records:
        raise ChangedInputError(CHANGED_INPUT)
    found = np.empty((2, hashes.shape[1]), dtype=np.int64)
    ends = np.searchsorted(hashes[0], cut_hashes(len(counts.of_ranges))).tolist()
    stops = [*ends[1:], hashes.shape[1]]
    for index, first in enumerate(counts.firsts.tolist()):
        part = slice(ends[index], stops[index])
        table = workspace.file(NUMBERED, index).read()
        at = search_hashes(table, np.ascontiguousarray(hashes[:, part].T))
        found[0, part] = first + at
        found[1, part] = table[2][at].astype(np.int64)
    numbers, of_persons = found
    return RecordPersons(numbers[places], of_persons[places])


def search_hashes(table: UInt64, hashes: UInt64) -> Int64:
    """Places of hashes (n, 2) in a table (2 or 3, persons) of ascending ones.

    Raises
    ------
    ChangedInputError
        One is not in it.
    """
    if not len(hashes):
        return np.empty(0, dtype=np.int64)
    if not table.shape[1]:
        raise ChangedInputError(CHANGED_INPUT)
    at: Int64 = np.minimum(np.searchsorted(table[0], hashes[:, 0]), table.shape[1] - 1)
    while True:  # hashes whose first words are equal are next to each other
        later = (table[0][at] == hashes[:, 0]) & (table[1][at] < hashes[:, 1])
        later &= at + 1 < table.shape[1]
        if not later.any():
            break
        at[later] += 1
    if (table[0][at] != hashes[:, 0]).any() or (table[1][at] != hashes[:, 1]).any():
        raise ChangedInputError(CHANGED_INPUT)
    return at
