"""Unions of classes that persons left, so that subtraction finds none of them among too few.

Classes that persons left are united with the nearest ones that others left, until each union lost
none or k' of every earlier release. What was in one class of an earlier release stays in one: were
a union to come apart, a third release could tell who had left which part.
"""

from dataclasses import dataclass

import numpy as np

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, represent_classes
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64
from tclose.passes.series.departed_groups import connect_classes
from tclose.passes.series.series_cells import Bools


@dataclass(frozen=True, eq=False)
class EarlierClasses:
    """The classes of some records in the earlier releases of a window, and who left these.

    ``classes`` int64 (w, n): of each release, -1 where the person was absent; ``gone`` int64
    (w, n): persons of that class who are not here; ``k``: how many have to leave together.
    """

    classes: Int64
    gone: Int64
    k: int

    def keep_together(self, labels: Int64) -> Int64:
        """Labels (n,) without gaps of unions in which no earlier class is apart."""
        for classes in self.classes:
            there = classes >= 0
            if there.any():
                first = np.append(labels[there], labels.max())
                second = np.append(classes[there], classes.max() + 1)
                labels = connect_classes(first, second)[labels]
        renumbered: Int64 = np.unique(labels, return_inverse=True)[1].reshape(-1)
        return renumbered

    def count_gone(self, labels: Int64) -> Int64:
        """Persons who left the earlier classes of each union: int64 (w, c)."""
        lost = np.zeros((len(self.classes), int(labels.max()) + 1), dtype=np.int64)
        for of_release, classes, gone in zip(lost, self.classes, self.gone, strict=True):
            rows = np.flatnonzero(classes >= 0)
            firsts = rows[np.unique(classes[rows], return_index=True)[1]]
            np.add.at(of_release, labels[firsts], gone[firsts])
        return lost


def unite_classes(labels: Int64, scaled: Scaled, earlier: EarlierClasses) -> Int64:
    """Labels (n,) of unions that lost none or k' persons of each release, wherever that can be."""
    labels = earlier.keep_together(labels)
    lost = earlier.count_gone(labels)
    failing = np.flatnonzero(((lost > 0) & (lost < earlier.k)).any(axis=0))
    if not failing.size:
        return labels
    values, levels = np.ascontiguousarray(scaled.numeric.T), np.ascontiguousarray(scaled.nominal.T)
    order, starts = group_by_label(labels, lost.shape[1])
    centres, modes = represent_classes(
        values, levels, scaled.weights, scaled.n_levels, order, starts, CENTRE, np.empty(0)
    )
    joined = _Unions(lost, earlier.k, np.diff(starts), centres, modes, scaled.weights).join(failing)
    renumbered: Int64 = np.unique(joined[labels], return_inverse=True)[1].reshape(-1)
    return renumbered


@dataclass(frozen=True, eq=False)
class _Unions:
    """Classes to be united.

    ``lost`` int64 (w, c): persons of each earlier release; ``sizes`` int64 (c,): records;
    ``centres`` float64 (c, d), ``modes`` int32 (c, q), ``weights`` float64 (q,).
    """

    lost: Int64
    k: int
    sizes: Int64
    centres: Float64
    modes: np.ndarray
    weights: Float64

    def join(self, failing: Int64) -> Int64:
        """The union of each class, by one of its classes: int64 (c,).

        Each union begins with the class that is farthest from the middle of those left, and takes
        the nearest of them. The last ones, if too few, go to the nearest that persons left.
        """
        joined = np.arange(self.sizes.size)
        is_waiting = np.zeros(self.sizes.size, dtype=np.bool_)
        is_waiting[failing] = True
        is_able: Bools = self.lost.sum(axis=0) > 0
        while is_waiting.any():
            waiting = np.flatnonzero(is_waiting)
            middle = np.average(self.centres[waiting], axis=0, weights=self.sizes[waiting])
            apart = ((self.centres[waiting] - middle) ** 2).sum(axis=1)
            self._grow(int(waiting[np.argmax(apart)]), joined, is_waiting, is_able)
        return joined

    def _grow(self, first: int, joined: Int64, is_waiting: Bools, is_able: Bools) -> None:
        members: Bools = joined == joined[first]
        is_waiting[members] = False
        while self._is_short(members):
            others: Bools = is_waiting
            if not others.any():
                others = is_able & ~members
            if not others.any():
                others = ~members
            if not others.any():
                return
            candidates = np.flatnonzero(others)
            nearest = candidates[np.argmin(self._measure(first, members, candidates))]
            members |= joined == joined[nearest]
            joined[members] = joined[first]
            is_waiting[members] = False

    def _is_short(self, members: Bools) -> bool:
        """Return whether a union lost 1 to k' - 1 persons of some release."""
        lost = self.lost[:, members].sum(axis=1)
        return bool(((lost > 0) & (lost < self.k)).any())

    def _measure(self, first: int, members: Bools, candidates: Int64) -> Float64:
        """Growth of the squared error (Ward), about, of a union by each candidate: float64 (m,)."""
        size = self.sizes[members].sum()
        centre = np.average(self.centres[members], axis=0, weights=self.sizes[members])
        apart = ((self.centres[candidates] - centre) ** 2).sum(axis=1)
        for j, weight in enumerate(self.weights):  # plain sums, which are the same everywhere
            apart += weight * (self.modes[candidates, j] != self.modes[first, j])
        of_pairs: Float64 = apart * self.sizes[candidates] * size / (self.sizes[candidates] + size)
        return of_pairs
