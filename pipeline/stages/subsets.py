"""The global quantile subsets of a domain, and the class size that they are made for."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

import numpy as np

from pipeline.kernels.blocks import extras_up_to
from pipeline.kernels.subsets import subset_sizes, tie_stride
from pipeline.model import Distribution, Int64
from pipeline.stages.distances import ROUNDED, dealing_work, is_equal, rounding_work
from pipeline.stages.refine import MAX_SEARCHED, SHARE_OF_T

AUTO, WITHIN, LARGE, GIVEN = "half of t", "within t", "too large to be searched", "given"
# Clusters of k records could not give one away; of this many times k, every few can.
ROOM_ABOVE_K = Fraction(12, 11)
# Distributions of more distinct values are thinned out before class sizes are tried on them.
MAX_TRIED_VALUES = 65_536
# The domain's distribution of an attribute, and the t that is left to it.
Demand = tuple[Distribution, Fraction]

# What clusters of the size that distances ask for are like, by the rule that it was found by.
_BEFORE_REFINEMENT = {
    AUTO: ", which uses up half of t before refinement",
    WITHIN: ", at which nearly all clusters have their combinations within t before refinement",
    LARGE: ", at which nearly all clusters are within t; classes of that size are not searched",
}


@dataclass(frozen=True)
class ClassSize:
    """The class size and where it comes from (papers/003, section 7, eqs. 3 and 4).

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
            return (
                f"{self.adjusted} or more: the larger of 12/11 k (k = {self.k}) and "
                f"{self.by_distance}{_BEFORE_REFINEMENT[self.rule]}"
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
    share_of_t: float = SHARE_OF_T,
) -> ClassSize:
    """Class size that leaves refinement room in t and in k.

    The smallest at which clusters of one record per subset are, on average, at a share of t: half
    of it, or more where refinement is wide and there is one confidential attribute. Several
    attributes share the records of a class, so from the third on it grows with their number; but
    blocks are balanced in all of them, so that one record less does. Larger classes lose more,
    smaller ones cannot exchange: both ends were measured, see the benchmarks.

    Parameters
    ----------
    demands : of each confidential attribute
    joint : of the joint ones, which ask for no records beside those of their parts; half of their
        t would take several times the records, for no less loss (measured on Adult)
    """
    share = share_of_t if len(demands) == 1 and not joint else SHARE_OF_T
    sizes = [wanted_size(demand, n_records, share) for demand in demands]
    by_distance = ceil(max(sizes, default=0) * max(1.0, len(demands) / 2))
    if len(demands) > 1:
        by_distance = max(1, by_distance - 1)
    combined = max((surely_within(demand, n_records) for demand in joint), default=0)
    rule = AUTO if by_distance >= combined else WITHIN
    by_distance = max(by_distance, combined)
    wanted = max(k * ROOM_ABOVE_K, Fraction(by_distance))
    n_clusters = max(1, int(n_records / wanted))
    rule = rule if by_distance <= MAX_SEARCHED else LARGE
    return ClassSize(k, by_distance, n_records // n_clusters, rule, n_clusters)


def wanted_size(demand: Demand, n_records: int, share_of_t: float = SHARE_OF_T) -> int:
    """Records of a class that one attribute asks for.

    Classes that are too large to be searched spend nothing of what is left to them. By the equal
    distance clusters of that size are all near their mean: so they are made as small as t allows,
    but for two standard deviations; the few that are above t for all that are merged.
    """
    distribution, t = demand
    mean = share_of_t * float(t)
    half = _smallest_size(lambda size: mean_cluster_emd(distribution, size) <= mean, n_records)
    if not is_equal(distribution) or half <= MAX_SEARCHED:
        return half
    return min(half, surely_within(demand, n_records))


def surely_within(demand: Demand, n_records: int) -> int:
    """Records of a class at which nearly all clusters are within t by the equal distance."""
    distribution, t = demand

    def is_near(size: int) -> bool:
        mean, deviation = dealing_work(distribution, size)
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


@dataclass(frozen=True, eq=False)
class Subsets:
    """The global subsets of a domain, S of them.

    ``sizes``, ``extras`` and ``take`` int64 (S,): records of each, those beyond one class's share
    times the clusters, and records of each in every cluster. The rest is what
    `pipeline.kernels.subsets.assign_subsets` takes; ``tie_seen`` is (partitions, u).
    """

    sizes: Int64
    take: Int64
    extras: Int64
    cut_codes: Int64
    cut_ranks: Int64
    tie_codes: Int64
    tie_rule: Int64
    tie_seen: Int64

    def records_before(self, cluster: int, n_clusters: int) -> Int64:
        """Records of each subset that go with the clusters before ``cluster``: int64 (S,)."""
        before = cluster * self.take
        central = np.flatnonzero(self.extras)
        total = int(self.extras.sum())
        if central.size:
            first = int(self.extras[central[0]])
            both = extras_up_to(total, total, n_clusters, cluster)
            before[central[0]] += extras_up_to(total, first, n_clusters, cluster)
            before[central[-1]] += both - extras_up_to(total, first, n_clusters, cluster)
        return before


# Into how many quantile cells each further confidential attribute is cut, by how many there are.
CELLS_EACH = {0: 1, 1: 8, 2: 4, 3: 2, 4: 2}


@dataclass(frozen=True, eq=False)
class Cells:
    """Quantile cells of the confidential attributes that the subsets do not follow.

    Blocks take the same share of every cell of every subset, so that they are balanced in all
    confidential attributes; ``cut_codes``: for each further attribute the codes at which cells
    begin but the first, int64. Equal values stay together, so cells may differ in size.
    """

    cut_codes: tuple[Int64, ...] = ()

    @property
    def n_cells(self) -> int:
        """Cells of all attributes together."""
        return prod(cuts.size + 1 for cuts in self.cut_codes)

    def find(self, codes: Int64, primary: int) -> Int64:
        """Cell of each record, int64 (n,), by its codes (p, n)."""
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        if not self.cut_codes:  # one cell, whatever attributes there are
            return cells
        further = [a for a in range(codes.shape[0]) if a != primary]
        for a, cuts in zip(further, self.cut_codes, strict=False):  # joint ones come last: no cells
            cells = cells * (cuts.size + 1) + np.searchsorted(cuts, codes[a], side="right")
        return cells


NO_CELLS = Cells()


def cut_cells(distributions: list[Distribution]) -> Cells:
    """Cells of the further attributes; ``distributions``: a domain's."""
    n_each = CELLS_EACH.get(len(distributions), 1)
    cuts = []
    for distribution in distributions:
        ranks = distribution.n_records * np.arange(1, n_each) // n_each
        found = np.searchsorted(distribution.cumulative, ranks, side="right")
        cuts.append(np.unique(found[found > 0]).astype(np.int64))
    return Cells(tuple(cuts))


def cut_subsets(
    size: int,
    distribution: Distribution | None,
    n_records: int,
    seed: int,
    n_clusters: int | None = None,
) -> tuple[Subsets, int]:
    """Subsets of a domain for classes of ``size``, and the number of clusters.

    ``distribution`` is the domain's, over the values of the whole table; None without confidential
    attributes: then there is one subset, of which every cluster takes ``size`` records.
    ``n_clusters``: fewer than n/size, where some clusters are to have one record more.
    """
    n_clusters = n_clusters or n_records // size
    none = np.empty(0, dtype=np.int64)
    if distribution is None:
        take = np.array([size], dtype=np.int64)
        sizes = np.array([n_records], dtype=np.int64)
        rule = np.empty((0, 4), dtype=np.int64)
        return Subsets(sizes, take, sizes - n_clusters * take, none, none, none, rule, none), (
            n_clusters
        )
    sizes = subset_sizes(n_records, size, n_clusters)
    take = np.ones(size, dtype=np.int64)
    cut_ranks = np.cumsum(sizes)[:-1]
    cut_codes = np.searchsorted(distribution.cumulative, cut_ranks, side="right").astype(np.int64)
    below = np.where(cut_codes > 0, distribution.cumulative[cut_codes - 1], 0)
    tie_codes = np.unique(cut_codes[cut_ranks > below])
    rule = np.array([_tie_rule(distribution, int(c), seed) for c in tie_codes], dtype=np.int64)
    rule = rule.reshape(tie_codes.size, 4)
    extras = sizes - n_clusters
    return Subsets(sizes, take, extras, cut_codes, cut_ranks, tie_codes, rule, none), n_clusters


def _tie_rule(distribution: Distribution, code: int, seed: int) -> tuple[int, int, int, int]:
    first = int(distribution.cumulative[code - 1]) if code else 0
    n_tied = int(distribution.cumulative[code]) - first
    digest = hashlib.blake2b(f"{seed}:{code}".encode(), digest_size=8).digest()
    return first, n_tied, tie_stride(n_tied), int.from_bytes(digest) % n_tied
