"""Plans of a few records, for tests of what is done with them."""

from fractions import Fraction

import numpy as np

from support.tables.random_tables import distribution_of
from tclose.passes.plan.class_sizes import ClassSize
from tclose.passes.plan.coarse_tree import CoarseTree
from tclose.passes.plan.plan import Plan, ReleasePartition
from tclose.passes.plan.quantile_subsets import cut_subsets


def make_release_partition(
    n_records: int, size: int, *, n_leaves: int = 1, n_regions: int = 1, first_bin: int = 0
) -> ReleasePartition:
    """A release partition of distinct confidential values; its tree's leaves have no effect."""
    table, _ = distribution_of(range(n_records))
    subsets, n_clusters = cut_subsets(size, table, n_records, 0)
    tree = CoarseTree(np.zeros(n_leaves - 1, np.int32), np.zeros((size, n_leaves - 1)))
    return ReleasePartition(
        (),
        (),
        n_records,
        ClassSize(size, size, size),
        n_clusters,
        n_regions,
        (Fraction(0),),
        subsets,
        tree,
        first_bin,
    )


def make_plan(*release_partitions: ReleasePartition) -> Plan:
    """A plan of these release partitions and no columns."""
    return Plan(2, (Fraction(1),), (), (), (), (), (), (), 0, release_partitions, 100, 1_000)
