"""Choices left open in Algorithms 1 and 2, and the tables that each gives.

Soria-Comas et al. 2015.

The last ones are not what is printed: they show what the printed sizes look like.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from benchmarks.reproduction.records import Records
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.algorithm1 import merge_farthest, ordered_excess
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.mdav import mdav, v_mdav
from tclose.model.array_types import Int64

MERGING_SEED = 1

Maker = Callable[[Records, int, str], Int64]


def _by_mdav(records: Records, k: int, _: str) -> Int64:
    return cast(Int64, mdav(records.numeric, records.nominal, k))


def _by_v_mdav(records: Records, k: int, _: str) -> Int64:
    return cast(Int64, v_mdav(records.numeric, records.nominal, k))


def _by_all(records: Records, k: int, _: str) -> Int64:
    return cast(Int64, mdav(records.with_confidential().numeric, records.nominal, k))


def _by_exchanges(records: Records, k: int, t: str) -> Int64:
    return cast(Int64, k_anonymity_first(records.numeric, records.nominal, k, records.targets(t)))


@dataclass(frozen=True)
class Variant:
    """One way to read an algorithm; ``scale`` and ``by_rank`` as in `load_records`.

    ``share_of_t``: what clusters are held to, in times of t; ``merges_nearest``: the cluster above
    t goes to the nearest one, not to any.
    """

    name: str
    make: Maker
    scale: str = "range"
    by_rank: bool = False
    merges_nearest: bool = True
    share_of_t: float = 1.0

    def run(self, records: Records, k: int, t: str) -> Int64:
        """Clusters of each record: int64 (n,)."""
        t = f"{self.share_of_t * float(t):.6f}"
        labels = self.make(records, k, t)
        if not self.merges_nearest:
            return merge_at_random(records, labels, t)
        return merge_farthest(records.numeric, records.nominal, labels, records.targets(t))


_COMMON = (
    ("quasi-identifiers divided by their standard deviation", {"scale": "standard deviation"}),
    ("quasi-identifiers as they are", {"scale": "nothing"}),
    ("distance by the ranks of the records", {"by_rank": True}),
)
AS_PRINTED = "as printed (our reading)"
AT_RANDOM = "not as printed: merged with a cluster drawn at random"
VARIANTS = {
    1: (
        Variant(AS_PRINTED, _by_mdav),
        *(Variant(name, _by_mdav, **given) for name, given in _COMMON),
        Variant("V-MDAV", _by_v_mdav),
        Variant(AT_RANDOM, _by_mdav, merges_nearest=False),
        Variant("not as printed: MDAV on the confidential attribute too", _by_all),
        Variant("both of the last two", _by_all, merges_nearest=False),
    ),
    2: (
        Variant(AS_PRINTED, _by_exchanges),
        *(Variant(name, _by_exchanges, **given) for name, given in _COMMON),
        Variant(AT_RANDOM, _by_exchanges, merges_nearest=False),
        Variant("not as printed: held to two thirds of t", _by_exchanges, share_of_t=2 / 3),
    ),
}


def merge_at_random(records: Records, labels: Int64, t: str) -> Int64:
    """Algorithm 1's merging, but for the partner: a cluster drawn at random from a fixed seed."""
    rng = np.random.default_rng(MERGING_SEED)
    targets = records.targets(t)
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    members = np.split(order, starts[1:-1])
    excess = [ordered_excess(rows, targets) for rows in members]
    while len(members) > 1 and max(excess) > 0:
        farthest = int(np.argmax(excess))
        rows, _ = members.pop(farthest), excess.pop(farthest)
        partner = int(rng.integers(len(members)))
        members[partner] = np.concatenate([members[partner], rows])
        excess[partner] = ordered_excess(members[partner], targets)
    merged = np.empty_like(labels)
    for number, rows in enumerate(members):
        merged[rows] = number
    return merged
