"""Persons who left a series, by its registers: how many, and whoever was forgotten."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tclose.passes.series.kept_records import LinkedTable
from tclose.passes.series.series_cells import Bools, number_hashes
from tclose.passes.series.series_verdict import DROP, HOLD
from tclose.policy.sections.privacy_settings import OverTimeSettings
from tclose.releases.series.register_file import ReleasedPersons

EXPECTED_CHURN = 0.02  # where none is said, and none was seen


def find_churn(settings: OverTimeSettings, earlier: list[ReleasedPersons]) -> float:
    """The share of the persons that leaves: as the policy says, or as was seen in the window.

    Registers have those who were released, and so do not tell who left from who was dropped.
    """
    if settings.churn is not None:
        return settings.churn
    if settings.departures in {DROP, HOLD}:
        return EXPECTED_CHURN
    shares = []
    for before, after in pairwise(earlier):
        n_persons = number_hashes([before.hashes, after.hashes])[0]
        shares.append((n_persons - len(after.hashes)) / len(before.hashes))
    return sum(shares) / len(shares) if shares else EXPECTED_CHURN


def count_leavers(
    hashes: Sequence[np.ndarray], earlier: list[ReleasedPersons], k: int
) -> tuple[int, int]:
    """Persons of the release before who are not released; its classes that 1 to k - 1 left.

    Parameters
    ----------
    hashes : uint64 (n, 2): of who is released
    """
    if not earlier:
        return 0, 0
    last = earlier[-1]
    _, (before, now) = number_hashes([last.hashes, np.concatenate(hashes)])
    gone = ~np.isin(before, now)
    lost = np.bincount(last.classes[gone], minlength=1)
    sizes = np.bincount(last.classes, minlength=lost.size)[: lost.size]
    return int(gone.sum()), int(((lost > 0) & (lost < k) & (lost < sizes)).sum())


def find_forgotten(table: LinkedTable, earlier: list[ReleasedPersons]) -> Bools:
    """Find the records of persons who were forgotten in a register of the window: bool (n,).

    Their earlier classes are not known any more, so nothing could be held of them.
    """
    forgotten = [one.forgotten for one in earlier if len(one.forgotten)]
    if not forgotten:
        return np.zeros(len(table.hashes), dtype=np.bool_)
    _, (gone, now) = number_hashes([np.concatenate(forgotten), table.hashes])
    is_forgotten: Bools = np.isin(now, gone)
    return is_forgotten
