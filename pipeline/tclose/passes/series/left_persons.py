"""Persons who left a series, by its registers: how many, and whoever was forgotten."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tclose.model.array_types import Bools, Integers
from tclose.passes.series.series_cells import KnownRelease
from tclose.passes.series.series_verdict import DROP, HOLD
from tclose.policy.sections.privacy_settings import OverTimeSettings

EXPECTED_CHURN = 0.02  # where none is said, and none was seen


def find_churn(settings: OverTimeSettings, window: Sequence[KnownRelease]) -> float:
    """The share of the persons that leaves: as the policy says, or as was seen in the window.

    Registers have those who were released, and so do not tell who left from who was dropped.
    """
    if settings.churn is not None:
        return settings.churn
    if settings.departures in {DROP, HOLD}:
        return EXPECTED_CHURN
    shares = [
        int((~after.find_present()[before.rows]).sum()) / before.rows.size
        for before, after in pairwise(window)
    ]
    return sum(shares) / len(shares) if shares else EXPECTED_CHURN


def count_leavers(
    persons: Sequence[Integers], window: Sequence[KnownRelease], k: int
) -> tuple[int, int]:
    """Persons of the release before who are not released; its classes that 1 to k - 1 left.

    Parameters
    ----------
    persons : (n,) each: who is released
    """
    if not window:
        return 0, 0
    last = window[-1]
    is_here = np.zeros(last.n_persons, dtype=np.bool_)
    for some in persons:
        is_here[some] = True
    classes = last.row_classes
    gone = ~is_here[last.rows]
    lost = np.bincount(classes[gone], minlength=1)
    sizes = np.bincount(classes, minlength=lost.size)[: lost.size]
    return int(gone.sum()), int(((lost > 0) & (lost < k) & (lost < sizes)).sum())


def find_forgotten(persons: Integers, forgotten: Integers, n_persons: int) -> Bools:
    """Find the records of persons who were forgotten in a register of the window: bool (n,).

    Their earlier classes are not known any more, so nothing could be held of them.

    Parameters
    ----------
    persons : (n,): of the records
    forgotten : (f,): persons
    """
    is_forgotten = np.zeros(n_persons, dtype=np.bool_)
    is_forgotten[forgotten] = True
    return is_forgotten[persons]
