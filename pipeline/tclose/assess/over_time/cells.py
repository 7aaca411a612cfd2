"""The common refinement of releases: persons who are in the same class of every one are a cell.

Two persons are in one cell if, in every release, both are absent or both are in the same class.
Whoever knows the classes of everybody, and who is present when, tells cells apart and nothing
finer; *absent* is a class, because 1 to k-1 persons who leave a class are found by subtraction
(Fung, Wang, Fu, Pei, *Anonymity for continuous data publishing*, EDBT 2008; Xiao and Tao,
*m-invariance*, SIGMOD 2007).

An intruder who links by quasi-identifiers may be left with several classes for a person. So a
person has several possible cells, one for each combination of her classes.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Int64

ABSENT = -1  # the class of those who are not in a release
MOST_CELLS = 64  # possible cells that a person is followed in; beyond it she counts in every cell


@dataclass(frozen=True, eq=False)
class Membership:
    """The classes of one release in which each person can be.

    ``offsets`` int64 (n_persons + 1,): the classes of person p are ``classes[offsets[p]:offsets[p +
    1]]``, one at least, `ABSENT` if the person is not in the release.
    """

    offsets: Int64
    classes: Int64

    @property
    def n_persons(self) -> int:
        """Persons of all releases."""
        return self.offsets.size - 1

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """True for each person who is in the release."""
        present: NDArray[np.bool_] = self.classes[self.offsets[:-1]] != ABSENT
        return present


def place_persons(n_persons: int, persons: Int64, offsets: Int64, classes: Int64) -> Membership:
    """The membership of the persons of a release; the others are absent.

    Parameters
    ----------
    persons : int64 (m,): each once
    offsets, classes : int64 (m + 1,) and their classes, of these persons
    """
    counts = np.ones(n_persons, dtype=np.int64)
    counts[persons] = np.diff(offsets)
    ends = np.concatenate(([0], np.cumsum(counts)))
    placed = np.full(int(ends[-1]), ABSENT, dtype=np.int64)
    placed[spread(ends[persons], np.diff(offsets))] = classes
    return Membership(ends, placed)


def spread(starts: Int64, lengths: Int64) -> Int64:
    """Positions start, start + 1, ... of each stretch, one stretch after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


@dataclass(frozen=True, eq=False)
class PersonCells:
    """Possible cells of each person after some releases.

    ``person``, ``cell`` int64 (e,): pairs, each once, by person. ``parent``, ``last`` int64 (c,):
    the cell before the last release that a cell is in, and its class there. ``is_lost`` bool
    (n_persons,): persons with too many possible cells, who are in no pair and may be in any cell.
    """

    person: Int64
    cell: Int64
    parent: Int64
    last: Int64
    is_lost: NDArray[np.bool_]

    @property
    def sizes(self) -> Int64:
        """Persons who can be in each cell, but the lost ones: int64 (c,)."""
        return np.bincount(self.cell, minlength=self.parent.size)

    @property
    def is_certain(self) -> NDArray[np.bool_]:
        """True for each cell whose persons can be in no other: bool (c,)."""
        n_cells = np.bincount(self.person, minlength=self.is_lost.size)
        certain = np.full(self.parent.size, not self.is_lost.any())
        certain[self.cell[n_cells[self.person] > 1]] = False
        return certain


def first_cell(n_persons: int) -> PersonCells:
    """All persons in one cell, before any release."""
    return PersonCells(
        person=np.arange(n_persons),
        cell=np.zeros(n_persons, dtype=np.int64),
        parent=np.array([-1]),
        last=np.array([ABSENT]),
        is_lost=np.zeros(n_persons, dtype=bool),
    )


def refine_cells(cells: PersonCells, membership: Membership) -> PersonCells:
    """The cells after one more release."""
    cells = _lose_persons(cells, membership)
    counts = np.diff(membership.offsets)[cells.person]
    positions = spread(membership.offsets[cells.person], counts)
    classes = membership.classes[positions]
    n_classes = int(classes.max(initial=ABSENT)) + 2  # and absent
    keys = np.repeat(cells.cell, counts) * n_classes + (classes + 1)
    distinct, cell = np.unique(keys, return_inverse=True)
    return PersonCells(
        person=np.repeat(cells.person, counts),
        cell=cell.astype(np.int64),
        parent=distinct // n_classes,
        last=distinct % n_classes - 1,
        is_lost=cells.is_lost,
    )


def _lose_persons(cells: PersonCells, membership: Membership) -> PersonCells:
    """Give up those who would have more than MOST_CELLS possible cells."""
    n_cells = np.bincount(cells.person, minlength=membership.n_persons)
    is_lost = cells.is_lost | (n_cells * np.diff(membership.offsets) > MOST_CELLS)
    is_kept = ~is_lost[cells.person]
    return replace(cells, person=cells.person[is_kept], cell=cells.cell[is_kept], is_lost=is_lost)


def drop_impossible(cells: PersonCells, is_possible: NDArray[np.bool_]) -> PersonCells:
    """Leave out possible cells that no person can be in, but of persons who have no other."""
    possible = is_possible[cells.cell]
    has_one = np.bincount(cells.person, weights=possible, minlength=cells.is_lost.size) > 0
    is_kept = possible | ~has_one[cells.person]
    return replace(cells, person=cells.person[is_kept], cell=cells.cell[is_kept])


def count_candidates_of_cells(cells: PersonCells) -> Int64:
    """Persons who could be whom the intruder looks for, herself among them: int64 (n_persons,).

    Exact for a person with one possible cell. Of several the other persons of each are added up, so
    that one who is in two of them counts twice: nobody is said to be among fewer than she is. For
    lost persons it is the number of all.
    """
    others = cells.sizes - 1 + int(cells.is_lost.sum())
    counts = 1 + np.bincount(
        cells.person, weights=others[cells.cell], minlength=cells.is_lost.size
    ).astype(np.int64)
    counts[cells.is_lost] = cells.is_lost.size
    return counts
