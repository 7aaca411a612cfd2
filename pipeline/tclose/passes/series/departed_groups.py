"""Groups of persons who left, as subtraction of one release from another finds them.

Who takes the values of some classes of an earlier release, and those of all classes of the newest
one that their persons are in, has in the difference the values of those who left (Fung, Wang, Fu,
Pei, *Anonymity for continuous data publishing*, EDBT 2008). Classes that share a person are linked,
so the smallest sets that can be subtracted are the connected sets of classes of both releases.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.model.array_types import Int64, Integers
from tclose.passes.series.series_cells import ABSENT_CLASS, KnownRelease


def connect_classes(first: Integers, second: Integers) -> Int64:
    """The connected set of each class of a first kind, by the records that are in both kinds.

    Parameters
    ----------
    first, second : (n,) each, int32 or int64: of each record, from 0

    Returns
    -------
    int64 (classes of the first kind,): the smallest class of the first kind in its set
    """
    of_first = np.arange(int(first.max(initial=-1)) + 1)
    n_second = int(second.max(initial=-1)) + 1
    links = np.divmod(np.unique(first.astype(np.int64) * n_second + second), n_second)
    of_second = np.empty(n_second, dtype=np.int64)
    while True:
        of_second[:] = of_first.size
        np.minimum.at(of_second, links[1], of_first[links[0]])
        before = of_first.copy()
        np.minimum.at(of_first, links[0], of_second[links[1]])
        of_first = of_first[of_first]
        if (of_first == before).all():
            return of_first


@dataclass(frozen=True, eq=False)
class CellClasses:
    """Cells of a window, whose persons are in the same classes.

    ``classes``: of each release, oldest first, the class of each cell (c,), or ``ABSENT_CLASS``;
    ``sizes`` int64 (c,): persons.
    """

    classes: list[Integers]
    sizes: Int64

    @classmethod
    def of(cls, releases: Sequence[KnownRelease], cells: Integers, sizes: Int64) -> "CellClasses":
        """The cells of releases; int64 (persons,), -1 of persons who are in none."""
        somebody = np.zeros(sizes.size, dtype=np.int64)
        persons = np.flatnonzero(cells >= 0)
        somebody[cells[persons]] = persons
        there = sizes > 0
        return cls([one.classes[somebody[there]] for one in releases], sizes[there])

    def measure_groups(self, earlier: int) -> Int64:
        """Count the persons who left each connected set of classes of a release: int64 (sets,)."""
        before, now = self.classes[earlier], self.classes[-1]
        was = before != ABSENT_CLASS
        stays = was & (now != ABSENT_CLASS)
        sets = connect_classes(
            np.append(before[stays], before.max(initial=0)),
            np.append(now[stays], now.max(initial=0) + 1),
        )
        gone = was & ~stays
        left = np.bincount(sets[before[gone]], self.sizes[gone], sets.size)
        groups: Int64 = left[np.unique(sets)].astype(np.int64)
        return groups

    def count_torn(self, earlier: int) -> int:
        """Count the classes of an earlier release with persons in several classes of the newest."""
        before, now = self.classes[earlier], self.classes[-1]
        stays = (before != ABSENT_CLASS) & (now != ABSENT_CLASS)
        n_now = int(now.max(initial=0)) + 1
        links = np.unique(before[stays].astype(np.int64) * n_now + now[stays])
        return int((np.bincount(links // n_now) > 1).sum())


def find_small_groups(cells: CellClasses, k: int) -> tuple[int, int]:
    """Groups of 1 to k - 1 persons who left any earlier release, and the smallest of all, or 0."""
    sizes = [cells.measure_groups(earlier) for earlier in range(len(cells.classes) - 1)]
    groups = np.concatenate([np.empty(0, dtype=np.int64), *sizes])
    groups = groups[groups > 0]
    return int((groups < k).sum()), int(groups.min()) if groups.size else 0
