"""Algorithms 1 to 3 as published: clusters of each record, from the kernels.

Soria-Comas et al. 2015.

No blocks, no refinement, no repair: those are the pipeline's own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.reproduction.records import Partition, Records, examine
from tclose.kernels.clustering.algorithm1 import merge_farthest
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.algorithm3 import cluster_block
from tclose.kernels.clustering.assign_subsets import assign_subsets
from tclose.kernels.clustering.mdav import mdav
from tclose.model.array_types import Int64
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.plan.quantile_subsets import cut_subsets

Algorithm = Callable[[Records, int, str], Int64]
SUBSETS_SEED = 1  # of the dealing out of equal confidential values


def microaggregate_and_merge(records: Records, k: int, t: str) -> Int64:
    """Algorithm 1 with MDAV."""
    labels = mdav(records.numeric, records.nominal, k)
    return merge_farthest(records.numeric, records.nominal, labels, records.targets(t))


def anonymise_first(records: Records, k: int, t: str) -> Int64:
    """Algorithm 2, as the microaggregation of Algorithm 1 (section 6, last paragraphs)."""
    targets = records.targets(t)
    labels = k_anonymity_first(records.numeric, records.nominal, k, targets)
    return merge_farthest(records.numeric, records.nominal, labels, targets)


def subset_first(records: Records, k: int, t: str) -> Int64:
    """Algorithm 3, with the class size of eqs. (3) and (4)."""
    size = choose_class_size(records.n_records, k, [Fraction(t)]).adjusted
    cut, n_clusters = cut_subsets(size, records.distribution, records.n_records, SUBSETS_SEED)
    unseen = np.zeros(cut.tie_codes.size, dtype=np.int64)
    subsets = assign_subsets(
        records.codes, cut.cut_codes, cut.cut_ranks, cut.tie_codes, cut.tie_rule, unseen
    )
    order = np.argsort(subsets, kind="stable")
    starts = np.concatenate([[0], np.cumsum(cut.sizes)])
    labels = np.empty(records.n_records, dtype=np.int64)
    numeric = np.ascontiguousarray(records.numeric[:, order])
    nominal = np.ascontiguousarray(records.nominal[:, order])
    weights = np.ones(nominal.shape[0])
    labels[order] = cluster_block(numeric, nominal, weights, starts, cut.take, n_clusters)
    return labels


ALGORITHMS: dict[int, Algorithm] = {
    1: microaggregate_and_merge,
    2: anonymise_first,
    3: subset_first,
}
NAMES = {1: "Algorithm 1 (merging)", 2: "Algorithm 2 (k first)", 3: "Algorithm 3 (t first)"}


@dataclass(frozen=True)
class Run:
    """One algorithm on one table at one k and t, and the seconds of the processor that it took."""

    number: int
    k: int
    t: str
    partition: Partition
    seconds: float


def run_algorithm(number: int, records: Records, k: int, t: str) -> Run:
    """Run and examine."""
    start = time.process_time()
    labels = ALGORITHMS[number](records, k, t)
    seconds = time.process_time() - start
    return Run(number, k, t, examine(records, labels, t), seconds)


def warm_up(records: Records) -> None:
    """Runs on the first records that are not timed: kernels are compiled or loaded."""
    first = records.head(200)
    for number in ALGORITHMS:
        run_algorithm(number, first, 2, "0.1")
