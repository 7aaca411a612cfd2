"""Where the records of a region stand, whatever the partitions."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import repeatable, seeds
from support.tables.small_plans import make_plan, make_release_partition
from tclose.passes.encode.region_bins import bin_records, locate_regions, share_out
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.plan.coarse_tree import CoarseTree
from tclose.passes.plan.plan import Plan, Region, UnitRegions


class TestBins:
    def test_are_subset_then_leaf(self) -> None:
        tree = CoarseTree(np.zeros(1, np.int32), np.array([[0.5], [0.25]]))
        release_partition = replace(make_release_partition(4, 2, first_bin=10), tree=tree)
        bins = bin_records(
            release_partition,
            np.array([0, 0, 1, 1], np.int32),
            np.array([[0.5, 0.6, 0.25, 0.3]]),
            np.empty((0, 4), np.int32),
            np.arange(4),
        )
        assert bins.tolist() == [10, 11, 12, 13]
        assert bins.dtype == np.int64


@dataclass(frozen=True, eq=False)
class Binned:
    """A plan with several release partitions, and the bins of all records by input partition."""

    plan: Plan
    partitions: list[list[tuple[int, int, int]]]  # (release partition, subset, leaf) of each record

    def bin_of(self, record: tuple[int, int, int]) -> int:
        release_partition = self.plan.release_partitions[record[0]]
        return release_partition.first_bin + record[1] * release_partition.tree.n_leaves + record[2]

    def histogram(self) -> np.ndarray:
        counts = np.zeros((len(self.partitions), self.plan.n_bins), dtype=np.int64)
        for p, records in enumerate(self.partitions):
            for record in records:
                counts[p, self.bin_of(record)] += 1
        return counts

    def sorted_rows(self) -> list[list[int]]:
        """Position in its partition of each row, once the partition is sorted by bin."""
        return [
            sorted(range(len(records)), key=[self.bin_of(record) for record in records].__getitem__)
            for records in self.partitions
        ]

    def members(self, region: Region, subset: int) -> set[tuple[int, int]]:
        """(partition, position) of a region's records of a subset: all sorted by (leaf, place)."""
        release_partition = self.plan.release_partitions[region.release_partition]
        ranked = sorted(
            (leaf, p, i)
            for p, records in enumerate(self.partitions)
            for i, (d, s, leaf) in enumerate(records)
            if (d, s) == (region.release_partition, subset)
        )
        first, last = (
            naive.records_before(
                release_partition.subsets.take.tolist(),
                release_partition.subsets.extras.tolist(),
                release_partition.n_clusters,
                cluster,
            )[subset]
            for cluster in (region.first_cluster, region.last_cluster)
        )
        return {(p, i) for _, p, i in ranked[first:last]}


@st.composite
def binned_tables(draw: st.DrawFn) -> Binned:
    release_partitions, records, first_bin = [], [], 0
    rng = np.random.default_rng(draw(seeds))
    for d in range(draw(st.integers(1, 3))):
        n_records = draw(st.integers(2, 60))
        k = draw(st.integers(1, min(n_records, 7)))
        size = choose_class_size(n_records, k, []).adjusted
        release_partition = make_release_partition(
            n_records,
            size,
            n_leaves=draw(st.sampled_from([1, 2, 4, 8])),
            n_regions=draw(st.sampled_from([1, 2, 4])),
            first_bin=first_bin,
        )
        release_partitions.append(release_partition)
        first_bin += release_partition.n_bins
        of_record = np.repeat(np.arange(size), release_partition.subsets.sizes).tolist()
        leaves = rng.integers(0, release_partition.tree.n_leaves, n_records).tolist()
        records += [(d, s, leaf) for s, leaf in zip(of_record, leaves, strict=True)]
    records = [records[i] for i in rng.permutation(len(records))]
    cuts = sorted(rng.integers(0, len(records) + 1, draw(st.integers(0, 4))).tolist())
    partitions = [records[a:b] for a, b in pairwise([0, *cuts, len(records)])]
    return Binned(make_plan(*release_partitions), partitions)


class TestLocation:
    @repeatable
    @given(binned_tables())
    def test_equals_sorting_all_records(self, table: Binned) -> None:
        histogram, rows = table.histogram(), table.sorted_rows()
        regions = table.plan.regions()
        found_places = locate_regions(table.plan, regions, histogram)
        for region, (starts, stops) in zip(regions, found_places, strict=True):
            for s in range(starts.shape[1]):
                found = [
                    (p, rows[p][row])
                    for p in range(len(table.partitions))
                    for row in range(starts[p, s], stops[p, s])
                ]
                assert len(found) == len(set(found))
                assert set(found) == table.members(region, s)

    @repeatable
    @given(binned_tables())
    def test_regions_take_every_record_once(self, table: Binned) -> None:
        histogram = table.histogram()
        taken = [np.zeros(len(records), dtype=int) for records in table.partitions]
        for starts, stops in locate_regions(table.plan, table.plan.regions(), histogram):
            for p, counts in enumerate(taken):
                for start, stop in zip(starts[p], stops[p], strict=True):
                    counts[start:stop] += 1
        assert all((counts == 1).all() for counts in taken)


class TestSharingOut:
    @given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
    def test_deals_by_turns(self, sizes: list[int]) -> None:
        """Every beginning is that of one order: record r of the n of a cell at (r + 1/2) / n."""
        turns = sorted(((r + 0.5) / n, c) for c, n in enumerate(sizes) for r in range(n))
        for total in range(len(turns) + 1):
            first = [c for _, c in turns[:total]]
            shared = share_out(np.array(sizes, dtype=np.int64), total)
            assert shared.tolist() == [first.count(c) for c in range(len(sizes))]


class TestUnitRegions:
    def test_take_whole_units_and_newcomers_by_leaves(self) -> None:
        regions = UnitRegions((0, 3), 2)
        units, leaves = np.array([0, 2, 3, 9, -1, -1, -1]), np.array([0, 1, 2, 3, 0, 1, 3])
        assert regions.find(units, leaves, 4).tolist() == [0, 0, 1, 1, 2, 2, 3]

    def test_few_newcomers_are_in_the_last_region_of_units(self) -> None:
        regions = UnitRegions((0, 3), 0)
        assert regions.find(np.array([2, 4, -1]), np.zeros(3, np.int32), 1).tolist() == [0, 1, 1]

    def test_records_are_where_they_were_placed(self) -> None:
        tree = CoarseTree(np.zeros(1, np.int32), np.array([[0.5], [0.5]]))
        of_units = UnitRegions((0, 2), 2)
        partition = make_release_partition(8, 2, n_regions=4)
        partition = replace(partition, tree=tree, unit_regions=of_units)
        plan = make_plan(partition)
        units = np.array([0, 1, 2, 3, -1, -1, 5, -1])
        values = np.array([0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.2, 0.4])
        strata = np.array([0, 1, 1, 0, 0, 1, 0, 1], np.int32)
        columns = values[None], np.empty((0, 8), np.int32)
        bins = bin_records(partition, strata, *columns, np.arange(8), units)
        histogram = np.bincount(bins, minlength=plan.n_bins)[None]
        order = np.argsort(bins, kind="stable")
        found = [
            sorted(np.concatenate([order[a:b] for a, b in zip(s[0], e[0], strict=True)]).tolist())
            for s, e in locate_regions(plan, plan.regions(), histogram)
        ]
        assert found == [[0, 1], [2, 3, 6], [4, 7], [5]]
