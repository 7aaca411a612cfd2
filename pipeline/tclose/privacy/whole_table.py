"""Models that are decided on the classes of the whole table at once: (n, t)-closeness.

Supersets of classes are boxes of released quasi-identifiers, cut by the released values alone, so
that whoever has the release finds the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.data.keys import Keys
from tclose.errors import PolicyError
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.class_counts import ClassMeasures

# The codes of a table of so many records, and what is computed from them, take about a gigabyte.
MAX_RECORDS = 10_000_000


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Some classes as they are released, in the release's order.

    ``keys``: of each column that tells classes, one per class (c,). ``sizes`` int64 (c,).
    ``codes``: of each requirement that needs the table int (n,), records of a class adjacent.
    """

    keys: list[Keys]
    sizes: Int64
    codes: list[np.ndarray]


def check_size(privacy_models: PrivacyModels, n_records: int) -> None:
    """Refuse to check more records at once than one process is expected to hold.

    Raises
    ------
    PolicyError
        The model needs the whole table, which has more than `MAX_RECORDS`.
    """
    if privacy_models.by_table and n_records > MAX_RECORDS:
        model = privacy_models.by_table[0].model
        raise PolicyError(
            f"privacy.models: {model} is checked on all classes at once, of {MAX_RECORDS:,} "
            f"records at most; there are {n_records:,}: ask for t instead, which implies it"
        )


def take_class_rows(
    keys: list[Keys], starts: Int64, codes: Int64, privacy_models: PrivacyModels
) -> ClassRows:
    """Return the rows of classes for a later check; ``codes`` int64 (p, n) of all attributes."""
    checked_codes = [
        codes[requirement.attribute].astype(np.int32) for requirement in privacy_models.by_table
    ]
    return ClassRows(keys, np.diff(starts), checked_codes)


def check_table(
    pieces: Sequence[ClassRows],
    privacy_models: PrivacyModels,
    distributions: Sequence[Distribution],
) -> dict[int, ClassMeasures]:
    """Measures of all classes, by the place of the requirement; ranges in order, none missing.

    Raises
    ------
    DataError
        The classes are not all of the table.
    """
    indices = [i for i, r in enumerate(privacy_models.requirements) if r.needs_table]
    if not indices:
        return {}
    sizes = np.concatenate([piece.sizes for piece in pieces])
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    keys = [np.concatenate(columns) for columns in zip(*(s.keys for s in pieces), strict=True)]
    centres = rank_centres(keys)
    return {
        i: privacy_models.requirements[i].kind.measure_table(
            privacy_models.requirements[i],
            centres,
            starts,
            np.concatenate([piece.codes[j] for piece in pieces]).astype(np.int64),
            distributions[privacy_models.requirements[i].attribute],
        )
        for j, i in enumerate(indices)
    }


def rank_centres(keys: Sequence[Keys]) -> Float64:
    """Released keys of classes on one scale: their ranks among the released values, 0 to 1.

    Ranks are the same whatever numbers encode the values, as long as their order is.
    """
    centres = np.zeros((len(keys), keys[0].size))
    for j, column in enumerate(keys):
        values, ranks = np.unique(column, return_inverse=True)
        centres[j] = ranks / max(values.size - 1, 1)
    return centres
