"""The common refinement of the releases of a window: cells, and which of them hold k' and t'.

Two persons are in one cell if in every release of the window both are absent, or both in the same
class. Every class is a union of cells, so all that the releases say together follows from the table
of cells and values. A cell holds if it has k' persons and if, in each release in which it is
present, each confidential attribute is distributed in it within t' of that release's table: by
exact counts, and the same distances as classes. *Absent* is like a class: 1 to k' - 1 persons who
leave a class are found by subtraction (Fung, Wang, Fu, Pei, *Anonymity for continuous data
publishing*, EDBT 2008; Xiao and Tao, *m-invariance*, SIGMOD 2007).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.data.key_rows import find_changes
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.number_words import number_words
from tclose.model.array_types import Int64, Integers
from tclose.model.distribution import Distribution
from tclose.privacy.t_closeness import class_distances, classes_above
from tclose.releases.series.register_file import ReleasedPersons

ABSENT_CLASS = -1
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KnownRelease:
    """A release as its persons are in it.

    ``classes`` (persons,): of each person, or ``ABSENT_CLASS``; ``rows`` (n,): whose each row is,
    each person once; ``codes`` (p, n): values as positions in ``tables``; ``stale`` (n,): for how
    many releases rows have been held since their persons left, empty if none is; all int32 or
    int64. ``limits``: the t of each attribute.
    """

    classes: Integers
    rows: Integers
    codes: Integers
    tables: tuple[Distribution, ...]
    attributes: tuple[str, ...]
    limits: tuple[Fraction, ...]
    stale: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))

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
) -> KnownRelease:
    """A release over the persons of all.

    Parameters
    ----------
    numbers : (n,): of its persons
    limits : what attributes are held to now; others to what they were
    """
    classes = np.full(n_persons, ABSENT_CLASS, dtype=persons.classes.dtype)
    classes[numbers] = persons.classes
    limits_now = limits or {}
    return KnownRelease(
        classes,
        numbers,
        persons.codes,
        persons.tables,
        persons.attributes,
        tuple(
            limits_now.get(name, limit)
            for name, limit in zip(persons.attributes, persons.limits, strict=True)
        ),
        persons.stale,
    )


def find_cells(releases: Sequence[KnownRelease], n_persons: int) -> Int64:
    """The cell of each person, from 0 without gaps: int64 (persons,)."""
    cells = np.zeros(n_persons, dtype=np.int64)
    for release in releases:
        classes = release.classes.astype(np.int64) + 1
        order, _ = group_by_label(classes, int(classes.max(initial=0)) + 1)
        n_cells = int(cells.max(initial=0)) + 1
        if n_cells > 1:
            order = order[group_by_label(cells[order], n_cells)[0]]
        is_new = find_changes([cells[order], classes[order]])
        cells[order] = np.cumsum(is_new) - 1
    return cells


def number_densely(labels: Int64) -> Int64:
    """Labels from 0 without gaps, in their order; those below 0 stay -1: int64 (n,)."""
    is_there = np.zeros(int(labels.max(initial=-1)) + 2, dtype=np.bool_)  # the last one is -1's
    is_there[labels] = True
    is_there[-1] = False
    numbers = np.cumsum(is_there) - 1
    numbers[-1] = -1
    dense: Int64 = numbers[labels]
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
    cells: Int64, releases: Sequence[KnownRelease], asked: Bools | None = None
) -> CellMeasures:
    """Measure cells: int64 (persons,), -1 of persons who are in none.

    Parameters
    ----------
    asked : bool (c,): cells whose distances count for the largest; all by default
    """
    n_cells = int(cells.max(initial=-1)) + 1
    is_above = np.zeros(n_cells, dtype=np.bool_)
    largest: dict[str, float] = {}
    for release in releases:
        chosen = np.flatnonzero(cells[release.rows] >= 0)
        of_rows = cells[release.rows[chosen]]
        order, starts = group_by_label(of_rows, n_cells)
        there = np.flatnonzero(np.diff(starts))  # a cell is in a release, or absent from it
        starts = np.append(starts[there], starts[-1])
        for name, limit, codes, table in zip(
            release.attributes, release.limits, release.codes, release.tables, strict=True
        ):
            members = codes[chosen][order].astype(np.int64)
            distances = class_distances(members, starts, table)
            is_above[there[classes_above(distances, limit, members, starts, table)]] = True
            counted_distances = distances if asked is None else distances[asked[there]]
            largest[name] = max(largest.get(name, 0.0), float(counted_distances.max(initial=0.0)))
    sizes = np.bincount(cells[cells >= 0], minlength=n_cells)
    return CellMeasures(sizes, is_above, largest)
