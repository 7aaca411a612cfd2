"""The intruder: what he considers possible of each person, release by release, and what is left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.assess.over_time.attack_result import Knowledge, PersonExposure, ReadValue
from tclose.assess.over_time.candidate_values import (
    Candidates,
    CellValues,
    count_class_values,
    follow_values,
    no_values,
)
from tclose.assess.over_time.cells import (
    Membership,
    PersonCells,
    count_candidates_of_cells,
    drop_impossible,
    first_cell,
    refine_cells,
)
from tclose.assess.over_time.lasting_values import LastingValues
from tclose.model.array_types import Bools, Int64


@dataclass(frozen=True, eq=False)
class Intruder:
    """Originals that what an intruder finds is compared with.

    ``values``: the lasting values of all releases; ``true_values`` int64 (n_persons,): of each
    person, as of the last release that she is in.
    """

    k: int
    values: LastingValues
    published: tuple[Candidates, ...]
    true_values: Int64

    def attack(
        self,
        considered: Sequence[Membership],
        true: Sequence[Membership] | None,
        step: Callable[[], None],
    ) -> Knowledge:
        """Follow everybody through the releases.

        Parameters
        ----------
        considered : the classes that he considers for each person
        true : the classes that each is in, if they are known
        """
        cells, known = first_cell(self.true_values.size), no_values()
        below_in_one = []
        for membership, published in zip(considered, self.published, strict=True):
            alone = refine_cells(first_cell(membership.n_persons), membership)
            below = count_candidates_of_cells(alone) < self.k
            below_in_one.append(int(np.sum(below & membership.is_present)))
            cells, known = self._follow(cells, known, membership, published)
            step()
        presence = np.array([membership.is_present for membership in considered])
        stayed: Bools = np.all(presence, axis=0)
        changed: Bools = np.any(presence, axis=0) & ~stayed
        candidates = count_candidates_of_cells(cells)
        read = {n: _read_values(cells, known, of) for n, of in self.values.attributes.items()}
        return Knowledge(
            stayed=self._expose(stayed, candidates, read),
            changed=self._expose(changed, candidates, read),
            linked=tuple(
                None if true is None else _share_linked(one, true[i])
                for i, one in enumerate(considered)
            ),
            one_class=tuple(map(_share_certain, considered)),
            below_k_in_one=tuple(below_in_one),
        )

    def _follow(
        self, cells: PersonCells, known: CellValues, membership: Membership, published: Candidates
    ) -> tuple[PersonCells, CellValues]:
        """The cells after a release; where values last, those without any are impossible."""
        after = refine_cells(cells, membership)
        if not self.values.attributes:
            return after, known
        known = follow_values(known, cells, after, published, self.values.n_values)
        is_possible = known.is_open.copy()
        is_possible[known.entries.group] = True
        return drop_impossible(after, is_possible), known

    def _expose(self, who: Bools, candidates: Int64, read: dict[str, Int64]) -> PersonExposure:
        n_persons = int(who.sum())
        return PersonExposure(
            persons=n_persons,
            alone=int(np.sum(candidates[who] == 1)),
            below_k=int(np.sum(candidates[who] < self.k)),
            found=float(np.mean(1.0 / candidates[who])) if n_persons else 0.0,
            values=tuple(self._count_read(name, who, codes) for name, codes in read.items()),
        )

    def _count_read(self, name: str, who: Bools, codes: Int64) -> ReadValue:
        is_read = who & (codes >= 0)
        is_right = codes == self.values.attributes[name][self.true_values]
        return ReadValue(name, int(is_read.sum()), int(np.sum(is_read & is_right)))


def count_published(values: LastingValues, classes: Sequence[Int64]) -> tuple[Candidates, ...]:
    """The values of each release's classes; ``classes``: of each of its rows, int64 (n,)."""
    return tuple(
        count_class_values(of, rows, values.n_values)
        for of, rows in zip(classes, values.rows, strict=True)
    )


def _read_values(cells: PersonCells, known: CellValues, attribute: Int64) -> Int64:
    """The one value that is left of each person, as a code; -1 where several are, or none.

    Parameters
    ----------
    attribute : int64 (n_values,): the code of the attribute's value in each combination
    """
    n_cells, n_persons = cells.parent.size, cells.is_lost.size
    codes, big = attribute[known.entries.value], np.iinfo(np.int64).max
    low, high = np.full(n_cells, big), np.full(n_cells, -1)
    np.minimum.at(low, known.entries.group, codes)
    np.maximum.at(high, known.entries.group, codes)
    low[known.is_open] = -1  # anything
    least, most = np.full(n_persons, big), np.full(n_persons, -1)
    np.minimum.at(least, cells.person, low[cells.cell])
    np.maximum.at(most, cells.person, high[cells.cell])
    return np.where((least == most) & ~cells.is_lost, most, -1)


def _share_linked(considered: Membership, true: Membership) -> float:
    """Share of the persons of a release whose own class is among those considered."""
    persons = np.repeat(np.arange(true.n_persons), np.diff(considered.offsets))
    own = true.classes[true.offsets[:-1]]
    is_own = considered.classes == own[persons]
    is_found = np.bincount(persons, weights=is_own, minlength=true.n_persons) > 0
    return float(np.mean(is_found[true.is_present]))


def _share_certain(considered: Membership) -> float:
    """Share of the persons of a release of whom one class alone is considered."""
    return float(np.mean(np.diff(considered.offsets)[considered.is_present] == 1))
