"""Distances of classes to the table, each attribute's by the distance that the policy gives it."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from tclose.data.taxonomy import taxonomy_of
from tclose.kernels.emd.ordered import class_emds, exceeds
from tclose.kernels.emd.reference import EmdReference
from tclose.kernels.emd.tree import star_metric, tree_emds, tree_exceeds, untouched_work
from tclose.kernels.emd.tree_counts import count_below
from tclose.kernels.emd.tree_delta import Trees
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Distance
from tclose.model.distribution import Distribution, TreeMetric


def with_metric(distribution: Distribution, column: Column, values: Sequence[str]) -> Distribution:
    """The distribution with the metric of its column; ``values``: texts of a nominal one's values.

    Raises
    ------
    DataError
        Values that the taxonomy does not have; says how many.
    """
    if column.distance is Distance.ORDERED:
        return distribution
    if column.distance is Distance.EQUAL:
        return replace(distribution, metric=star_metric(distribution.counts))
    taxonomy = taxonomy_of(column.attribute.taxonomy)
    leaves = taxonomy.encode(values, column.name)
    counts = np.zeros(len(taxonomy.leaves), dtype=np.int64)
    counts[leaves] = distribution.counts
    metric = taxonomy.metric(counts)
    paths = np.ascontiguousarray(metric.paths[leaves])
    return replace(
        distribution,
        metric=TreeMetric(paths, metric.numerators, metric.denominator, metric.below),
    )


def make_target(distribution: Distribution, limit: Fraction) -> EmdReference:
    """A distribution and its limit as kernels take them; all arrays read-only, of one type."""
    metric = distribution.metric
    paths, weights, below, untouched = np.empty((0, 0), np.int64), np.empty(0), _NONE, 0.0
    if metric is not None:
        paths, weights, below = metric.paths, metric.weights, metric.below
        untouched = untouched_work(weights, below)
    return EmdReference(
        _read_only(distribution.cumulative),
        _read_only(distribution.prefix),
        _read_only(paths),
        _read_only(weights),
        _read_only(below),
        untouched,
        is_equal(distribution),
        distribution.n_records,
        float(limit),
    )


def stack_trees(held: Sequence[tuple[Int64, Distribution, float]], n_records: int) -> Trees:
    """Attributes with a metric as exchanges need them: of each the records' codes (n,) and limit.

    The path from the root to a value is as long as its branch is deep, so that nodes above two
    values that are one node have one column.
    """
    nodes, columns, ends, weights, shares = [], [0], [0], [np.empty(0)], [np.empty(0)]
    for codes, distribution, _ in held:
        metric = distribution.metric
        assert metric is not None
        downwards = _from_the_root(metric.paths)
        of_records = downwards[codes]
        nodes.append(np.where(of_records >= 0, of_records + ends[-1], -1))
        columns.append(columns[-1] + downwards.shape[1])
        ends.append(ends[-1] + metric.below.size)
        weights.append(metric.weights)
        shares.append(metric.below / metric.below.max())
    stacked = np.hstack(nodes) if nodes else np.empty((n_records, 0))
    return Trees(
        np.ascontiguousarray(stacked, dtype=np.int32),
        np.array(columns),
        np.array(ends),
        np.concatenate(weights),
        np.concatenate(shares),
        np.array([limit for _, _, limit in held], dtype=np.float64),
        np.zeros(len(held)),
    )


def _from_the_root(paths: Int64) -> Int64:
    """Paths (m, depth) turned round, without the root, which all values are below."""
    depths = (paths >= 0).sum(axis=1) - 1
    turned = np.full((paths.shape[0], int(depths.max(initial=0))), -1, dtype=np.int64)
    for column in range(turned.shape[1]):
        there = depths > column
        turned[there, column] = paths[there, depths[there] - 1 - column]
    return turned


_NONE = np.empty(0, dtype=np.int64)
# A share of a subset that is none, but for rounding.
ROUNDED = 1e-9


def _read_only(array: np.ndarray) -> np.ndarray:
    view = np.ascontiguousarray(array).view(np.ndarray)
    view = view[:]
    view.flags.writeable = False
    return view


def class_distances(codes: Int64, starts: Int64, distribution: Distribution) -> Float64:
    """Distances of all classes to the table: float64 (c,), NaN of an empty class.

    Parameters
    ----------
    codes : int64 (n,): positions of values in the distribution; records of a class adjacent
    starts : int64 (c + 1,): where each class begins
    """
    metric = distribution.metric
    if metric is None:
        return cast(
            Float64, class_emds(codes, starts, distribution.cumulative, distribution.prefix)
        )
    return tree_emds(codes, starts, metric.paths, metric.weights, metric.below)


def classes_above(
    distances: Float64, limit: Fraction, codes: Int64, starts: Int64, distribution: Distribution
) -> Int64:
    """Positions of the classes above ``limit``, decided without rounding: int64 (a,), ascending.

    Parameters
    ----------
    distances : float64 (c,), as `class_distances` measures them; NaN is above
    codes, starts : as of `class_distances`
    """
    if distribution.metric is None:
        return exceeds(distances, limit, codes, starts, distribution.cumulative)
    return tree_exceeds(distances, limit, codes, starts, distribution.metric)


def find_above(
    order: Int64,
    starts: Int64,
    codes: Int64,
    distributions: tuple[Distribution, ...],
    max_emds: tuple[Fraction, ...],
) -> Int64:
    """Classes above t for some confidential attribute, decided exactly: int64 (a,), ascending.

    Parameters
    ----------
    order : int64 (n,): records, class by class
    starts : int64 (c + 1,): where each class begins in it
    codes : int64 (p, n): of each confidential attribute, by record
    """
    above = [np.empty(0, dtype=np.int64)]
    for of_attribute, distribution, limit in zip(codes, distributions, max_emds, strict=True):
        members = of_attribute[order]
        emds = class_distances(members, starts, distribution)
        above.append(classes_above(emds, limit, members, starts, distribution))
    return np.unique(np.concatenate(above))


def is_equal(distribution: Distribution) -> bool:
    """Return whether all values are equally far apart: right below the root of a tree."""
    metric = distribution.metric
    return metric is not None and metric.paths.shape[1] == 2 and bool((metric.paths >= 0).all())


def partition_distance(release_partition: Distribution, table: Distribution) -> Fraction:
    """Return the exact distance of a release partition to the table, over the table's values."""
    if table.values.size == 1 or release_partition.n_records == table.n_records:
        return Fraction(0)
    if table.metric is None:
        return _ordered_distance(release_partition.cumulative, table.cumulative)
    metric = table.metric
    below = count_below(metric.paths, release_partition.counts, metric.below.size)
    n_partition, n_table = release_partition.n_records, table.n_records
    work = sum(
        int(weight) * abs(int(of_partition) * n_table - int(of_table) * n_partition)
        for weight, of_partition, of_table in zip(
            metric.numerators, below, metric.below, strict=True
        )
    )
    return Fraction(work, metric.denominator * n_partition * n_table)


