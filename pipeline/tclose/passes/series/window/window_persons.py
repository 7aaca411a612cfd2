"""Persons of a window and a table, told apart by their hashes, and numbered.

Whoever compares releases asks only who is the same. So registers are read once, and each person
gets a number of four bytes in the place of a hash of sixteen. Hashes are ranked a range at a time,
which is the same for any number of partitions and workers; then persons are numbered as they first
come, release by release, since rows are class by class: who was together is near in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.data.key_rows import find_changes, sort_words
from tclose.model.array_types import Int32, Int64
from tclose.passes.persons.person_numbers import (
    NUMBERED,
    PersonCounts,
    cut_hashes,
    search_hashes,
)
from tclose.passes.series.refused_releases import check_once
from tclose.passes.series.window.earlier_registers import REGISTERED_HASHES
from tclose.passes.series.window.linked_records import LINKED_HASHES
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

# Of a range of hashes, int32 (2, m): row in its piece, and rank in the range; piece by piece.
RANGE_RANKS = FileArtifact("rank/ranks", ArrayFile)
RANKED_HASHES = FileArtifact("rank/hashes", ArrayFile)  # uint64 (2, persons of the range)
# Of each release of the window, int32 (n,): the number of each row's person.
WINDOW_PERSONS = FileArtifact("window/persons", ArrayFile)
# The same of the table's records, partition by partition, and of who was forgotten in a register.
TABLE_PERSONS = FileArtifact("window/table", ArrayFile)
FORGOTTEN_PERSONS = FileArtifact("window/forgotten", ArrayFile)
RANK_NUMBERS = FileArtifact("window/rank-numbers", ArrayFile)  # int32 (persons,): of each rank


# Rows of all releases that a task ranks, about, unless there are more ranges of hashes then than
# this: each task looks through all hashes for its own.
RANKED_ROWS, MOST_RANGES = 1_000_000, 32


@dataclass(frozen=True)
class RankInput:
    """The range ``index`` of ``n_ranges`` of the hashes of registers and partitions."""

    index: int
    n_ranges: int
    n_registers: int
    n_partitions: int


@dataclass(frozen=True)
class RankedRange:
    """Numbers of persons in a range of hashes, and of rows of each piece."""

    n_persons: int
    n_rows: tuple[int, ...]


def rank_task(workspace: Workspace, item: RankInput, pending: PendingFiles) -> RankedRange:
    """Rank the persons of a range among themselves."""
    files = [workspace.file(REGISTERED_HASHES, i) for i in range(item.n_registers)]
    files += [workspace.file(LINKED_HASHES, i) for i in range(item.n_partitions)]
    ends = cut_hashes(item.n_ranges)[item.index : item.index + 2]
    chosen, found = [], []
    for file in files:
        piece = file.read()  # a map of one file at a time: what is read of it counts as memory
        chosen.append(_choose_between(piece[0], ends))
        found.append(piece[:, chosen[-1]])
        del piece
    hashes = np.concatenate(found, axis=1)
    del found
    order = sort_words(hashes[0], hashes[1])
    is_new = find_changes([word[order] for word in hashes])
    ranks = np.empty((2, order.size), dtype=np.int32)
    ranks[0] = np.concatenate(chosen)
    ranks[1, order] = np.cumsum(is_new) - 1
    pending.new(RANGE_RANKS).write(ranks)
    pending.new(RANKED_HASHES).write(hashes[:, order[is_new]])
    return RankedRange(int(is_new.sum()), tuple(rows.size for rows in chosen))


def _choose_between(words: NDArray[np.uint64], ends: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The rows whose first words are in a range of which the last one has no end: int64 (m,)."""
    is_in = words >= ends[0]
    if ends.size == 2:
        is_in &= words < ends[1]
    return np.flatnonzero(is_in)


RANK_TASK = Task(
    "rank", "telling persons apart", rank_task, (RANGE_RANKS, RANKED_HASHES), is_large=True
)


