"""The class size of a release partition: how many records clusters have before refinement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from tclose.model.distribution import Distribution
from tclose.passes.plan.search_budget import MAX_SEARCHED
from tclose.privacy.t_closeness import ROUNDED, expected_emd, is_equal, rounding_work

# At what share of t clusters are on average before refinement, which spends the rest.
SHARE_OF_T = 0.5
# How many times as large as t asks for such clusters may be.
MUCH_LARGER = 2
# Records of the largest ones: others spend little of what is left of t for the time that takes.
MOST_AT_HALF = 400
AUTO, WITHIN, GIVEN = "half of t", "within t", "given"
NEARLY, LARGE = "nearly all within t", "too large to be searched"
HALVES = "half of the records"
# Clusters of k records could not give one away; of this many times k, every few can.
ROOM_ABOVE_K = Fraction(12, 11)
# Distributions of more distinct values are thinned out before class sizes are tried on them.
MAX_TRIED_VALUES = 65_536
# The release partition's distribution of an attribute, and the t that is left to it.
Demand = tuple[Distribution, Fraction]
# What clusters of the size that distances ask for are like, by the rule that it was found by.
_BEFORE_REFINEMENT = {
    AUTO: ", which uses up half of t before refinement",
    WITHIN: ", at which nearly all clusters have their combinations within t before refinement",
    NEARLY: ", at which nearly all clusters are within t",
    LARGE: ", at which nearly all clusters are within t; classes of that size are not searched",
}


@dataclass(frozen=True)
class ClassSize:
    """The class size and where it comes from (Soria-Comas et al. 2015, section 7, eqs. 3 and 4).

    ``by_distance``: what the confidential attributes ask for; ``rule``: how that was found;
    ``n_clusters``: None for as many as there can be of ``adjusted`` records.
    """

    k: int
    by_distance: int
    adjusted: int
    rule: str = "eq. (3)"
    n_clusters: int | None = None

    def count_clusters(self, n_records: int) -> int:
        """Clusters of ``n_records``."""
        return self.n_clusters or n_records // self.adjusted

    def explain(self) -> str:
        """One line for a report."""
        if self.rule in _BEFORE_REFINEMENT:
            of_k = "12/11 k" if _size_above(self.k) > self.k else "k"
            return (
                f"{self.adjusted} or more: the larger of {of_k} (k = {self.k}) and "
                f"{self.by_distance}{_BEFORE_REFINEMENT[self.rule]}"
            )
        if self.rule == HALVES:
            return (
                f"{self.adjusted} or more: half of the records, as larger ones would be one class"
            )
        if self.rule == GIVEN:
            return f"{self.adjusted}: as the policy says"
        if self.by_distance == 0:
            reason = f"{self.adjusted}: k = {self.k}, no confidential attribute"
        else:
            reason = (
                f"{self.adjusted}: the larger of k = {self.k} and {self.by_distance} from eq. (3)"
            )
        added = self.adjusted - max(self.k, self.by_distance)
        return f"{reason}; eq. (4) adds {added} so that the remainder fits" if added else reason


def choose_class_size(n_records: int, k: int, max_emds: list[Fraction]) -> ClassSize:
    """Class size for ``n_records`` so that one record per subset keeps every distance.

    K = max{k, ceil(n / (2(n-1)t + 1))} for the smallest t (eq. 3), then K + floor((n mod K) /
    floor(n/K)) (eq. 4), so that no more records are left over than there are clusters.
    """
    by_distance = max(
        (ceil(Fraction(n_records) / (2 * (n_records - 1) * t + 1)) for t in max_emds), default=0
    )
    size = min(max(k, by_distance), n_records)
    adjusted = size + (n_records % size) // (n_records // size)
    return ClassSize(k, by_distance, adjusted)


def take_class_size(n_records: int, k: int, size: int) -> ClassSize:
    """The size that a policy gives; not below k, and no more than there are records."""
    size = min(max(k, size), n_records)
    return ClassSize(k, 0, n_records // (n_records // size), GIVEN)


def fit_class_size(
    n_records: int,
    k: int,
    demands: list[Demand],
    joint: Sequence[Demand] = (),
) -> ClassSize:
    """Class size that leaves refinement room in t and in k.

    The smallest at which clusters of one record per subset are, on average, at half of t. Several
    attributes share the records of a class, so from the third on it grows with their number; but
    blocks are balanced in all of them, so that one record less does. Larger classes lose more,
    smaller ones cannot exchange: both ends were measured, see the benchmarks.

    Parameters
    ----------
    demands : of each confidential attribute
    joint : of the joint ones, which ask for no records beside those of their parts; half of their
        t would take several times the records, for no less loss (measured on Adult)
    """
    sizes = [wanted_size(demand, n_records) for demand in demands]
    by_distance = ceil(max(sizes, default=0) * max(1.0, len(demands) / 2))
    if len(demands) > 1:
        by_distance = max(1, by_distance - 1)
    combined = max((surely_within(demand, n_records) for demand in joint), default=0)
    large = [
        is_equal(d) for (d, _), size in zip(demands, sizes, strict=True) if size > MOST_AT_HALF
    ]
    rule = NEARLY if any(large) else AUTO
    rule = rule if by_distance >= combined else WITHIN
    by_distance = max(by_distance, combined)
    class_size = max(_size_above(k), Fraction(by_distance))
    n_clusters = max(1, int(n_records / class_size))
    if n_clusters == 1 and _can_halve(n_records, k, demands, joint):
        return ClassSize(k, by_distance, n_records // 2, HALVES, 2)
    rule = rule if by_distance <= MAX_SEARCHED else LARGE
    return ClassSize(k, by_distance, n_records // n_clusters, rule, n_clusters)


def _size_above(k: int) -> Fraction:
    """Records of a cluster that has room above k, or k where that would be too large to search."""
    roomy = k * ROOM_ABOVE_K
    return roomy if roomy <= MAX_SEARCHED else Fraction(k)


def _can_halve(n_records: int, k: int, demands: Sequence[Demand], joint: Sequence[Demand]) -> bool:
    """Return whether two clusters of k or more records are, on average, within every t."""
    size = n_records // 2
    near = (mean_cluster_emd(distribution, size) <= float(t) for distribution, t in demands)
    return size >= k and all(near) and all(surely_within(d, n_records) <= size for d in joint)


def wanted_size(demand: Demand, n_records: int) -> int:
    """Records of a class that one attribute asks for.

    Large classes spend little of what is left to them, and hardly any of them do that are much
    larger than t asks for. By the equal distance clusters of that size are all near their mean: so
    they are made as small as t allows, but for two standard deviations; the few that are above t
    for all that are merged.
    """
    distribution, t = demand
    mean = SHARE_OF_T * float(t)
    half = _smallest_size(lambda size: mean_cluster_emd(distribution, size) <= mean, n_records)
    if not is_equal(distribution):
        return half
    least = surely_within(demand, n_records)
    return half if half <= min(MOST_AT_HALF, MUCH_LARGER * least) else min(half, least)


def surely_within(demand: Demand, n_records: int) -> int:
    """Records of a class at which nearly all clusters are within t by the equal distance."""
    distribution, t = demand

    def is_near(size: int) -> bool:
        mean, deviation = expected_emd(distribution, size)
        return mean + 2 * deviation <= float(t) + 10 * ROUNDED

    size = _smallest_size(is_near, n_records)
    while (smaller := n_records // (n_records // size + 1)) and smaller < size:
        if not is_near(smaller):  # subsets that values just fill are better than larger ones
            break
        size = smaller
    return size


def _smallest_size(is_near: Callable[[int], bool], n_records: int) -> int:
    """The smallest number of subsets that brings clusters near enough: by bisection."""
    low, high = 1, 1
    while high < n_records and not is_near(high):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if is_near(middle):
            high = middle
        else:
            low = middle + 1
    return min(high, n_records)


def mean_cluster_emd(distribution: Distribution, n_subsets: int) -> float:
    """Mean distance to the table of clusters of one record per subset.

    Each subset's record serves its own subset, at its mean absolute difference, 2 sum F (1 - F)
    over the values, F cumulative within the subset. An upper bound where other transports are
    shorter; 1/(3K) where no value repeats.
    """
    if distribution.values.size == 1:
        return 0.0
    if distribution.metric is not None:
        return rounding_work(distribution.metric, n_subsets)
    step = -(-distribution.values.size // MAX_TRIED_VALUES)
    cumulative = np.asarray(distribution.cumulative[step - 1 :: step], dtype=np.float64)
    rank = cumulative / distribution.n_records * n_subsets
    within = rank - np.floor(rank)
    work = 2.0 * float(np.sum(within * (1.0 - within)))
    return work * step / (distribution.values.size - 1) / n_subsets
