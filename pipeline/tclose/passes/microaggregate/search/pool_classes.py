"""The second half of a round of refinement: pools of neighbouring classes are cut anew."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, DRAWN, FARTHEST
from tclose.kernels.refinement.pools import pool_blocks
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.search.group_threads import map_groups, represent_side_by_side

# Round by round: classes of a pool, and how many more it is cut into.
PASSES = (
    ((3, 0), (4, 0), (5, 0)),
    ((4, 1), (4, -1), (5, 1), (5, -1)),
    ((6, 0), (7, 0), (8, 0)),
    ((6, 1), (6, -1), (8, 1), (8, -1)),
)
# Round by round, by what neighbours are found: mostly by records, as one may fit elsewhere.
BY_TURNS = (CENTRE, FARTHEST, DRAWN, DRAWN)
# Pools are barred by t where more than so many would save loss and are above it, for each that is
# kept; after so many rounds in a row none are cut any more.
BARRED_PER_KEPT, BARRED_ROUNDS = 10, 2


@dataclass(frozen=True)
class Pooled:
    """The pools of a round.

    ``n_records``: of all that were cut; ``n_kept``; ``n_broken``: those that would have saved loss,
    and were not kept because of a limit.
    """

    n_records: int
    n_kept: int
    n_broken: int

    @property
    def are_barred(self) -> bool:
        """Limits leave hardly a pool."""
        return self.n_broken > BARRED_PER_KEPT * self.n_kept


NO_POOLS = Pooled(0, 0, 0)


def pool_classes(
    records: tuple[Any, ...],
    n_levels: int,
    labels: Int64,
    groups: tuple[Int64, Int64],
    settings: tuple[int, int, int],
    of_round: tuple[int, float, Float64],
    n_threads: int = 1,
) -> tuple[Int64, Pooled]:
    """Cut pools of classes anew wherever that saves loss, within k and every t.

    Parameters
    ----------
    records, n_levels : as in `pool_blocks`
    settings : three integers: k; neighbours of a class; the seed of what pools are grown around
    labels : int64 (n,): class of each record, without gaps
    groups : classes group by group int64 (c,), and where each group begins int64 (g + 1,)
    of_round : its number; the usual loss of a class, as pools that lose no more than one class are
        left as they are; draws float64 (c,), of which record of a class neighbours are found by
    n_threads : that cut pools side by side

    Returns
    -------
    labels without gaps, and what became of the pools
    """
    r, usual_loss, draws = of_round
    by_class = group_by_label(labels, draws.size)
    kind = BY_TURNS[r % len(BY_TURNS)]
    points = represent_side_by_side(records[:3], n_levels, by_class, kind, draws, n_threads)
    passes = np.array(PASSES[r % len(PASSES)])
    k, n_neighbours, seed = settings

    def pool(some: tuple[Int64, Int64], first: int) -> Any:
        # Later groups' new classes have the higher numbers, as if they were cut one by one.
        first_new = draws.size + first * labels.size
        return pool_blocks(
            records, n_levels, labels, by_class, some, points,
            (k, n_neighbours, seed + first, first_new), passes, usual_loss,
        )  # fmt: skip

    pooled = Pooled(*np.sum(map_groups(pool, groups, n_threads), axis=0).tolist())
    return (np.unique(labels, return_inverse=True)[1] if pooled.n_kept else labels), pooled
