"""Slow, obvious twins of the kernels: the definition or the paper's listing, and nothing clever.

Soria-Comas et al. 2015: *t-Closeness through Microaggregation*. Li et al. 2007: *t-Closeness*.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import Any, TypeVar

import numpy as np

Values = Iterable[Any] | Mapping[Any, int]  # of any type that sorts, or how many of each
Vector = Sequence[float] | np.ndarray
Point = tuple[Vector, Vector]  # numeric, nominal
Ordered = TypeVar("Ordered", int, float, str)


def ordered_emd(members: Values, table: Values) -> Fraction:
    """Ordered distance of a class to the table.

    Li et al. 2007, section 5.1; Soria-Comas et al. 2015, section 2.2.

    1/(m-1) times the sum over the distinct values of |sum of (p - q) up to each|. ``members`` and
    ``table`` are values in any order, or how many there are of each; every member is in the table.
    """
    in_class, in_table = Counter(members), Counter(table)
    values = sorted(in_table)
    if len(values) == 1:
        return Fraction(0)
    surplus, work = Fraction(0), Fraction(0)
    for value in values:
        surplus += Fraction(in_class[value], in_class.total())
        surplus -= Fraction(in_table[value], in_table.total())
        work += abs(surplus)
    return work / (len(values) - 1)


def emd_bound(n_records: int, size: int) -> Fraction:
    """Most that a class with one record of each of ``size`` subsets has.

    Soria-Comas et al. 2015, Proposition 2.
    """
    return Fraction(n_records - size, 2 * (n_records - 1) * size)


def subset_sizes(n_records: int, n_subsets: int) -> list[int]:
    """All floor(n/K); records left over are dealt to the central subsets in turn.

    Soria-Comas et al. 2015, section 7.

    With an even number of subsets the lower central one is dealt to first.
    """
    sizes = [n_records // n_subsets] * n_subsets
    central = sorted({(n_subsets - 1) // 2, n_subsets // 2})
    for i in range(n_records % n_subsets):
        sizes[central[i % len(central)]] += 1
    return sizes


def tie_rank(i: int, n_tied: int, shift: int) -> int:
    """Rank of the i-th of ``n_tied`` equal records: golden-ratio steps, of no common divisor."""
    step = max(1, round(n_tied * 0.6180339887498949))
    while gcd(step, n_tied) > 1:
        step += 1
    return (i * step + shift) % n_tied


def assign_subsets(codes: Sequence[int], n_subsets: int, shifts: dict[int, int]) -> list[int]:
    """Sort by (value, rank among ties) and cut: "Split X into S1..Sk".

    Soria-Comas et al. 2015, Algorithm 3.
    """
    n_tied, seen = Counter(codes), Counter[int]()
    keys = []
    for i, code in enumerate(codes):
        keys.append((code, tie_rank(seen[code], n_tied[code], shifts.get(code, 0)), i))
        seen[code] += 1
    subsets = [0] * len(codes)
    ranked = iter(sorted(keys))
    for subset, size in enumerate(subset_sizes(len(codes), n_subsets)):
        for _ in range(size):
            subsets[next(ranked)[2]] = subset
    return subsets


def distance(
    numeric_a: Vector,
    nominal_a: Vector,
    numeric_b: Vector,
    nominal_b: Vector,
    weights: Vector | None = None,
) -> float:
    """Squared distance of two records: numeric differences, then the weight of each nominal one."""
    total = 0.0
    for a, b in zip(numeric_a, numeric_b, strict=True):
        total += (a - b) * (a - b)
    for a, b, weight in zip(nominal_a, nominal_b, weigh(nominal_a, weights), strict=True):
        total += weight * (a != b)
    return total


def weigh(nominal: Vector, weights: Vector | None) -> Vector:
    """Return the weight of each nominal column that differs: 1 by default."""
    return [1.0] * len(nominal) if weights is None else weights


def average(
    numeric: np.ndarray, nominal: np.ndarray, rows: list[int]
) -> tuple[list[float], list[int]]:
    """The average record: means, and the most frequent category, of equally many the first."""
    means = [sum(float(row[i]) for i in rows) / len(rows) for row in numeric]
    modes = []
    for codes in nominal:
        counts = Counter(int(codes[i]) for i in rows)
        modes.append(min(counts, key=lambda code: (-counts[code], code)))
    return means, modes


def cluster_block(
    numeric: np.ndarray,
    nominal: np.ndarray,
    subsets: Sequence[int],
    take: Sequence[int],
    n_clusters: int,
    weights: Vector | None = None,
) -> list[int]:
    """Cluster of each record: Soria-Comas et al. 2015, section 7, Algorithm 3 as it is listed.

    Of equally distant records the lowest row is taken. ``take`` is 1 for each subset in the paper.
    """
    remaining = [[i for i, subset in enumerate(subsets) if subset == s] for s in range(len(take))]
    points = [(numeric[:, i].tolist(), nominal[:, i].tolist()) for i in range(len(subsets))]
    labels = [-1] * len(subsets)

    def all_left() -> list[int]:
        return sorted(i for rows in remaining for i in rows)

    def farthest(point: Point) -> int:
        return min(all_left(), key=lambda i: (-distance(*points[i], *point, weights), i))

    def make_cluster(label: int, seed: int) -> None:
        has_extra = False
        for rows, n_take in zip(remaining, take, strict=True):
            nearest = sorted(rows, key=lambda i: (distance(*points[i], *points[seed], weights), i))
            n_taken = n_take
            # "Take second record from Si if it contains extra records and no extra record has
            # been already added to C": |Si| > |S1|, S1 being what the clusters to come need.
            if len(rows) - n_take > n_take * (n_clusters - label - 1) and not has_extra:
                n_taken, has_extra = n_take + 1, True
            for i in nearest[:n_taken]:
                labels[i] = label
                rows.remove(i)

    made = 0
    while all_left():
        x_0 = farthest(average(numeric, nominal, all_left()))
        make_cluster(made, x_0)
        made += 1
        if all_left():
            make_cluster(made, farthest(points[x_0]))
            made += 1
    return labels


def spread(column: np.ndarray, rows: Sequence[int], *, is_nominal: bool) -> Fraction:
    """Half the mean squared distance of two of the records: for numbers that is the variance."""
    size = len(rows)
    if is_nominal:
        counts = Counter(int(column[i]) for i in rows)
        return (1 - Fraction(sum(n * n for n in counts.values()), size * size)) / 2
    values = [Fraction(float(column[i])) for i in rows]
    mean = sum(values, Fraction(0)) / size
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / size


def axis_spreads(
    numeric: np.ndarray,
    nominal: np.ndarray,
    rows: Sequence[int],
    weights: Vector | None = None,
    heights: np.ndarray | None = None,
) -> dict[int, Fraction]:
    """Spread of each quasi-identifier by its first column, numeric ones first.

    One with a taxonomy has H columns of 1/H of its weight; its spread is the sum of theirs.
    """
    found = {j: spread(row, rows, is_nominal=False) for j, row in enumerate(numeric)}
    counted, first = list(weigh(nominal, weights)), 0
    while first < len(nominal):
        height = 1 if heights is None else int(heights[first])
        found[len(numeric) + first] = sum(
            (
                Fraction(counted[j]) * spread(nominal[j], rows, is_nominal=True)
                for j in range(first, first + height)
            ),
            Fraction(0),
        )
        first += height
    return found


def split_extras(extras: Sequence[int], n_clusters: int, n_left: int) -> list[int]:
    """Extras for the first ``n_left`` clusters: a proportional share, the first subset's floored.

    At most two subsets, the central ones, have extras.
    """
    total = sum(extras)
    both = total * n_left // n_clusters
    left = [0] * len(extras)
    central = [s for s, extra in enumerate(extras) if extra]
    if central:
        left[central[0]] = both * extras[central[0]] // total
        left[central[-1]] += both - sum(left)
    return left


def cut_blocks(
    numeric: np.ndarray,
    nominal: np.ndarray,
    subsets: Sequence[Sequence[int]],
    take: Sequence[int],
    n_clusters: int,
    block_clusters: int,
    find_axis: Callable[[Sequence[int]], int],
) -> list[list[list[int]]]:
    """Blocks, each a list of rows per subset: design note, facts, 2.

    Sort each subset along the quasi-identifier that is found for all rows and give the left half of
    the clusters its records; again on both halves, until a block has few enough clusters.
    """
    if n_clusters <= block_clusters:
        return [[sorted(rows) for rows in subsets]]
    axis = find_axis([i for rows in subsets for i in rows])
    column = [*numeric, *nominal][axis]
    n_left = n_clusters // 2
    extras = [len(rows) - n * n_clusters for rows, n in zip(subsets, take, strict=True)]
    cuts = [
        n_left * n + extra
        for n, extra in zip(take, split_extras(extras, n_clusters, n_left), strict=True)
    ]
    ranked = [sorted(rows, key=lambda i: (column[i], i)) for rows in subsets]
    left = [rows[:cut] for rows, cut in zip(ranked, cuts, strict=True)]
    right = [rows[cut:] for rows, cut in zip(ranked, cuts, strict=True)]
    return [
        *cut_blocks(numeric, nominal, left, take, n_left, block_clusters, find_axis),
        *cut_blocks(numeric, nominal, right, take, n_clusters - n_left, block_clusters, find_axis),
    ]


def find_leaf(
    values: Sequence[float], thresholds: Sequence[float], position: int, axes: Sequence[int]
) -> int:
    """Leaf of one record in a complete binary tree, from left to right: one bit per level.

    At a node without an axis it is the lowest bit of what SplitMix64 makes of the position.
    """
    node, leaf = 0, 0
    while node < len(axes):
        if axes[node] < 0:
            goes_right = mix_bits(position + (node + 1) * 0x9E3779B97F4A7C15) % 2
        else:
            goes_right = int(values[axes[node]] > thresholds[node])
        leaf = 2 * leaf + goes_right
        node = 2 * node + 1 + goes_right
    return leaf


def mix_bits(state: int) -> int:
    """The output of SplitMix64 (Steele, Lea and Flood 2014) for a state."""
    mixed = state % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
    return mixed ^ (mixed >> 31)


def records_before(
    take: Sequence[int], extras: Sequence[int], n_clusters: int, cluster: int
) -> list[int]:
    """Records of each subset in the first clusters, dealing extras out one cluster at a time.

    Cluster i gets one whenever the share of extras, rounded down, grows; it is the first central
    subset's whenever that one's share of the extras grows, and the last one's otherwise.
    """
    total, before = sum(extras), [0] * len(take)
    central = [s for s, extra in enumerate(extras) if extra]
    for i in range(cluster):
        before = [b + n for b, n in zip(before, take, strict=True)]
        dealt = total * i // n_clusters
        if total * (i + 1) // n_clusters > dealt:
            first = extras[central[0]]
            is_first = (dealt + 1) * first // total > dealt * first // total
            before[central[0] if is_first else central[-1]] += 1
    return before


def class_size(n_records: int, k: int, max_emd: Fraction) -> int:
    """Smallest size that Proposition 2 lets pass, at least k, then eq. (4).

    Soria-Comas et al. 2015, section 7.
    """
    size = k
    while emd_bound(n_records, size) > max_emd:
        size += 1
    return size + (n_records % size) // (n_records // size)


def integer_mean(values: Sequence[int]) -> int:
    """Mean rounded to the nearest integer, halves upward, in integers of any length."""
    total, size = sum(int(value) for value in values), len(values)
    return (2 * total + size) // (2 * size)


def float_mean(values: Sequence[float]) -> float:
    """Mean as the first value and the mean difference from it, which is 0 for equal values."""
    return values[0] + sum(value - values[0] for value in values) / len(values)


def lower_median(values: Sequence[Ordered]) -> Ordered:
    """The middle value, of an even number the lower of the two.

    Soria-Comas et al. 2015, section 2.3.
    """
    return sorted(values)[(len(values) - 1) // 2]


def upper_median(values: Sequence[Ordered]) -> Ordered:
    """The middle value, of an even number the upper of the two."""
    return sorted(values)[len(values) // 2]


def mode(codes: Sequence[int], priority: Sequence[int]) -> int:
    """The most frequent code; of equally frequent ones that of lowest priority number."""
    counts = Counter(codes)
    return min(counts, key=lambda code: (-counts[code], priority[code]))


def groups(labels: Sequence[int] | np.ndarray) -> list[list[int]]:
    """Records of each label, ascending."""
    found: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(int(label), []).append(i)
    return [found[label] for label in sorted(found)]
