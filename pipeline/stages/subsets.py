"""The global quantile subsets of a domain, and the class size that they are made for."""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from pipeline.kernels.blocks import extras_up_to
from pipeline.kernels.subsets import subset_sizes, tie_stride
from pipeline.model import Distribution, Int64


@dataclass(frozen=True)
class ClassSize:
    """The class size and where it comes from (papers/003, section 7, eqs. 3 and 4)."""

    k: int
    by_distance: int
    adjusted: int

    def explain(self) -> str:
        """One line for a report."""
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


def cut_subsets(
    size: int, distribution: Distribution | None, n_records: int, seed: int
) -> tuple[Subsets, int]:
    """Subsets of a domain for classes of ``size``, and the number of clusters.

    ``distribution`` is the domain's, over the values of the whole table; None without confidential
    attributes: then there is one subset, of which every cluster takes ``size`` records.
    """
    n_clusters = n_records // size
    none = np.empty(0, dtype=np.int64)
    if distribution is None:
        take = np.array([size], dtype=np.int64)
        sizes = np.array([n_records], dtype=np.int64)
        rule = np.empty((0, 4), dtype=np.int64)
        return Subsets(sizes, take, sizes - n_clusters * take, none, none, none, rule, none), (
            n_clusters
        )
    sizes = subset_sizes(n_records, size)
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
