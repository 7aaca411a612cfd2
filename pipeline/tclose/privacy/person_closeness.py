"""k and t over persons: what classes are held to where a person may have several records.

k counts the distinct persons of a class. The distribution of a confidential attribute over the
persons of a class, or of the table, is the one in which each person weighs one and shares it among
the rows that she has there. It is held to the same t as the distribution over rows, and by the same
distance (Li et al. 2007, section 5). With one row a person both are the same.

A union of classes may be farther from the table than its parts, since a person of both has her rows
weighed anew; the whole table as one class is at distance 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose.data.key_rows import find_changes
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.person_shares import person_emds, person_tree_emds, share_rows
from tclose.kernels.emd.tree_counts import count_below
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution

# Shares are counted in parts: at most so many, and so few that sums over all values are integers.
MOST_PARTS, LARGEST_SUM = 2**50, 2**61
_PART = 4096  # values of which exact sums are held at a time


@dataclass(frozen=True, eq=False)
class PersonDistribution:
    """A confidential attribute in the table, where each person weighs one.

    ``rows``: the distribution over rows; ``shares``: that over persons, where counts are shares in
    equal small parts, rounded. ``entries``, of ranges of values one after the other, int64 (3, e):
    positions of values in both, how many rows in the whole table the person of a row has, and how
    many rows there are of both; ascending.
    """

    rows: Distribution
    n_persons: int
    entries: tuple[Int64, ...]
    shares: Distribution

    @property
    def error(self) -> float:
        """The most by which the rounding of shares makes a distance wrong."""
        n_rounded = sum(entries.shape[1] for entries in self.entries)
        of_share = n_rounded / (self.n_persons * _unit(self.n_persons))
        of_share += 1 / self.shares.n_records + ERROR_PER_STEP
        metric = self.rows.metric
        return float(of_share * (1 if metric is None else 2 * metric.paths.size))

    def weigh(self, unit: int, first: int, last: int) -> list[int]:
        """Weights of the values from ``first`` to before ``last``, in parts 1 / ``unit``."""
        weights = [0] * (last - first)
        for entries in self.entries:
            start, stop = np.searchsorted(entries[0], [first, last])
            columns = (column[start:stop].tolist() for column in entries)
            for value, n_rows, count in zip(*columns, strict=True):
                weights[value - first] += count * (unit // n_rows)
        return weights

    @property
    def unit(self) -> int:
        """The common denominator of a row's weights."""
        return lcm(*(n for entries in self.entries for n in np.unique(entries[1]).tolist()))


def weigh_values(entries: Int64, n_persons: int, first: int, last: int) -> Int64:
    """Weights of the values from ``first`` to before ``last``, in parts of a person: int64 (v,).

    Parameters
    ----------
    entries : int64 (3, e): of these values, see `PersonDistribution`
    """
    weights = np.zeros(last - first, dtype=np.int64)
    values, n_rows, counts = entries
    parts = np.rint(counts / n_rows * _unit(n_persons)).astype(np.int64)
    firsts = np.flatnonzero(find_changes([values]))
    if firsts.size:
        weights[values[firsts] - first] = np.add.reduceat(parts, firsts)
    return weights


