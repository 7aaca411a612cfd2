"""Perturbations after the rounds of refinement: near classes, a few at a time, searched again."""

from typing import Any

from tclose.kernels.refinement.refine_blocks import HowSearched, refine_blocks
from tclose.kernels.refinement.search import LEAST_GAIN
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search.group_threads import map_groups
from tclose.passes.plan.search_budget import TIMES

# Classes that are perturbed together: all pairs of them are searched.
GROUP_CLASSES = 12


def perturb_classes(
    records: tuple[Any, ...],
    labels: Int64,
    by_class: tuple[Int64, Int64],
    groups: tuple[Int64, Int64],
    settings: tuple[int, int],
    n_threads: int = 1,
) -> Int64:
    """Perturb groups of near classes, wherever that saves loss, within k and every t.

    Parameters
    ----------
    records, by_class, groups : as in `refine_blocks`
    labels : int64 (n,): class of each record, without gaps
    settings : two integers: k; the seed of the draws
    n_threads : that search groups side by side

    Returns
    -------
    labels without gaps
    """
    labels = labels.copy()
    k, seed = settings

    def perturb(some: tuple[Int64, Int64], first: int) -> None:
        how = HowSearched(k, n_iterations=TIMES + 1, seed=seed + first)
        refine_blocks(records, labels, by_class, some, how, LEAST_GAIN)

    map_groups(perturb, groups, n_threads)
    return labels
