"""Compile the largest kernels of the search by a few records, before a release comes to them.

A release needs other kernels first; two processes that compile the kernels of releases would both
begin with those, and one would wait for the other.
"""

import numpy as np

from tclose.kernels.refinement.pool_parts import MOST_POOLED
from tclose.methods.scaling import Scaled
from tclose.model.distribution import make_distribution
from tclose.passes.microaggregate.search.make_refiners import make_refiner
from tclose.passes.microaggregate.search.pool_classes import pool_classes
from tclose.passes.microaggregate.search.refine_classes import Refiner

N_RECORDS, K = 6, 3


def compile_search() -> None:
    """Compile what searches blocks of classes."""
    _few_records().repair(np.arange(N_RECORDS) // K, np.array([0, N_RECORDS // K]))


def compile_pools() -> None:
    """Compile what cuts pools of classes anew."""
    refiner, labels = _few_records(), np.arange(N_RECORDS) // K
    classes = np.arange(N_RECORDS // K)
    pool_classes(
        refiner.as_kernels_take(MOST_POOLED),
        refiner.n_levels,
        labels,
        (classes, np.array([0, classes.size])),
        (K, 1, 0),
        (0, 0.0, np.zeros(classes.size)),
    )


def _few_records() -> Refiner:
    """Some records of one ordered confidential attribute, of the types that a plan's are of."""
    ranks = np.arange(N_RECORDS)
    of_all = make_distribution(ranks.astype(np.float64), np.ones_like(ranks))
    columns = np.zeros((1, N_RECORDS)), np.zeros((1, N_RECORDS), dtype=np.int32)
    scaled = Scaled(*columns, 1, np.ones(1), np.ones(1, dtype=np.int64))
    return make_refiner(scaled, ranks[np.newaxis], (of_all,), (0.2,), K, (0,))
