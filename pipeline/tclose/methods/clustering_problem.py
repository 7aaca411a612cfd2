"""The input of a method, a region's records and demands, and its result, their classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.privacy.bound_models import NO_MODELS, PrivacyModels, meet_all
from tclose.privacy.t_closeness import class_distances, find_above

# Records of which all starts and searches are tried, whatever a start loses: that tells little of
# how a search ends, and each takes some hundredths of a second.
FEW_RECORDS = 500


# Applies a function to each of some items: the results in their order.
Apply = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def apply_in_turn(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Apply a function to items, one after the other."""
    return [function(item) for item in items]


@dataclass(frozen=True, eq=False)
class SubsetCut:
    """The quantile subsets of a region's records, and the number of each that a cluster takes.

    ``cells`` int64 (n,): of each record; ``subset_starts``: where subsets begin; ``take``: records
    of each subset in each cluster.
    """

    cells: Int64
    subset_starts: Int64
    take: Int64
    n_clusters: int
    block_clusters: int


@dataclass(frozen=True, eq=False)
class ClusteringProblem:
    """The records of a region, and what their classes are held to.

    ``cut``: by subsets, for a method that cuts by them.

    ``keys``: of each quasi-identifier (n,); ``scaled``: the same as kernels take them; ``codes``
    int64 (p, n): confidential values as positions in the ``distributions``. ``bucket_of`` int64
    (m,): of each confidential value, where classes are made by buckets and values are released;
    None where the codes are the buckets. ``apply``: to what does not depend on each other, in
    threads if there are any.
    """

    encodings: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    keys: list[Keys]
    scaled: Scaled
    codes: Int64
    distributions: tuple[Distribution, ...]
    k: int
    max_emds: tuple[Fraction, ...]
    privacy_models: PrivacyModels = NO_MODELS
    bucket_of: Int64 | None = None
    cut: SubsetCut | None = None
    apply: Apply = apply_in_turn

    def holds(self, order: Int64, starts: Int64) -> NDArray[np.bool_]:
        """Return which classes have k records, are within every t and meet the further models."""
        met: NDArray[np.bool_] = np.diff(starts) >= self.k
        requirements = self.privacy_models.by_class
        if requirements:
            met &= meet_all(requirements, starts, self.codes[:, order], self.distributions)
        above = find_above(order, starts, self.codes, self.distributions, self.max_emds)
        met[above] = False
        return met

    def excess_of(self, rows: Int64) -> float:
        """Return the excess above t of a class of some rows, in the largest attribute."""
        ends = np.array([0, rows.size])
        margin = ERROR_PER_STEP * (rows.size + 8)
        return max(
            float(class_distances(codes[rows], ends, distribution)[0]) - float(limit) + margin
            for codes, distribution, limit in zip(
                self.codes, self.distributions, self.max_emds, strict=True
            )
        )


@dataclass(frozen=True, eq=False)
class Clustering:
    """Class of each record, int64 (n,), from 0 without gaps.

    ``levels``: of generalisation, if any were chosen; ``block_starts``: where blocks' classes
    begin, of a method that works in blocks. ``alike``: starts much like this one, of which the best
    is searched to its end. ``beside``: finds others by the labels that a search ended with, if
    searches of them may end with less loss: those that are alike together. ``larger``: makes near
    ones of so many records or more, for models that fewer can hardly meet; ``balanced``: such as
    are like the table, for the same; ``held``: some that meet all that is asked, if there are any.
    """

    labels: Int64
    levels: FullDomain | None = None
    block_starts: Int64 | None = None
    alike: Sequence["Clustering"] = ()
    beside: Callable[[Int64], Sequence[Sequence["Clustering"]]] | None = None
    larger: Callable[[int], "Clustering"] | None = None
    balanced: Callable[[int], "Clustering"] | None = None
    held: Callable[[], "Clustering | None"] | None = None


def label_records(order: Int64, starts: Int64) -> Int64:
    """Class of each record, int64 (n,), of records class by class: what `group_classes` groups."""
    labels = np.empty(order.size, dtype=np.int64)
    labels[order] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return labels


def group_classes(labels: Int64) -> tuple[Int64, Int64]:
    """The records class by class, and where each class begins: int64 (n,) and (c + 1,)."""
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    return order, starts
