"""The distribution of a confidential attribute in the whole table; its arrays are read-only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.model.array_types import Float64, Int64


@dataclass(frozen=True, eq=False)
class TreeMetric:
    """A tree over the values of an attribute, and how many records of the table are below a node.

    ``paths`` int64 (m, depth): nodes from each value's leaf up to the root, then -1. ``numerators``
    int64 (nodes,): weights of the edges above the nodes in parts of ``denominator``, the root's 0;
    no two values are farther apart than 1. ``below`` int64 (nodes,), the root's the whole table.
    """

    paths: Int64
    numerators: Int64
    denominator: int
    below: Int64

    @property
    def weights(self) -> Float64:
        """The weights as floats: float64 (nodes,)."""
        return self.numerators / self.denominator


@dataclass(frozen=True, eq=False)
class Distribution:
    """A confidential attribute in the whole table, over its distinct values in ascending order.

    ``cumulative`` (m,): records with a value up to each; ``prefix`` (m + 1,): sums of
    ``cumulative``, so that the work over a span of values is a difference. ``metric``: how far
    values are from each other, where that is not by their order.
    """

    values: NDArray[np.int64] | Float64
    cumulative: Int64
    prefix: Int64
    metric: TreeMetric | None = None

    @property
    def n_records(self) -> int:
        """Records in the table."""
        return int(self.cumulative[-1])

    @property
    def denominator(self) -> int:
        """Distances of classes of s records are whole multiples of 1 / (s times this)."""
        if self.metric is None:
            below, of_metric = self.cumulative, max(self.cumulative.size - 1, 1)
        else:
            below, of_metric = self.metric.below, self.metric.denominator
        return self.n_records // int(np.gcd.reduce(below)) * of_metric

    @property
    def counts(self) -> Int64:
        """Records of each distinct value."""
        return np.diff(self.cumulative, prepend=0)


def make_distribution(values: np.ndarray, counts: Sequence[int] | Int64) -> Distribution:
    """A distribution from its distinct values, ascending, and their counts."""
    cumulative = np.cumsum(counts, dtype=np.int64)
    prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(cumulative, dtype=np.int64)])
    for array in (values, cumulative, prefix):
        array.setflags(write=False)
    return Distribution(values, cumulative, prefix)
