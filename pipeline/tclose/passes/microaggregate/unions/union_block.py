"""A block of classes that persons left: unions of them that lose little.

A union's squared error, and its records off their modes, follow from sums over its classes. So what
an exchange of classes between unions saves is exact, and costs no look at records.
"""

from dataclasses import dataclass

import numpy as np

from tclose.model.array_types import Bools, Float64, Int64

LEAST_SAVED = 1e-9  # of squared error, by an exchange
MOST_SWEEPS = 4


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over the records of classes, or of unions: a row for each.

    ``rows`` float64 (c, 1 + w + d + l): records, persons lost of each of w earlier releases, the
    numeric columns, and counts of the levels of nominal columns, column by column; ``n_releases``:
    w; ``firsts`` int64 (q,): where the counts of each nominal column begin; ``weights`` float64
    (q,); ``k``: persons of a release that a union has to lose, or none.
    """

    rows: Float64
    n_releases: int
    firsts: Int64
    weights: Float64
    k: int

    def measure(self, rows: Float64) -> Float64:
        """Measure what unions keep of the squared sizes of their records: all, less what they lose.

        ``rows`` float64 (m, ...), sums of some of these.
        """
        end = int(self.firsts[0]) if self.firsts.size else rows.shape[1]
        sums = rows[:, 1 + self.n_releases : end]
        kept_squares: Float64 = (sums * sums).sum(axis=1) / np.maximum(rows[:, 0], 1.0)
        if self.firsts.size:
            commonest = np.maximum.reduceat(rows, self.firsts, axis=1)
            kept_squares += (commonest * self.weights).sum(axis=1)
        return kept_squares

    def are_short(self, rows: Float64) -> Bools:
        """Return which unions lost 1 to k - 1 persons of some release: bool (m,)."""
        lost = rows[:, 1 : 1 + self.n_releases]
        return np.asarray(((lost > 0) & (lost < self.k)).any(axis=1))

    def centres(self, rows: Float64) -> Float64:
        """Means of the numeric columns and shares of the levels: float64 (m, d + l)."""
        means: Float64 = rows[:, 1 + self.n_releases :] / rows[:, :1]
        return means


class UnionBlock:
    """Classes of a block and the union that each is in.

    Attributes
    ----------
    labels : int64 (c,): the union of each class, below c
    """

    def __init__(self, sums: BlockSums, labels: Int64) -> None:
        """Begin with unions as they are."""
        self.labels = labels.copy()
        self._sums = sums
        self._totals = np.zeros_like(sums.rows)
        np.add.at(self._totals, labels, sums.rows)
        self._kept = sums.measure(self._totals)
        self._n_changes = 1
        self._changed = np.ones(labels.size, dtype=np.int64)  # by which change, each union
        self._seen = np.zeros(labels.size, dtype=np.int64)  # after which change, each class

    def join_short(self) -> None:
        """Unite those that lost too few with one another, then with any, as long as there are some.

        Each begins with the one that is farthest from the middle of those left.
        """
        while True:
            short = self._find_short()
            if not short.size:
                return
            centres = self._sums.centres(self._totals[short])
            apart = ((centres - centres.mean(axis=0)) ** 2).sum(axis=1)
            if not self._grow(int(short[np.argmax(apart)]), short):
                return

    def _find_short(self) -> Int64:
        return np.flatnonzero(self._sums.are_short(self._totals))

    def _grow(self, union: int, short: Int64) -> bool:
        """Add the cheapest ones until it is not short; False if there is nothing to be added."""
        waiting = short[short != union]
        while self._sums.are_short(self._totals[union : union + 1])[0]:
            others = waiting
            if not others.size:
                others = np.flatnonzero(self._totals[:, 0])
                others = others[others != union]
            if not others.size:
                return False
            joined = self._sums.measure(self._totals[others] + self._totals[union])
            nearest = int(others[np.argmax(joined - self._kept[others])])
            self._put(np.flatnonzero(self.labels == nearest), union)
            waiting = waiting[waiting != nearest]
        return True

    def _put(self, classes: Int64, union: int) -> None:
        """Put classes into a union."""
        changed = np.append(self.labels[classes], union)
        np.subtract.at(self._totals, self.labels[classes], self._sums.rows[classes])
        self._totals[union] += self._sums.rows[classes].sum(axis=0)
        self.labels[classes] = union
        empty = changed[self._totals[changed, 0] == 0]
        self._totals[empty] = 0.0  # nothing that rounding has left
        self._kept[changed] = self._sums.measure(self._totals[changed])
        self._n_changes += 1
        self._changed[changed] = self._n_changes

    def exchange(self) -> None:
        """Exchange, move and scatter classes as long as that saves something; none becomes short.

        Unions that are short stay as they are.
        """
        for _ in range(MOST_SWEEPS):
            n_before = self._n_changes
            for i in range(self.labels.size):
                self._improve(i)
            for union in np.unique(self.labels).tolist():
                self._scatter(union)
            if self._n_changes == n_before:
                return

    def _improve(self, i: int) -> None:
        """Exchange a class for another one, or for none, where that saves most.

        Only with unions that are others than when it was last tried.
        """
        sums, own = self._sums, int(self.labels[i])
        is_new = self._changed > (0 if self._changed[own] > self._seen[i] else self._seen[i])
        is_new[own] = False
        self._seen[i] = self._n_changes
        there = np.flatnonzero(is_new & (self._totals[:, 0] > 0))
        if not there.size:
            return
        of_others = np.flatnonzero(is_new[self.labels])
        partners = np.append(of_others, np.full(there.size, -1))
        places = np.append(self.labels[of_others], there)
        taken = np.where((partners >= 0)[:, None], sums.rows[partners], 0.0)
        swapped = taken - sums.rows[i]
        here, away = self._totals[own] + swapped, self._totals[places] - swapped
        saved = sums.measure(here) + sums.measure(away) - self._kept[own] - self._kept[places]
        saved[sums.are_short(here) | sums.are_short(away)] = -np.inf
        best = int(np.argmax(saved))
        if saved[best] <= LEAST_SAVED:
            return
        self._put(np.array([i]), int(places[best]))
        if partners[best] >= 0:
            self._put(partners[best : best + 1], own)

    def _scatter(self, union: int) -> None:
        """Put each class of a union into another one, if that saves something."""
        sums, members = self._sums, np.flatnonzero(self.labels == union)
        totals, saved = self._totals.copy(), -self._kept[union]
        places = np.flatnonzero(totals[:, 0])
        places = places[places != union]
        chosen = []
        for i in members.tolist():
            joined = totals[places] + sums.rows[i]
            gained = sums.measure(joined) - sums.measure(totals[places])
            gained[sums.are_short(joined)] = -np.inf
            if not gained.size or gained.max() == -np.inf:
                return
            best = int(np.argmax(gained))
            saved += gained[best]
            totals[places[best]] = joined[best]
            chosen.append(int(places[best]))
        if saved <= LEAST_SAVED:
            return
        for i, place in zip(members.tolist(), chosen, strict=True):
            self._put(np.array([i]), place)
