"""The plan: class sizes, global subsets, regions. Pure; says why, and proves what cannot be.

A *domain* is a set of records that must not mix with others: the records of one combination of hard
partition values (`output.partition_by` columns that are released as they are). Without such columns
the whole table is the one domain. Subsets are global within a domain.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.errors import InfeasibleError, PolicyError
from pipeline.kernels.blocks import axis_keys, extras_up_to, find_leaves, widest_axis
from pipeline.kernels.subsets import assign_subsets, subset_sizes, tie_stride
from pipeline.model import Column, Distribution, Float64, Int64
from pipeline.stages.keys import Encoding

MIN_REGION_RECORDS = 25_000
MAX_REGION_RECORDS = 250_000
USUAL_REGIONS = 16
LEAVES_PER_REGION = 16
SAMPLE_PER_LEAF = 32
MAX_SAMPLE = 500_000


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


def count_regions(n_records: int) -> int:
    """Regions of a domain: a power of two, by the number of records alone."""
    most = max(1, n_records // MIN_REGION_RECORDS)
    least = ceil(n_records / MAX_REGION_RECORDS)
    wanted = max(min(most, USUAL_REGIONS), least)
    return 1 << (wanted.bit_length() - 1 if wanted == min(most, USUAL_REGIONS) else wanted.bit_length())


def sample_size(n_records: int, class_size: int) -> int:
    """Records that the coarse cuts are taken from; they decide where, never how many."""
    n_regions = count_regions(n_records)
    if n_regions == 1:
        return 0
    return min(n_regions * LEAVES_PER_REGION * class_size * SAMPLE_PER_LEAF, MAX_SAMPLE)


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


@dataclass(frozen=True, eq=False)
class CoarseTree:
    """Cuts that order a domain's records by place, as `find_leaves` takes them."""

    axes: NDArray[np.int32]
    thresholds: Float64

    @property
    def n_leaves(self) -> int:
        """Leaves, from left to right."""
        return self.axes.size + 1


def grow_tree(
    numeric: Float64, nominal: NDArray[np.int32], n_levels: int, subsets: NDArray[np.int32],
    n_subsets: int, n_leaves: int,
) -> CoarseTree:  # fmt: skip
    """Cut a sample at the medians of its widest quasi-identifiers, each subset at its own.

    Returns
    -------
    A tree with ``n_leaves`` (a power of two) leaves.
    """
    axes = np.zeros(n_leaves - 1, dtype=np.int32)
    thresholds = np.zeros((n_subsets, n_leaves - 1))
    counts = np.zeros(n_levels, dtype=np.int64)
    members: list[Int64] = [np.arange(subsets.size)]
    for node in range(n_leaves - 1):
        rows = members[node]
        left = np.zeros(rows.size, dtype=bool)
        if rows.size:
            axes[node] = widest_axis(numeric, nominal, rows, counts)
            keys = axis_keys(numeric, nominal, axes[node], rows)
            thresholds[:, node] = _lower_median(keys)
            for s, of_subset in _by_subset(subsets[rows]):
                thresholds[s, node] = _lower_median(keys[of_subset])
            left = keys <= thresholds[subsets[rows], node]
        members += [rows[left], rows[~left]]
    return CoarseTree(axes, thresholds)


def _by_subset(subsets: NDArray[np.int32]) -> Iterator[tuple[int, Int64]]:
    order = np.argsort(subsets, kind="stable")
    present, first = np.unique(subsets[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, first[1:]), strict=True)


def _lower_median(keys: Float64) -> float:
    middle = (keys.size - 1) // 2
    return float(np.partition(keys, middle)[middle])


@dataclass(frozen=True, eq=False)
class Domain:
    """What is done with the records of one domain."""

    key: tuple[Any, ...]
    hard_codes: tuple[int, ...]
    n_records: int
    class_size: ClassSize
    n_clusters: int
    n_regions: int
    emds: tuple[Fraction, ...]
    subsets: Subsets
    tree: CoarseTree
    first_bin: int

    @property
    def n_bins(self) -> int:
        """Cells of (subset, leaf) that its records are counted in."""
        return self.subsets.sizes.size * self.tree.n_leaves


