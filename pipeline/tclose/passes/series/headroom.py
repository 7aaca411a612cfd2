"""Headroom: how much larger and closer classes are made than they have to be, as persons leave.

A cell of n persons has k' or more after r releases with the chance that a binomial variable of n
and (1 - churn)^r is k' or more; if it has 1 to k' - 1, their records are left out. Classes are made
of as few persons as keep the records left out, over the releases of a window, within what is
allowed. They are twice k' at least: distances need room too, and smaller classes that are as close
lose more and come to be above t' sooner.
"""

from fractions import Fraction
from math import comb

MOST_OF_CELLS = 0.001  # of the records of a window, left out as their cells have become too small
HEADROOM_K, HEADROOM_T = 2, Fraction(7, 10)
MOST_ROOM = 20  # times k


def share_left_out(size: int, k: int, churn: float, n_later: int) -> float:
    """The share of the records of cells that is left out, over a release and later ones.

    Parameters
    ----------
    size : persons of a cell at first, k or more
    churn : the share of the persons who leave from one release to the next
    n_later : releases after the first
    """
    staying = [(1.0 - churn) ** r for r in range(1, n_later + 1)]
    lost = sum(
        n * comb(size, n) * p**n * (1.0 - p) ** (size - n) for p in staying for n in range(1, k)
    )
    return lost / (size + sum(size * p for p in staying))


def share_of_classes_left(size: int, k: int, churn: float) -> float:
    """The share of classes that 1 to k - 1 persons leave from one release to the next."""
    return sum(
        comb(size, n) * churn**n * (1.0 - churn) ** (size - n) for n in range(1, min(k, size + 1))
    )


def choose_size(k: int, churn: float, n_later: int) -> int:
    """The fewest persons of a class whose cell has room for those who leave, from 2 k on."""
    size = HEADROOM_K * k
    while share_left_out(size, k, churn, n_later) > MOST_OF_CELLS and size < MOST_ROOM * k:
        size += 1
    return size
