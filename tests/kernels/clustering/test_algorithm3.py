"""Algorithm 3 in a block: the paper's clusters, record by record."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    RegionTable,
    cut_region,
    distribution_of,
    regions,
    repeatable,
    seeds,
    starts_of,
)
from tclose.kernels.clustering.algorithm3 import (
    cluster_block,
    cluster_blocks,
    compact_codes,
)
from tclose.kernels.clustering.assign_subsets import subset_sizes
from tclose.kernels.emd.ordered import exact_emd

CENSUS = Path(__file__).resolve().parents[4] / "shared" / "data" / "casc_census.csv"


def cluster(region: RegionTable) -> np.ndarray:
    return cluster_block(
        region.numeric,
        region.nominal,
        region.weights,
        region.subset_starts,
        region.take,
        region.n_clusters,
    )


def cluster_in_blocks(region: RegionTable, block_clusters: int) -> np.ndarray:
    order, starts, sizes = cut_region(region, block_clusters)
    columns = region.numeric, region.nominal, region.weights
    return cluster_blocks(*columns, order, starts, sizes, region.take)


def shares(region: RegionTable, labels: np.ndarray) -> np.ndarray:
    """Records of each cluster in each subset."""
    counts = np.zeros((region.n_clusters, region.take.size), dtype=np.int64)
    np.add.at(counts, (labels, np.array(region.subsets)), 1)
    return counts


class TestTwin:
    @repeatable
    @given(regions())
    def test_makes_the_clusters_of_the_listing(self, region: RegionTable) -> None:
        labels = cluster(region)
        assert labels.dtype == np.int32
        assert labels.tolist() == naive.cluster_block(
            region.numeric,
            region.nominal,
            region.subsets,
            region.take.tolist(),
            region.n_clusters,
            region.weights,
        )

    @repeatable
    @given(seeds, st.integers(1, 12), st.integers(2, 6))
    def test_makes_the_clusters_of_the_listing_without_ties(
        self, seed: int, n_clusters: int, size: int
    ) -> None:
        rng = np.random.default_rng(seed)
        sizes = np.array(subset_sizes(n_clusters * size + int(rng.integers(n_clusters)), size))
        n_records = int(sizes.sum())
        numeric = rng.normal(size=(3, n_records))
        nominal = rng.integers(0, 3, (1, n_records), dtype=np.int32)
        take = np.ones(size, dtype=np.int64)
        subsets = np.repeat(np.arange(size), sizes).tolist()
        n_clusters = n_records // size
        labels = cluster_block(numeric, nominal, np.ones(1), starts_of(sizes), take, n_clusters)
        assert labels.tolist() == naive.cluster_block(
            numeric, nominal, subsets, take.tolist(), n_clusters
        )

    @pytest.mark.skipif(not CENSUS.exists(), reason="needs ../shared/data/casc_census.csv")
    @pytest.mark.parametrize(("size", "sizes"), [(49, {49: 20, 50: 2}), (10, {10: 108})])
    def test_makes_the_clusters_of_the_listing_on_the_census(
        self, size: int, sizes: dict[int, int]
    ) -> None:
        """TAXINC and POTHVAL, FEDTAX confidential, t = .01 and .05.

        Soria-Comas et al. 2015, section 8.1.
        """
        table = np.genfromtxt(CENSUS, delimiter=",", names=True)
        table = table[np.argsort(table["FEDTAX"], kind="stable")]
        numeric = np.array([table[name] / np.ptp(table[name]) for name in ("TAXINC", "POTHVAL")])
        nominal = np.empty((0, table.size), dtype=np.int32)
        of_subset = subset_sizes(table.size, size)
        labels = cluster_block(
            numeric,
            nominal,
            np.empty(0),
            starts_of(of_subset),
            np.ones(size, np.int64),
            table.size // size,
        )
        found, counts = np.unique(np.bincount(labels), return_counts=True)
        assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == sizes
        subsets = np.repeat(np.arange(size), of_subset).tolist()
        assert labels.tolist() == naive.cluster_block(
            numeric, nominal, subsets, [1] * size, table.size // size
        )


class TestShares:
    @repeatable
    @given(regions(max_clusters=20))
    def test_one_record_of_each_subset_and_at_most_one_extra(self, region: RegionTable) -> None:
        counts = shares(region, cluster(region))
        extras = counts - region.take
        assert extras.min() >= 0
        assert extras.sum(axis=1).max() <= 1
        assert extras.sum(axis=0).tolist() == region.extras.tolist()

    @repeatable
    @given(regions(max_clusters=20), st.integers(1, 6))
    def test_hold_in_blocks_too(self, region: RegionTable, block_clusters: int) -> None:
        labels = cluster_in_blocks(region, block_clusters)
        counts = shares(region, labels)
        extras = counts - region.take
        assert extras.min() >= 0
        assert extras.sum(axis=1).max() <= 1
        assert extras.sum(axis=0).tolist() == region.extras.tolist()

    @repeatable
    @given(regions())
    def test_first_clusters_take_the_extras(self, region: RegionTable) -> None:
        has_extra = shares(region, cluster(region)).sum(axis=1) > region.take.sum()
        n_extra = int(region.extras.sum())
        assert has_extra.tolist() == [True] * n_extra + [False] * (region.n_clusters - n_extra)

    @repeatable
    @given(regions(max_clusters=12, min_subsets=2, max_extras=0))
    def test_distinct_values_are_within_proposition_2(self, region: RegionTable) -> None:
        table, codes = distribution_of(range(region.n_records))
        labels = cluster(region)
        bound = naive.emd_bound(region.n_records, region.take.size)
        for members in naive.groups(labels):
            assert exact_emd(codes[members], table.cumulative) <= bound


class TestBlocks:
    @repeatable
    @given(regions())
    def test_one_block_is_the_region(self, region: RegionTable) -> None:
        in_blocks = cluster_in_blocks(region, region.n_clusters)
        assert in_blocks.dtype == np.int64
        assert in_blocks.tolist() == cluster(region).tolist()

    @repeatable
    @given(regions(max_clusters=20), st.integers(1, 6))
    def test_each_block_is_clustered_by_itself(
        self, region: RegionTable, block_clusters: int
    ) -> None:
        order, starts, sizes = cut_region(region, block_clusters)
        columns = region.numeric, region.nominal, region.weights
        labels = cluster_blocks(*columns, order, starts, sizes, region.take)
        first = 0
        for ends, n_clusters in zip(starts, sizes, strict=True):
            members = order[ends[0] : ends[-1]]
            alone = naive.cluster_block(
                region.numeric[:, members],
                region.nominal[:, members],
                [region.subsets[i] for i in members],
                region.take.tolist(),
                int(n_clusters),
                region.weights,
            )
            assert (labels[members] - first).tolist() == alone
            first += n_clusters

    def test_inputs_are_untouched(self) -> None:
        rng = np.random.default_rng(3)
        numeric = rng.integers(0, 9, (2, 12)) / 64
        nominal = rng.integers(4, 7, (1, 12), dtype=np.int32)
        before = numeric.copy(), nominal.copy()
        weights = np.array([0.5])
        cluster_block(numeric, nominal, weights, np.array([0, 4, 8, 12]), np.ones(3, np.int64), 4)
        assert np.array_equal(numeric, before[0])
        assert np.array_equal(nominal, before[1])
        assert weights.tolist() == [0.5]


class TestChoices:
    """Examples small enough to follow by hand: one subset per row of the comment."""

    @staticmethod
    def labels(values: list[float], ends: list[int], n_clusters: int) -> list[int]:
        return cluster_block(
            np.array([values], np.float64),
            np.empty((0, len(values)), np.int32),
            np.empty(0),
            np.array([0, *ends]),
            np.ones(len(ends), np.int64),
            n_clusters,
        ).tolist()

    def test_farthest_seed_takes_the_nearest_of_each_subset(self) -> None:
        # 0, 1, 10 | 2, 9, 0: average 11/3, farthest 10 (with 9), then the farthest from 10: 0.
        assert self.labels([0, 1, 10, 2, 9, 0], [3, 6], 3) == [1, 2, 0, 2, 0, 1]

    def test_equal_distances_go_to_the_lowest_row(self) -> None:
        # 0, 4 | 0, 4: all are at distance 2 from the average.
        assert self.labels([0, 4, 0, 4], [2, 4], 2) == [0, 1, 0, 1]
        assert self.labels([1] * 6, [3, 6], 3) == [0, 1, 2, 0, 1, 2]

    def test_extra_is_the_second_nearest_of_the_central_subset(self) -> None:
        # 0, 8 | 1, 9, 7 | 0, 8: average 33/7, farthest 0 in row 0; its extra is 7, not 9.
        assert self.labels([0, 8, 1, 9, 7, 0, 8], [2, 5, 7], 2) == [0, 1, 0, 1, 0, 0, 1]

    def test_categories_are_at_distance_one(self) -> None:
        nominal = np.array([[5, 5, 9, 9, 5, 5]], dtype=np.int32)
        labels = cluster_block(
            np.empty((0, 6)), nominal, np.ones(1), np.array([0, 3, 6]), np.ones(2, np.int64), 3
        )
        # The mode is 5, so row 2 is the farthest; then row 0, the farthest from it.
        assert labels.tolist() == [1, 2, 0, 0, 1, 2]

    def test_near_categories_are_taken_before_far_ones(self) -> None:
        # Values 0 and 1 have a common parent, 2 another one. Without it all are equally far.
        values = np.array([2, 0, 2, 1], dtype=np.int32)
        nominal, parents = values, values // 2
        args = np.array([0, 2, 4]), np.ones(2, np.int64), 2
        flat = cluster_block(np.empty((0, 4)), np.array([nominal]), np.ones(1), *args)
        nested = np.array([nominal, parents])
        tree = cluster_block(np.empty((0, 4)), nested, np.full(2, 0.5), *args)
        assert flat.tolist() == [1, 0, 0, 1]
        assert tree.tolist() == [0, 1, 0, 1]


class TestCodes:
    @repeatable
    @given(regions())
    def test_are_renumbered_in_order_and_without_gaps(self, region: RegionTable) -> None:
        sparse = region.nominal * 7 + 3
        local, n_local = compact_codes(sparse)
        for codes, compact, n_codes in zip(sparse, local, n_local, strict=True):
            present = sorted(set(codes.tolist()))
            assert n_codes == len(present)
            assert [present[code] for code in compact] == codes.tolist()
