"""Merging of clusters until all are within t (Soria-Comas et al. 2015, section 5, Algorithm 1).

While a class is above t, the one of the greatest distance is merged with the class nearest to it in
quasi-identifiers. Distances of all classes are kept; a merger costs one new one. `repair` merges
with less loss: it looks for a partner that repairs the class. This is the paper's algorithm.

Plain numpy: what a merger costs are a few scans over the classes, and any distance can be used.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import ERROR_PER_STEP, ordered_emd
from tclose.model.array_types import Float64, Int64

# Excess above its limit of a class of these rows, in the largest of its attributes.
ExcessOf = Callable[[Int64], float]

# Classes whose distances are closer than this are taken as equally far: rounding decides nothing.
SAME_DISTANCE = 1e-12


def merge_farthest(
    numeric: Float64,
    nominal: NDArray[np.int32],
    labels: Int64,
    references: tuple[Any, ...],
    weights: Float64 | None = None,
) -> Int64:
    """Algorithm 1 after the microaggregation, with the ordered distance.

    Of several confidential attributes the largest excess above the limits counts. A class within
    the rounding error below a limit counts as above it.

    Parameters
    ----------
    numeric, nominal : float64 (d, n), int32 (q, n): as in clustering
    labels : int64 (n,): cluster of each record, from 0 without gaps
    references : as in `tclose.kernels.clustering.algorithm2`
    weights : float64 (q,), as in `tclose.kernels.clustering.algorithm3`; by default 1 each

    Returns
    -------
    int64 (n,): class of each record, from 0 without gaps, in the order of the clusters
    """
    return merge_by_excess(
        numeric, nominal, labels, lambda rows: ordered_excess(rows, references), weights
    )


def ordered_excess(rows: Int64, references: tuple[Any, ...]) -> float:
    """Return a class's largest excess above a limit; if not above 0, it is surely within all.

    Parameters
    ----------
    rows : int64 (s,): the records of the class
    references : as in `tclose.kernels.clustering.algorithm2`
    """
    margin = ERROR_PER_STEP * (rows.size + 8)
    excess: float = max(
        ordered_emd(np.sort(codes[rows]), cumulative, prefix) - limit + margin
        for codes, cumulative, prefix, limit in zip(*references, strict=True)
    )
    return excess


def merge_by_excess(
    numeric: Float64,
    nominal: NDArray[np.int32],
    labels: Int64,
    excess_of: ExcessOf,
    weights: Float64 | None = None,
) -> Int64:
    """`merge_farthest` for any distance.

    Parameters
    ----------
    excess_of : gives the excess of a class of some rows, int64 (s,); not above 0 if it may stay.
        It has to be so for all records together, or the one class that is left stays above.
    """
    counted = np.ones(nominal.shape[0]) if weights is None else weights
    classes = _Classes(numeric, nominal, counted, labels)
    excess = np.array([excess_of(rows) for rows in classes.members])
    while excess.size > 1 and not excess.max() <= 0:
        farthest = int(np.argmax(excess >= excess.max() - SAME_DISTANCE))
        nearest = classes.find_nearest(farthest)
        kept, gone = sorted((farthest, nearest))
        classes.unite(kept, gone)
        excess = np.delete(excess, gone)
        excess[kept] = excess_of(classes.members[kept])
    merged = np.empty(labels.size, dtype=np.int64)
    for c, rows in enumerate(classes.members):
        merged[rows] = c
    return merged


class _Classes:
    """Classes, their records, and where they are in quasi-identifiers: means, commonest codes.

    ``members``: rows of each; ``sums`` float64 (d, c), ``levels`` int32 (q, c), ``sizes`` (c,).
    """

    def __init__(
        self, numeric: Float64, nominal: NDArray[np.int32], weights: Float64, labels: Int64
    ) -> None:
        order, starts = group_by_label(labels, int(labels.max()) + 1)
        self.nominal, self.weights = nominal, weights
        self.members: list[Int64] = np.split(order, starts[1:-1])
        self.sizes = np.diff(starts)
        n_classes = len(self.members)
        self.sums = np.zeros((numeric.shape[0], n_classes))
        for j, column in enumerate(numeric):
            self.sums[j] = np.bincount(labels, weights=column, minlength=n_classes)
        self.levels = np.zeros((nominal.shape[0], n_classes), dtype=np.int32)
        for c, rows in enumerate(self.members):
            self.levels[:, c] = self._commonest(rows)

    def _commonest(self, rows: Int64) -> list[int]:
        """Commonest code of each nominal quasi-identifier, of equally common ones the lowest."""
        return [int(np.bincount(codes[rows]).argmax()) for codes in self.nominal]

    def find_nearest(self, c: int) -> int:
        """The class nearest to c, of equally near ones the first."""
        distances = np.zeros(self.sizes.size)
        for of_attribute in self.sums:
            centres = of_attribute / self.sizes
            distances += (centres - centres[c]) ** 2
        for levels, weight in zip(self.levels, self.weights, strict=True):
            distances += weight * (levels != levels[c])
        distances[c] = np.inf
        return int(distances.argmin())

    def unite(self, kept: int, gone: int) -> None:
        """Let class ``kept`` have the records of class ``gone``; those behind it move up by one."""
        self.members[kept] = np.concatenate([self.members[kept], self.members.pop(gone)])
        self.sums[:, kept] += self.sums[:, gone]
        self.sizes[kept] += self.sizes[gone]
        self.levels[:, kept] = self._commonest(self.members[kept])
        self.sums = np.delete(self.sums, gone, axis=1)
        self.levels = np.delete(self.levels, gone, axis=1)
        self.sizes = np.delete(self.sizes, gone)