@dataclass(frozen=True)
class Region:
    """A stretch of a domain's clusters that one unit of work makes."""

    domain: int
    first_cluster: int
    last_cluster: int

    @property
    def n_clusters(self) -> int:
        """Clusters in it."""
        return self.last_cluster - self.first_cluster


@dataclass(frozen=True, eq=False)
class Plan:
    """All that the passes need to know; equal input, policy and seed give an equal plan."""

    k: int
    max_emds: tuple[Fraction, ...]
    encodings: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    carried: tuple[Column, ...]
    hard: tuple[Encoding, ...]
    partition_by: tuple[str, ...]
    released: tuple[str, ...]
    primary: int
    domains: tuple[Domain, ...]
    block_clusters: int
    rows_per_file: int

    @property
    def n_records(self) -> int:
        """Records that the release has to hold."""
        return sum(domain.n_records for domain in self.domains)

    @property
    def n_bins(self) -> int:
        """Bins of all domains."""
        return sum(domain.n_bins for domain in self.domains)

    def regions(self) -> tuple[Region, ...]:
        """The units of microaggregation."""
        found = []
        for d, domain in enumerate(self.domains):
            g, r = domain.n_clusters, min(domain.n_regions, domain.n_clusters)
            cuts = [g * i // r for i in range(r + 1)]
            found += [Region(d, a, b) for a, b in zip(cuts, cuts[1:], strict=False)]
        return tuple(found)

    def digest(self) -> str:
        """SHA-256 over all values of the plan."""
        digest = hashlib.sha256()
        _feed(digest, self)
        return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        for name in fields(value):
            digest.update(f"{name.name}:".encode())
            _feed(digest, getattr(value, name.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, pa.Array):
        digest.update(repr((value.type, value.to_pylist())).encode())
    elif isinstance(value, tuple | list):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f"{value!r};".encode())


def check_feasible(
    name: str, n_records: int, k: int, columns: tuple[Encoding, ...], emds: list[Fraction],
    max_emds: list[Fraction],
) -> None:  # fmt: skip
    """Prove that a domain can be released at all.

    A class lies in one domain. With fewer than k records there is none; and a mean of distributions
    is no farther than the farthest of them (papers/004, Fact 2), so if the domain as a whole is
    above t, one of its classes is, however it is cut.

    Raises
    ------
    InfeasibleError
        With the proof: the domain, what it has, and the smallest demand that could be met.
    """
    if n_records < k:
        raise InfeasibleError(
            f"{name}: has {n_records:,} records, a class needs k = {k}; lower privacy.k to "
            f"{n_records} at most, or publish a coarser partition"
        )
    for encoding, emd, limit in zip(columns, emds, max_emds, strict=True):
        if emd > limit:
            raise InfeasibleError(
                f"{name}: {encoding.column.name!r} is at distance {float(emd):.6f} from the whole "
                f"table, above t = {float(limit):g}; some class of it is too, however it is cut. "
                f"The smallest t that could work is {ceil(emd * 10**6) / 10**6:.6f}"
            )


def check_k(k: int, n_records: int) -> None:
    """Refuse a k that no class can have."""
    if k > n_records:
        raise PolicyError(
            f"privacy.k: {k} is more than the {n_records:,} records there are; lower it"
        )


def domain_name(hard: tuple[Encoding, ...], key: tuple[Any, ...]) -> str:
    """A domain as messages name it: by its partition columns, whose values are folder names."""
    if not hard:
        return "the table"
    pairs = (f"{e.column.name}={value}" for e, value in zip(hard, key, strict=True))
    return "partition " + "/".join(pairs)


def domain_emd(cumulative: Int64, table: Int64) -> Fraction:
    """Exact ordered distance of a domain to the table, from their cumulative counts (m,)."""
    n_values = table.size
    if n_values == 1:
        return Fraction(0)
    n_domain, n_table = int(cumulative[-1]), int(table[-1])
    if n_domain == n_table:
        return Fraction(0)
    work = 0
    for start in range(0, n_values, 256):
        part = slice(start, start + 256)
        difference = cumulative[part] * n_table - table[part] * n_domain
        work += sum(abs(d) for d in difference.tolist())
    return Fraction(work, n_domain * n_table * (n_values - 1))


def sample_leaves(
    plan_subsets: Subsets, codes: Int64, numeric: Float64, nominal: NDArray[np.int32],
    n_levels: int, n_regions: int,
) -> CoarseTree:  # fmt: skip
    """Grow the coarse tree of a domain from its sample; one leaf where it has one region."""
    n_subsets = plan_subsets.sizes.size
    if n_regions == 1:
        return CoarseTree(np.empty(0, dtype=np.int32), np.empty((n_subsets, 0)))
    wanted = max(1, codes.size // (n_subsets * SAMPLE_PER_LEAF))
    finest = 1 << (wanted.bit_length() - 1)
    n_leaves = max(n_regions, min(finest, n_regions * LEAVES_PER_REGION))
    unseen = np.zeros(plan_subsets.tie_codes.size, dtype=np.int64)
    subsets = assign_subsets(
        codes, plan_subsets.cut_codes, plan_subsets.cut_ranks, plan_subsets.tie_codes,
        plan_subsets.tie_rule, unseen,
    )  # fmt: skip
    return grow_tree(numeric, nominal, n_levels, subsets, n_subsets, n_leaves)


def bin_records(
    domain: Domain, subsets: NDArray[np.int32], numeric: Float64, nominal: NDArray[np.int32]
) -> Int64:
    """Bin of each record of a domain: its subset, then its leaf; int64 (n,)."""
    leaves = find_leaves(numeric, nominal, subsets, domain.tree.axes, domain.tree.thresholds)
    return domain.first_bin + subsets.astype(np.int64) * domain.tree.n_leaves + leaves


def locate_region(plan: Plan, region: Region, histogram: Int64) -> tuple[Int64, Int64]:
    """Where the records of a region stand in every encoded partition.

    A record's rank in its subset is by (leaf, position); partitions follow each other in position.
    A region takes a stretch of ranks of each subset, which is a stretch of rows in each partition.

    Parameters
    ----------
    histogram : int64 (partitions, bins): records of each partition in each bin

    Returns
    -------
    starts, stops : int64 (partitions, S): rows of the partition, which is sorted by bin
    """
    domain = plan.domains[region.domain]
    before = np.cumsum(histogram[:, : domain.first_bin].sum(axis=1, keepdims=True), axis=1)
    counts = histogram[:, domain.first_bin : domain.first_bin + domain.n_bins]
    counts = counts.reshape(histogram.shape[0], domain.subsets.sizes.size, domain.tree.n_leaves)
    of_subset = counts.sum(axis=2)
    subset_starts = before + np.cumsum(of_subset, axis=1) - of_subset
    ranks = [
        domain.subsets.records_before(cluster, domain.n_clusters)
        for cluster in (region.first_cluster, region.last_cluster)
    ]
    starts, stops = (subset_starts + _rows_before(counts, rank) for rank in ranks)
    return starts, stops


def _rows_before(counts: Int64, ranks: Int64) -> Int64:
    """Records of each partition and subset whose rank in the subset is below ``ranks`` (S,)."""
    totals = np.cumsum(counts.sum(axis=0), axis=1)
    n_partitions, n_subsets, n_leaves = counts.shape
    rows = np.empty((n_partitions, n_subsets), dtype=np.int64)
    for s in range(n_subsets):
        leaf = int(np.searchsorted(totals[s], ranks[s], side="right"))
        rows[:, s] = counts[:, s, :leaf].sum(axis=1)
        if leaf < n_leaves:
            inside = ranks[s] - (totals[s, leaf - 1] if leaf else 0)
            in_leaf = counts[:, s, leaf]
            earlier = np.cumsum(in_leaf) - in_leaf
            rows[:, s] += np.clip(inside - earlier, 0, in_leaf)
    return rows
