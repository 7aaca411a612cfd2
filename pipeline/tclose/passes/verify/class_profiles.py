"""Spread of the classes: their sizes, their distances to the table, and the farthest of each.

For pictures: what decides is in `tclose.passes.verify.class_checks`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.model.array_types import Float64, Int64
from tclose.runtime.artifacts.artifacts import Artifact

N_STEPS = 20  # in which distances are counted, from 0 to t


@dataclass(frozen=True, eq=False)
class DistanceProfile:
    """Distances of classes to the table in one confidential attribute; those of two parts merge.

    ``counts`` int64 (20,): classes by their distance, in twentieths of t; ``largest``: a distance;
    ``farthest`` int64 (2, d): distinct values of the first class that has it, as positions in the
    attribute's distribution, and how many of its records have each.
    """

    counts: Int64
    largest: float
    farthest: Int64

    def merge(self, other: "DistanceProfile") -> "DistanceProfile":
        """The profile of both parts; of classes as far from the table the first one is kept."""
        farther = self if self.largest >= other.largest else other
        return DistanceProfile(self.counts + other.counts, farther.largest, farther.farthest)


@dataclass(frozen=True, eq=False)
class ClassProfile:
    """All classes of a release: ``size_counts`` as in `ClassChecks`, a profile per attribute."""

    size_counts: Int64
    distances: Sequence[DistanceProfile]


CLASS_PROFILE = Artifact("class-profile", ClassProfile)


def profile_distances(
    emds: Float64, limit: Fraction, codes: Int64, starts: Int64
) -> DistanceProfile:
    """Profile the classes of a part.

    Parameters
    ----------
    emds : float64 (c,); one that is not a number counts as the farthest step, and is not kept
    codes : int64 (n,): positions of values in the distribution; records of a class adjacent
    starts : int64 (c + 1,): where each class begins
    """
    known = np.nan_to_num(emds, nan=-1.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # t of an edited manifest
        steps = np.nan_to_num(known / float(limit) * N_STEPS, posinf=N_STEPS)
    steps[known < 0] = N_STEPS - 1
    counts = np.bincount(np.clip(steps, 0, N_STEPS - 1).astype(np.int64), minlength=N_STEPS)
    at = int(known.argmax())
    members = codes[starts[at] : starts[at + 1]]
    return DistanceProfile(
        counts, float(known[at]), np.array(np.unique(members, return_counts=True))
    )