def _ordered_distance(release_partition: Int64, table: Int64) -> Fraction:
    """The same from cumulative counts (m,); a part at a time, as Python's integers take room."""
    n_values, n_partition, n_table = table.size, int(release_partition[-1]), int(table[-1])
    work = 0
    for start in range(0, n_values, 256):
        part = slice(start, start + 256)
        difference = release_partition[part] * n_table - table[part] * n_partition
        work += sum(abs(d) for d in difference.tolist())
    return Fraction(work, n_partition * n_table * (n_values - 1))


def rounding_work(metric: TreeMetric, n_subsets: int) -> float:
    """Mean distance of clusters that hold a node's share as nearly as whole records can.

    A cluster of K records has one of two neighbouring counts below a node with share q of the
    table: at a fraction f = K q - floor(K q), 2 f (1 - f) / K of the mean absolute difference.
    """
    rank = metric.below / metric.below.max() * n_subsets
    within = rank - np.floor(rank)
    return float(np.sum(metric.weights * 2.0 * within * (1.0 - within))) / n_subsets


def expected_emd(distribution: Distribution, n_subsets: int) -> tuple[float, float]:
    """Mean distance of clusters of one record per subset, and how far they are spread about it.

    By the equal distance, of records that are drawn from each subset at random. A value that fills
    whole subsets has a record of each; at its two ends it has one more with the share that it has
    of the subset there. That gives the mean, exactly but for a remainder. Its spread is at most the
    second figure where values get in each other's way, as those of one subset do.
    """
    ends = distribution.cumulative / distribution.n_records * n_subsets
    starts = ends - distribution.counts / distribution.n_records * n_subsets
    first, last = np.floor(starts + ROUNDED), np.floor(ends + ROUNDED)
    inside = first == last
    of_first = np.where(inside, ends - starts, first + 1 - starts)
    of_last = np.where(inside, 0.0, np.maximum(ends - last, 0.0))
    share, both = of_first + of_last, of_first * of_last
    neither = (1.0 - of_first) * (1.0 - of_last)
    odds = np.array([neither, 1.0 - neither - both, both])
    apart = np.abs(np.arange(3.0)[:, None] - share)
    means = (odds * apart).sum(axis=0)
    variance = float(((odds * apart**2).sum(axis=0) - means**2).sum())
    return float(means.sum()) / 2 / n_subsets, max(variance, 0.0) ** 0.5 / 2 / n_subsets