def weigh_persons(
    rows: Distribution, n_persons: int, entries: tuple[Int64, ...], weights: Int64
) -> PersonDistribution:
    """The distribution over persons, from the weights of all values: int64 (v,)."""
    fine = np.cumsum(weights)
    n_parts = min(MOST_PARTS, LARGEST_SUM // weights.size)
    scaled = fine / fine[-1]
    scaled *= n_parts
    cumulative = np.rint(scaled, out=scaled).astype(np.int64)
    prefix = np.zeros(weights.size + 1, dtype=np.int64)
    np.cumsum(cumulative, out=prefix[1:])
    for array in (cumulative, prefix):  # as files are: kernels take them as another type
        array.flags.writeable = False
    shares = Distribution(rows.values, cumulative, prefix)
    return PersonDistribution(rows, n_persons, entries, with_tree(shares, rows))


def _unit(n_persons: int) -> int:
    """Parts of a person that the weights of values are rounded to."""
    return int(2 ** (62 - n_persons.bit_length()))


def with_tree(shares: Distribution, rows: Distribution) -> Distribution:
    """The shares of persons with the tree that the distribution over rows has, if it has one."""
    metric = rows.metric
    if metric is None:
        return shares
    below = count_below(metric.paths, shares.counts, metric.below.size)
    return replace(shares, metric=replace(metric, below=below))


@dataclass(frozen=True, eq=False)
class PersonMeasures:
    """Classes as seen over persons.

    ``n_persons`` int64 (c,); ``distances`` float64 (p, c): of each confidential attribute;
    ``above`` bool (p, c): whether they are above its t, decided without rounding.
    """

    n_persons: Int64
    distances: Float64
    above: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PersonDemand:
    """The demands on classes over persons: k, and a t of each confidential attribute."""

    k: int
    limits: tuple[Fraction, ...] = ()
    tables: tuple[PersonDistribution, ...] = field(default=())

    def measure(self, starts: Int64, persons: Int64, codes: Int64) -> PersonMeasures:
        """Measure classes.

        Parameters
        ----------
        starts : int64 (c + 1,): where each class begins
        persons : int64 (n,): whose each row is; rows of a class adjacent
        codes : int64 (p, n): confidential values as positions in their distributions
        """
        n_persons, shares = share_rows(persons, starts)
        distances = np.zeros((len(self.limits), n_persons.size))
        above = np.zeros(distances.shape, dtype=np.bool_)
        for a, (limit, table) in enumerate(zip(self.limits, self.tables, strict=True)):
            distances[a] = _measure_distances(codes[a], shares, starts, table)
            above[a] = _find_above_limit(distances[a], limit, starts, persons, codes[a], table)
        return PersonMeasures(n_persons, distances, above)

    def holds(self, starts: Int64, persons: Int64, codes: Int64) -> NDArray[np.bool_]:
        """Return whether classes have k persons and are within every t over them: bool (c,)."""
        measures = self.measure(starts, persons, codes)
        held: NDArray[np.bool_] = (measures.n_persons >= self.k) & ~measures.above.any(axis=0)
        return held


def _measure_distances(
    codes: Int64, shares: Float64, starts: Int64, table: PersonDistribution
) -> Float64:
    """Distances of classes to the table: float64 (c,), NaN of an empty class."""
    metric = table.shares.metric
    distances: Float64
    if metric is None:
        of_table = table.shares.cumulative, table.shares.prefix
        distances = person_emds(codes, shares, starts, *of_table)
    else:
        tree = metric.paths, metric.weights, metric.below / table.shares.n_records
        distances = person_tree_emds(codes, shares, starts, *tree)
    return distances


def _find_above_limit(
    distances: Float64,
    limit: Fraction,
    starts: Int64,
    persons: Int64,
    codes: Int64,
    table: PersonDistribution,
) -> NDArray[np.bool_]:
    """Tell if classes are above a limit: by floats where these cannot err, else in integers."""
    metric = table.rows.metric
    depth = 1 if metric is None else metric.paths.shape[1]
    margin = ERROR_PER_STEP * (np.diff(starts) * depth + 8) + table.error
    above = ~(distances <= float(limit) + margin)
    near = np.flatnonzero(~above & (distances > float(limit) - margin))
    for i in near.tolist():
        rows = slice(starts[i], starts[i + 1])
        above[i] = exact_person_distance(codes[rows], persons[rows], table) > limit
    return above


def exact_person_distance(codes: Int64, persons: Int64, table: PersonDistribution) -> Fraction:
    """Distance of one class, not empty, as a rational number; slow, for decisions at the limit.

    ``codes`` and ``persons`` int64 (n,): of the rows of the class.
    """
    n_values, metric = table.rows.values.size, table.rows.metric
    if n_values == 1:
        return Fraction(0)
    _, index, n_rows = np.unique(persons, return_inverse=True, return_counts=True)
    unit = lcm(*np.unique(n_rows).tolist())
    held: dict[int, int] = {}
    for code, rows in zip(codes.tolist(), n_rows[index].tolist(), strict=True):
        held[code] = held.get(code, 0) + unit // rows
    scales = unit * n_rows.size, table.unit * table.n_persons
    if metric is None:
        return _sum_ordered(held, table, scales) / (n_values - 1)
    return _sum_tree(held, table, scales)


def _sum_ordered(
    held: dict[int, int], table: PersonDistribution, scales: tuple[int, int]
) -> Fraction:
    """Sum over the values of the difference between the shares up to them."""
    of_class, of_table = scales
    unit, level, total, work = table.unit, 0, 0, 0
    for first in range(0, table.rows.values.size, _PART):
        last = min(first + _PART, table.rows.values.size)
        for value, weight in enumerate(table.weigh(unit, first, last), first):
            level += held.get(value, 0)
            total += weight
            work += abs(level * of_table - total * of_class)
    return Fraction(work, of_class * of_table)


def _sum_tree(held: dict[int, int], table: PersonDistribution, scales: tuple[int, int]) -> Fraction:
    """Sum over the nodes of the weighted difference between the shares below them."""
    metric = table.rows.metric
    assert metric is not None
    of_class, of_table = scales
    surplus = [0] * metric.below.size
    weights = table.weigh(table.unit, 0, table.rows.values.size)
    for value, nodes in enumerate(metric.paths.tolist()):
        difference = held.get(value, 0) * of_table - weights[value] * of_class
        for node in nodes:
            if node >= 0:
                surplus[node] += difference
    numerators: Sequence[int] = metric.numerators.tolist()
    work = sum(weight * abs(s) for weight, s in zip(numerators, surplus, strict=True))
    return Fraction(work, metric.denominator * of_class * of_table)
