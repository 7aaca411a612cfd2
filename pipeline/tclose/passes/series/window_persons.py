"""Persons of a window and a table, told apart by their hashes, and numbered.

Whoever compares releases asks only who is the same. So registers are read once, and each person
gets a number of four bytes in the place of a hash of sixteen. Hashes are ranked a range at a time,
which is the same for any number of partitions and workers; then persons are numbered as they first
come, release by release, since rows are class by class: who was together is near in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tclose.data.key_rows import find_changes, sort_words
from tclose.model.array_types import Int32, Int64
from tclose.model.distribution import Distribution
from tclose.passes.compare.keyed_hashes import UInt64
from tclose.passes.persons.person_numbers import (
    NUMBERED,
    cut_hashes,
    search_hashes,
)
from tclose.passes.plan.plan import Plan
from tclose.passes.series.series_cells import KnownRelease, place_release
from tclose.releases.series.register_file import NOBODY, ReleasedPersons, load_register
from tclose.releases.series.series_history import SeriesRelease
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.free_memory import free_memory
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

# Of a partition's complete records, uint64 (2, n): both words of the hash.
LINKED_HASHES = FileArtifact("link/hashes", ArrayFile)
# The same of each release of the window by its rows, and then of who was forgotten.
REGISTERED_HASHES = FileArtifact("summarise/registered-hashes", ArrayFile)
# Of each release of the window, int32 (1 + attributes, n): class and values, by position; and for
# how long rows were held, where some are.
REGISTERED_ROWS = FileArtifact("summarise/registered-rows", ArrayFile)
# Of each attribute the arrays of its distribution, one after the other: int64.
REGISTERED_TABLES = FileArtifact("summarise/registered-tables", ArrayFile)
# What its register says besides.
REGISTERED = Artifact("registered", tuple[ReleasedPersons, ...], version=2)
# Of a range of hashes, int32 (2, m): row in its piece, and rank in the range; piece by piece.
RANGE_RANKS = FileArtifact("rank/ranks", ArrayFile)
RANKED_HASHES = FileArtifact("rank/hashes", ArrayFile)  # uint64 (2, persons of the range)
# Of each release of the window, int32 (n,): the number of each row's person.
WINDOW_PERSONS = FileArtifact("summarise/window-persons", ArrayFile)
RANK_NUMBERS = FileArtifact("summarise/rank-numbers", ArrayFile)  # int32 (persons,): of each rank


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
    """How many persons are in a range of hashes, and how many rows of each piece."""

    n_persons: int
    n_rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WindowPersons:
    """The numbers of persons: of those who were forgotten, and of the table's records.

    ``of_ranges``: persons in each range of hashes.
    """

    of_ranges: tuple[int, ...]
    forgotten: Int32
    table: Int32

    @property
    def n_persons(self) -> int:
        """All persons."""
        return sum(self.of_ranges)


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


RANK_TASK = Task("rank", "telling persons apart", rank_task, (RANGE_RANKS, RANKED_HASHES))


def read_registers(
    context: PassContext, releases: Sequence[SeriesRelease]
) -> tuple[ReleasedPersons, ...]:
    """Read the registers of a window into working files; what they say besides their rows.

    Raises
    ------
    OutputError
        One is missing, or not as it was published.
    """
    workspace, registered = context.workspace, []
    forgotten = [NOBODY]
    for index, release in enumerate(releases):
        persons = load_register(release)
        workspace.new_file(REGISTERED_HASHES, index).write(persons.hashes.T)
        rows = np.empty((1 + len(persons.codes), persons.classes.size), dtype=np.int32)
        rows[0], rows[1:] = persons.classes, persons.codes
        if persons.stale.size:
            rows = np.vstack([rows, persons.stale.astype(np.int32)])
        workspace.new_file(REGISTERED_ROWS, index).write(rows)
        counted = [array for table in persons.tables for array in (table.cumulative, table.prefix)]
        nothing = np.empty(0, dtype=np.int64)
        workspace.new_file(REGISTERED_TABLES, index).write(np.concatenate([nothing, *counted]))
        forgotten.append(persons.forgotten)
        registered.append(_without_rows(persons))
        del persons
        free_memory()
    workspace.new_file(REGISTERED_HASHES, len(releases)).write(np.concatenate(forgotten).T)
    context.write(REGISTERED, tuple(registered))
    return tuple(registered)


def _without_rows(persons: ReleasedPersons) -> ReleasedPersons:
    nothing = np.empty(0, dtype=np.int64)
    codes = np.empty((len(persons.codes), 0), dtype=np.int64)
    return replace(persons, hashes=NOBODY, classes=nothing, codes=codes, stale=nothing)


def number_window(context: PassContext, n_releases: int, n_partitions: int) -> WindowPersons:
    """Number the persons of a window and of a table; those of the releases stay in files."""
    workspace = context.workspace
    ranked = _rank_pieces(context, n_releases + 1, n_partitions)
    numbers, n_numbered = np.full(ranked.n_persons, -1, dtype=np.int32), 0

    def number(ranks: Int32) -> Int32:
        nonlocal n_numbered
        new = ranks[numbers[ranks] < 0]
        numbers[new] = np.arange(n_numbered, n_numbered + new.size, dtype=np.int32)
        n_numbered += new.size
        return numbers[ranks]

    for index in range(n_releases):
        workspace.new_file(WINDOW_PERSONS, index).write(number(ranked.read(workspace, index)))
    first = n_releases + 1
    pieces = [ranked.read(workspace, first + i) for i in range(n_partitions)]
    table = number(np.concatenate([np.empty(0, dtype=np.int32), *pieces]))
    del pieces
    # Who was in several releases was forgotten in each.
    forgotten = number(np.unique(ranked.read(workspace, n_releases)))
    workspace.new_file(RANK_NUMBERS).write(numbers)
    return WindowPersons(ranked.of_ranges, forgotten, table)


@dataclass(frozen=True, eq=False)
class RankedPieces:
    """Ranks among all persons of the rows of several pieces, which are in files by ranges.

    ``of_ranges``: persons in each range of hashes; ``starts`` int64 (ranges, pieces + 1): where
    the rows of each piece begin in the file of a range.
    """

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


def _rank_pieces(context: PassContext, n_registers: int, n_partitions: int) -> RankedPieces:
    workspace = context.workspace
    sizes = [workspace.file(REGISTERED_HASHES, i).read().shape[1] for i in range(n_registers)]
    sizes += [workspace.file(LINKED_HASHES, i).read().shape[1] for i in range(n_partitions)]
    n_ranges = min(MOST_RANGES, max(1, -(-sum(sizes) // RANKED_ROWS)))
    items = [RankInput(index, n_ranges, n_registers, n_partitions) for index in range(n_ranges)]
    ranges = context.map(RANK_TASK, items)
    starts = np.array([np.cumsum([0, *one.n_rows]) for one in ranges])
    return RankedPieces(tuple(one.n_persons for one in ranges), starts)


@dataclass(frozen=True, eq=False)
class PlacedWindow(Sequence[KnownRelease]):
    """The earlier releases over all persons, by their numbers, and perhaps the newest one.

    Each is mapped anew when it is looked at, and let go with it: what is read of a map counts as
    memory as long as there is a map.

    ``registered``: what `read_registers` returned; ``limits``: what attributes are held to now;
    others to what they were.
    """

    workspace: Workspace
    registered: Sequence[ReleasedPersons]
    n_persons: int
    limits: Mapping[str, Fraction] = field(default_factory=dict)
    newest: tuple[KnownRelease, ...] = ()

    def __len__(self) -> int:
        """The releases."""
        return len(self.registered) + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> KnownRelease: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[KnownRelease]: ...

    def __getitem__(self, index: int | slice) -> KnownRelease | Sequence[KnownRelease]:
        """A release, oldest first."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        if place >= len(self.registered):
            return self.newest[place - len(self.registered)]
        persons = self.registered[place]
        rows = self.workspace.file(REGISTERED_ROWS, place).read()
        n_codes = 1 + len(persons.attributes)
        whole = replace(persons, classes=rows[0], codes=rows[1:n_codes])
        if len(rows) > n_codes:
            whole = replace(whole, stale=rows[n_codes])
        numbers = self.workspace.file(WINDOW_PERSONS, place).read()
        tables = tuple(self._read_tables(place))
        return place_release(whole, numbers, self.n_persons, self.limits, tables)

    def _read_tables(self, place: int) -> Iterator[Distribution]:
        counted = self.workspace.file(REGISTERED_TABLES, place).read()
        start = 0
        for space in self.registered[place].spaces:
            middle, end = start + space.n_values, start + 2 * space.n_values + 1
            cumulative, prefix = counted[start:middle], counted[middle:end]
            yield Distribution(np.arange(space.n_values), cumulative, prefix, space.metric)
            start = end


