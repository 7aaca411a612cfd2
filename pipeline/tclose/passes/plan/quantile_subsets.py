"""The global quantile subsets of a release partition, and the cells of its further attributes."""

import hashlib
from dataclasses import dataclass
from math import prod

import numpy as np

from tclose.kernels.clustering.assign_subsets import subset_sizes, tie_stride
from tclose.kernels.clustering.blocks import extras_up_to
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution


@dataclass(frozen=True, eq=False)
class Subsets:
    """The global subsets of a release partition, S of them.

    ``sizes``, ``extras`` and ``take`` int64 (S,): records of each, those beyond one class's share
    times the clusters, and records of each in every cluster. The rest is what
    `assign_subsets` takes; ``tie_seen`` is (partitions, u).
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

    def find(self, codes: Int64, subset_attribute: int) -> Int64:
        """Cell of each record, int64 (n,), by its codes (p, n)."""
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        if not self.cut_codes:  # one cell, whatever attributes there are
            return cells
        others = [a for a in range(codes.shape[0]) if a != subset_attribute]
        for a, cuts in zip(others, self.cut_codes, strict=False):  # joint ones come last: no cells
            cells = cells * (cuts.size + 1) + np.searchsorted(cuts, codes[a], side="right")
        return cells


NO_CELLS = Cells()


def cut_cells(distributions: list[Distribution]) -> Cells:
    """Cells of the further attributes; ``distributions``: a release partition's."""
    n_each = CELLS_EACH.get(len(distributions), 1)
    cuts = []
    for distribution in distributions:
        ranks = distribution.n_records * np.arange(1, n_each) // n_each
        codes = np.searchsorted(distribution.cumulative, ranks, side="right")
        cuts.append(np.unique(codes[codes > 0]).astype(np.int64))
    return Cells(tuple(cuts))


def cut_subsets(
    size: int,
    distribution: Distribution | None,
    n_records: int,
    seed: int,
    n_clusters: int | None = None,
) -> tuple[Subsets, int]:
    """Subsets of a release partition for classes of ``size``, and the number of clusters.

    ``distribution`` is the release partition's, over the values of the whole table; None without
    confidential attributes: then there is one subset, of which every cluster takes ``size``
    records. ``n_clusters``: fewer than n/size, where some clusters are to have one record more.
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
