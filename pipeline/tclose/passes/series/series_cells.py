"""The common refinement of the releases of a window: cells, and which of them hold k' and t'.

Two persons are in one cell if in every release of the window both are absent, or both in the same
class. Every class is a union of cells, so all that the releases say together follows from the table
of cells and values. A cell holds if it has k' persons and if, in each release in which it is
present, each confidential attribute is distributed in it within t' of that release's table: by
exact counts, and the same distances as classes. *Absent* is like a class: 1 to k' - 1 persons who
leave a class are found by subtraction (Fung, Wang, Fu, Pei, *Anonymity for continuous data
publishing*, EDBT 2008; Xiao and Tao, *m-invariance*, SIGMOD 2007).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.cell_parts import count_labels, split_cells
from tclose.kernels.number_words import number_words
from tclose.model.array_types import Bools, Float64, Int32, Int64, Integers
from tclose.model.distribution import Distribution
from tclose.privacy.t_closeness import class_distances, classes_above
from tclose.releases.series.register_file import ReleasedPersons

ABSENT_CLASS = -1
MEASURED_PERSONS = 1 << 18  # whose distances are measured at once


@dataclass(frozen=True, eq=False)
class KnownRelease:
    """A release as its persons are in it.

    ``n_persons``: of all releases; ``rows`` (n,): whose each row is, each person once;
    ``row_classes`` (n,): of each row; ``codes`` (p, n): values as positions in ``tables``;
    ``stale`` (n,): for how many releases rows have been held since their persons left, empty if
    none is; all int32 or int64. ``limits``: the t of each attribute.
    """

    n_persons: int
    rows: Integers
    row_classes: Integers
    codes: Integers
    tables: tuple[Distribution, ...]
    attributes: tuple[str, ...]
    limits: tuple[Fraction, ...]
    stale: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def classes(self) -> Integers:
        """The class of each person, or ``ABSENT_CLASS``: (persons,); made anew each time."""
        classes = np.full(self.n_persons, ABSENT_CLASS, dtype=self.row_classes.dtype)
        classes[self.rows] = self.row_classes
        return classes

    def find_present(self) -> Bools:
        """Return which persons are in it: bool (persons,)."""
        present = np.zeros(self.n_persons, dtype=np.bool_)
        present[self.rows] = True
        return present

    @property
    def fresh(self) -> Integers:
        """The persons of the rows that are not held: (f,)."""
        return self.rows[self.stale == 0] if self.stale.size else self.rows


def number_hashes(pieces: Sequence[NDArray[np.uint64]]) -> tuple[int, list[Int64]]:
    """Number the persons of several releases by their hashes, as they first come.

    So much memory is taken as the persons need, however many releases they are in.

    Parameters
    ----------
    pieces : uint64 (n, 2): hashes of each release

    Returns
    -------
    How many persons there are, and of each release the numbers, int64 (n,)
    """
    known, places = np.empty((0, 2), dtype=np.uint64), np.full(1, -1, dtype=np.int64)
    n_known, numbers = 0, []
    for piece in pieces:
        most = n_known + len(piece)
        if most > len(known):
            known = np.concatenate([known[:n_known], np.empty((len(piece), 2), dtype=np.uint64)])
        if 2 * most > places.size:
            places = np.full(1 << (2 * most).bit_length(), -1, dtype=np.int64)
            again = np.empty(n_known, dtype=np.int64)
            number_words(known[:n_known].copy(), known, places, 0, again)
        of_piece = np.empty(len(piece), dtype=np.int64)
        n_known = number_words(np.ascontiguousarray(piece), known, places, n_known, of_piece)
        numbers.append(of_piece)
    return n_known, numbers


def place_release(
    persons: ReleasedPersons,
    numbers: Integers,
    n_persons: int,
    limits: Mapping[str, Fraction] | None = None,
    tables: tuple[Distribution, ...] | None = None,
) -> KnownRelease:
    """A release over the persons of all.

    Parameters
    ----------
    numbers : (n,): of its persons
    limits : what attributes are held to now; others to what they were
    tables : its distributions, if they were counted before
    """
    limits_now = limits or {}
    return KnownRelease(
        n_persons,
        numbers,
        persons.classes,
        persons.codes,
        persons.tables if tables is None else tables,
        persons.attributes,
        tuple(
            limits_now.get(name, limit)
            for name, limit in zip(persons.attributes, persons.limits, strict=True)
        ),
        persons.stale,
    )


def find_cells(releases: Sequence[KnownRelease], n_persons: int) -> Int32:
    """The cell of each person, from 0 without gaps: int32 (persons,).

    Cells are in the order of their classes, those of the first release first; absent is before all.
    """
    cells, n_cells = np.zeros(n_persons, dtype=np.int32), 1
    for release in releases:
        rows, classes = _by_class(release)
        of_rows = cells[rows]
        parts, firsts = split_cells(of_rows, classes, n_cells)
        there = count_labels(of_rows, n_cells)
        absent = np.flatnonzero(count_labels(cells, n_cells) > there)
        pairs = (
            np.concatenate([np.full(absent.size, ABSENT_CLASS), classes[firsts]]),
            np.concatenate([absent, of_rows[firsts]]),
        )
        ranks = np.empty(pairs[0].size, dtype=np.int32)
        ranks[np.lexsort(pairs)] = np.arange(ranks.size, dtype=np.int32)
        of_absent = np.zeros(n_cells, dtype=np.int32)
        of_absent[absent] = ranks[: absent.size]
        cells = of_absent[cells]
        cells[rows] = ranks[absent.size :][parts]
        n_cells = ranks.size
    return cells


def _by_class(release: KnownRelease) -> tuple[Integers, Int32]:
    """The rows of a release and their classes, which are ascending."""
    rows, classes = release.rows, release.row_classes.astype(np.int32, copy=False)
    if (classes[1:] >= classes[:-1]).all():  # as registers have them
        return rows, classes
    order = np.argsort(classes, kind="stable")
    return rows[order], classes[order]


def number_densely(labels: Integers) -> Int32:
    """Labels from 0 without gaps, in their order; those below 0 stay -1: int32 (n,)."""
    is_there = np.zeros(int(labels.max(initial=-1)) + 2, dtype=np.bool_)  # the last one is -1's
    is_there[labels] = True
    is_there[-1] = False
    numbers = np.cumsum(is_there, dtype=np.int32) - np.int32(1)
    numbers[-1] = -1
    dense: Int32 = numbers[labels]
    return dense


@dataclass(frozen=True, eq=False)
class CellMeasures:
    """The measures of cells.

    ``sizes`` int64 (c,): persons; ``is_above`` bool (c,): above a t in some release; ``largest``:
    the largest distance of each attribute in any release, of the cells that were asked for.
    """

    sizes: Int64
    is_above: Bools
    largest: dict[str, float]

    def fail(self, k: int) -> Bools:
        """Return which cells of somebody have fewer than k persons or are above a t: bool (c,)."""
        failing: Bools = (self.sizes > 0) & (self.sizes < k) | self.is_above
        return failing


def measure_cells(
    cells: Integers, releases: Sequence[KnownRelease], asked: Bools | None = None
) -> CellMeasures:
    """Measure cells: (persons,), -1 of persons who are in none.

    Some cells at a time, so that it takes little memory beside what it is given.

    Parameters
    ----------
    asked : bool (c,): cells whose distances count for the largest; all by default
    """
    n_cells = int(cells.max(initial=-1)) + 1
    sizes = count_labels(cells, n_cells)
    is_above = np.zeros(n_cells, dtype=np.bool_)
    largest: dict[str, float] = {}
    for release in releases:
        largest = dict.fromkeys(release.attributes, 0.0) | largest
        of_rows = cells[release.rows]
        for begin, end in _cut_cells(sizes):
            rows = np.flatnonzero((of_rows >= begin) & (of_rows < end))
            some = of_rows[rows].astype(np.int64) - begin
            for name, distances, there, above in _measure_some(release, rows, some, end - begin):
                is_above[begin + above] = True
                counted = distances if asked is None else distances[asked[begin + there]]
                largest[name] = max(largest[name], float(counted.max(initial=0.0)))
    return CellMeasures(sizes, is_above, largest)


def _cut_cells(sizes: Int64) -> list[tuple[int, int]]:
    """Ranges of cells with about so many persons as are measured together."""
    through = np.cumsum(sizes)
    n_ranges = 1 + int(sizes.sum()) // MEASURED_PERSONS
    ends = np.searchsorted(through, MEASURED_PERSONS * np.arange(1, n_ranges)) + 1
    cuts = np.unique([0, *ends.tolist(), sizes.size])
    return list(pairwise(cuts.tolist()))


def _measure_some(
    release: KnownRelease, rows: Int64, cells: Int64, n_cells: int
) -> Iterator[tuple[str, Float64, Int64, Int64]]:
    """Of each attribute, the distances of the cells that are in a release, which, and those above.

    Parameters
    ----------
    rows, cells : int64 (m,): rows of the release, and the cell of each
    """
    order, starts = group_by_label(cells, n_cells)
    there = np.flatnonzero(np.diff(starts))  # a cell is in a release, or absent from it
    starts = np.append(starts[there], starts[-1])
    chosen = rows[order]
    for name, limit, codes, table in zip(
        release.attributes, release.limits, release.codes, release.tables, strict=True
    ):
        members = codes[chosen].astype(np.int64)
        distances = class_distances(members, starts, table)
        above = classes_above(distances, limit, members, starts, table)
        yield name, distances, there, there[above]