@dataclass(frozen=True, eq=False)
class RankedPieces:
    """Ranks among all persons of the rows of several pieces, which are in files by ranges.

    The pieces are those of ``n_releases`` registers, of who was forgotten in them, and of
    ``n_partitions`` partitions. ``of_ranges``: persons in each range of hashes; ``starts`` int64
    (ranges, pieces + 1): where the rows of each piece begin in the file of a range.
    """

    n_releases: int
    n_partitions: int
    of_ranges: tuple[int, ...]
    starts: Int64

    @property
    def n_persons(self) -> int:
        """All persons."""
        return sum(self.of_ranges)

    def read(self, workspace: Workspace, piece: int) -> Int32:
        """The rank of each row of a piece: int32 (n,)."""
        parts = self.starts[:, piece : piece + 2].tolist()
        ranks = np.empty(sum(end - begin for begin, end in parts), dtype=np.int32)
        first = 0
        for index, (begin, end) in enumerate(parts):
            rows, of_rows = workspace.file(RANGE_RANKS, index).read()[:, begin:end]
            ranks[rows] = first + of_rows
            first += self.of_ranges[index]
        return ranks


def rank_window(context: PassContext, n_releases: int, n_partitions: int) -> RankedPieces:
    """Rank the persons of a window and of a table by their hashes, range by range."""
    workspace, n_registers = context.workspace, n_releases + 1
    sizes = [workspace.file(REGISTERED_HASHES, i).read().shape[1] for i in range(n_registers)]
    sizes += [workspace.file(LINKED_HASHES, i).read().shape[1] for i in range(n_partitions)]
    n_ranges = min(MOST_RANGES, max(1, -(-sum(sizes) // RANKED_ROWS)))
    items = [RankInput(index, n_ranges, n_registers, n_partitions) for index in range(n_ranges)]
    ranges = context.map(RANK_TASK, items)
    starts = np.array([np.cumsum([0, *one.n_rows]) for one in ranges])
    of_ranges = tuple(one.n_persons for one in ranges)
    return RankedPieces(n_releases, n_partitions, of_ranges, starts)


def window_task(workspace: Workspace, ranked: RankedPieces, pending: PendingFiles) -> None:
    """Number the persons of a window and of a table.

    Raises
    ------
    PolicyError
        A person has several records in the table.
    """
    numbers, n_numbered = np.full(ranked.n_persons, -1, dtype=np.int32), 0

    def number(ranks: Int32) -> Int32:
        nonlocal n_numbered
        new = ranks[numbers[ranks] < 0]
        numbers[new] = np.arange(n_numbered, n_numbered + new.size, dtype=np.int32)
        n_numbered += new.size
        return numbers[ranks]

    for index in range(ranked.n_releases):
        pending.new(WINDOW_PERSONS, index).write(number(ranked.read(workspace, index)))
    first = ranked.n_releases + 1
    pieces = [ranked.read(workspace, first + i) for i in range(ranked.n_partitions)]
    table = number(np.concatenate([np.empty(0, dtype=np.int32), *pieces]))
    check_once(table)
    pending.new(TABLE_PERSONS).write(table)
    # Who was in several releases was forgotten in each.
    forgotten = number(np.unique(ranked.read(workspace, ranked.n_releases)))
    pending.new(FORGOTTEN_PERSONS).write(forgotten)
    pending.new(RANK_NUMBERS).write(numbers)


WINDOW_TASK = Task(
    "window",
    "numbering persons of the series",
    window_task,
    (WINDOW_PERSONS, TABLE_PERSONS, FORGOTTEN_PERSONS, RANK_NUMBERS),
    is_large=True,
)


def find_own(workspace: Workspace, persons: PersonCounts, of_ranges: Sequence[int]) -> Int32:
    """The number in the window of each person by that in the plan: int32 (persons,).

    Parameters
    ----------
    persons : of the plan
    of_ranges : persons in each range of hashes that were ranked

    Raises
    ------
    DataError
        There is a person who was not linked with the earlier releases.
    """
    cuts = cut_hashes(len(of_ranges))[1:]
    firsts = np.cumsum(of_ranges) - np.array(of_ranges)
    ranks, n_ranked = np.empty(persons.n_persons, dtype=np.int32), 0
    for number in range(len(persons.of_ranges)):
        numbered = workspace.file(NUMBERED, number).read()
        ends = [0, *np.searchsorted(numbered[0], cuts).tolist(), numbered.shape[1]]
        for index, (begin, stop) in enumerate(pairwise(ends)):
            known = np.asarray(workspace.file(RANKED_HASHES, index).read())
            found = search_hashes(known, np.ascontiguousarray(numbered[:2, begin:stop].T))
            ranks[n_ranked : n_ranked + found.size] = firsts[index] + found
            n_ranked += found.size
    numbers: Int32 = workspace.file(RANK_NUMBERS, 0).read()[ranks]
    return numbers