def find_hashes(workspace: Workspace, release: int, rows: NDArray[np.int64]) -> UInt64:
    """The hashes of some rows of a release of the window: uint64 (n, 2)."""
    return np.ascontiguousarray(workspace.file(REGISTERED_HASHES, release).read()[:, rows].T)


def find_own(workspace: Workspace, plan: Plan, of_ranges: Sequence[int]) -> Int32:
    """The number in the window of each person by that in the plan: int32 (persons,).

    Parameters
    ----------
    of_ranges : persons in each range of hashes that were ranked

    Raises
    ------
    DataError
        There is a person who was not linked with the earlier releases.
    """
    assert plan.persons is not None
    cuts = cut_hashes(len(of_ranges))[1:]
    firsts = np.cumsum(of_ranges) - np.array(of_ranges)
    ranks, n_ranked = np.empty(plan.persons.n_persons, dtype=np.int32), 0
    for number in range(len(plan.persons.of_ranges)):
        numbered = workspace.file(NUMBERED, number).read()
        ends = [0, *np.searchsorted(numbered[0], cuts).tolist(), numbered.shape[1]]
        for index, (begin, stop) in enumerate(pairwise(ends)):
            known = np.asarray(workspace.file(RANKED_HASHES, index).read())
            found = search_hashes(known, np.ascontiguousarray(numbered[:2, begin:stop].T))
            ranks[n_ranked : n_ranked + found.size] = firsts[index] + found
            n_ranked += found.size
    numbers: Int32 = workspace.file(RANK_NUMBERS, 0).read()[ranks]
    return numbers
