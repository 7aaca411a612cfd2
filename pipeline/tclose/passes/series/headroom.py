"""Headroom: how much larger and closer classes are made than they have to be, as persons leave.

A cell of n persons has k' or more after r releases with the chance that a binomial variable of n
and (1 - churn)^r is k' or more; if it has 1 to k' - 1, their records are left out. Classes are made
of as few persons as keep the records left out, over the releases of a window, within what is
allowed. They are twice k' at least: distances need room too, and smaller classes that are as close
lose more and come to be above t' sooner.
"""

from bisect import bisect_left

import numpy as np

from tclose.model.array_types import Float64, Int64

MOST_OF_CELLS = 0.001  # of the records of a window, left out as their cells have become too small
HEADROOM_K = 2
MOST_ROOM = 20  # times k


def share_left_out(size: int, k: int, churn: float, n_later: int) -> float:
    """The share of the records of cells that is left out, over a release and later ones.

    Parameters
    ----------
    size : persons of a cell at first, k or more
    churn : the share of the persons who leave from one release to the next
    n_later : releases after the first
    """
    staying = (1.0 - churn) ** np.arange(1, n_later + 1)
    few = np.arange(1, min(k, size + 1))
    lost = sum(float(few @ _chances(size, few, p)) for p in staying)
    return lost / (size + size * float(staying.sum()))


def share_of_classes_left(size: int, k: int, churn: float) -> float:
    """The share of classes that 1 to k - 1 persons leave from one release to the next."""
    return float(_chances(size, np.arange(1, min(k, size + 1)), churn).sum())


def share_held(churn: float, n_later: int) -> float:
    """The share of the records that is of persons who left, if all are held over later releases.

    As many join as leave, so that as many as were there at first are there now.
    """
    return churn * n_later / (1.0 + churn * n_later)


def _chances(n_tries: int, counts: Int64, p: float) -> Float64:
    """The binomial chances of some counts, by logarithms, as their factors exceed any number."""
    if p in {0.0, 1.0}:
        certain: Float64 = (counts == n_tries * p).astype(np.float64)
        return certain
    factorials = np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1, n_tries + 1)))])
    ways = factorials[n_tries] - factorials[counts] - factorials[n_tries - counts]
    chances: Float64 = np.exp(ways + counts * np.log(p) + (n_tries - counts) * np.log1p(-p))
    return chances


def choose_size(k: int, churn: float, n_later: int) -> int:
    """The fewest persons of a class whose cell has room for those who leave: 2 k to 20 k."""
    sizes = range(HEADROOM_K * k, MOST_ROOM * k)
    has_room = bisect_left(
        sizes, True, key=lambda size: share_left_out(size, k, churn, n_later) <= MOST_OF_CELLS
    )
    return HEADROOM_K * k + has_room
