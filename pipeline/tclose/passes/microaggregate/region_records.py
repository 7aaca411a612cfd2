"""The records of a region, as its classes are made of them."""

from dataclasses import dataclass, replace

import numpy as np

from tclose.data.keys import Keys
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.analyses.workload import Workload
from tclose.passes.microaggregate.gaps import NO_GAPS, Gaps
from tclose.passes.microaggregate.losses import Pair


@dataclass(frozen=True, eq=False)
class RegionRecords:
    """The records of a region, subset by subset, within a subset by position.

    ``keys``: of each quasi-identifier (n,); ``codes`` int64 (p, n): confidential values as
    positions in their distribution; ``subset_starts`` int64 (S + 1,); ``cells`` int64 (n,) of the
    further confidential attributes, in which blocks are balanced too. ``others``: numbers of the
    compared columns that are no quasi-identifiers, which nothing but the losses depends on.
    ``name``: the region's place in the plan, which draws depend on; ``share``: its part of all
    records. ``persons`` int64 (n,): whose each is, if several may be of one. ``n_threads``: that
    may work on them, on which nothing depends but the time. ``workload``: the analyses that are
    tried on them. ``gaps``: of the records that have the centre in place of a value.
    """

    keys: list[Keys]
    codes: Int64
    subset_starts: Int64
    take: Int64
    n_clusters: int
    cells: Int64 | None = None
    others: tuple[Pair, ...] = ()
    name: tuple[int, int] = (0, 0)
    share: float = 1.0
    persons: Int64 | None = None
    n_threads: int = 1
    workload: Workload | None = None
    gaps: Gaps = NO_GAPS


def select_records(records: RegionRecords, rows: Int64) -> RegionRecords:
    """Some records of a region that has persons, ascending, with subsets of their own."""
    size = int(records.take.sum())
    n_clusters = max(1, rows.size // size)
    n_subsets = rows.size // n_clusters
    sizes = np.full(n_subsets, n_clusters, dtype=np.int64)
    sizes[n_subsets // 2] += rows.size - n_clusters * n_subsets
    assert records.persons is not None
    return replace(
        records,
        keys=[column[rows] for column in records.keys],
        codes=np.ascontiguousarray(records.codes[:, rows]),
        subset_starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        take=np.ones(n_subsets, dtype=np.int64),
        n_clusters=n_clusters,
        cells=None if records.cells is None else records.cells[rows],
        others=(),
        share=records.share * rows.size / records.persons.size,
        persons=records.persons[rows],
        gaps=records.gaps.select(rows),
    )
