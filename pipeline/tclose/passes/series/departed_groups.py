"""Groups of persons who left, as subtraction of one release from another finds them.

Who takes the values of some classes of an earlier release, and those of all classes of the newest
one that their persons are in, has in the difference the values of those who left (Fung, Wang, Fu,
Pei, *Anonymity for continuous data publishing*, EDBT 2008). Classes that share a person are linked,
so the smallest sets that can be subtracted are the connected sets of classes of both releases.
"""

from collections.abc import Sequence

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


def measure_groups(earlier: KnownRelease, newest: KnownRelease) -> Int64:
    """Count the persons who left each connected set of classes of two releases: int64 (sets,)."""
    was = earlier.classes != ABSENT_CLASS
    stays = was & (newest.classes != ABSENT_CLASS)
    sets = connect_classes(
        np.append(earlier.classes[stays], earlier.classes.max(initial=0)),
        np.append(newest.classes[stays], newest.classes.max(initial=0) + 1),
    )
    left = np.bincount(sets[earlier.classes[was & ~stays]], minlength=sets.size)
    groups: Int64 = left[np.unique(sets)]
    return groups


def count_torn(earlier: KnownRelease, newest: KnownRelease) -> int:
    """Count the classes of an earlier release with persons in several classes of the newest."""
    stays = (earlier.classes != ABSENT_CLASS) & (newest.classes != ABSENT_CLASS)
    n_newest = int(newest.classes.max(initial=0)) + 1
    of_earlier = earlier.classes[stays].astype(np.int64)
    links = np.unique(of_earlier * n_newest + newest.classes[stays])
    return int((np.bincount(links // n_newest) > 1).sum())


def find_small_groups(releases: Sequence[KnownRelease], k: int) -> tuple[int, int]:
    """Groups of 1 to k - 1 persons who left any earlier release, and the smallest of all, or 0.

    Parameters
    ----------
    releases : oldest first, with the persons of all
    """
    sizes = [measure_groups(one, releases[-1]) for one in releases[:-1]]
    groups = np.concatenate([np.empty(0, dtype=np.int64), *sizes])
    groups = groups[groups > 0]
    return int((groups < k).sum()), int(groups.min()) if groups.size else 0
