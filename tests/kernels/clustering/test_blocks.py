"""Blocks: cuts along quasi-identifiers that keep every subset's share, exactly."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    RegionTable,
    cut_region,
    quasi_identifiers,
    regions,
    repeatable,
    seeds,
    weighted_columns,
)
from tclose.kernels.clustering.blocks import (
    MOST_JUDGED,
    axis_keys,
    cut_blocks,
    extras_up_to,
    find_leaves,
    select_smallest,
    split_extras,
    widest_axis,
)
from tclose.methods.scaling import Scaled

# Squares of these have no small common multiples, nor with those of 0/1 distances: spreads of two
# numbers are equal only where both are zero, and then every axis gives the same cut.
WEIGHTS = np.array([np.pi / 2, math.e / 4, np.log(2)])


def weigh(numeric: np.ndarray) -> np.ndarray:
    return numeric * WEIGHTS[: numeric.shape[0], np.newaxis]


def cut(region: RegionTable, block_clusters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return cut_region(replace(region, numeric=weigh(region.numeric)), block_clusters)


def find_widest(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], rows: np.ndarray
) -> int:
    """Axis that the kernel takes: the widest, but of those that differ by rounding only any."""
    numeric, nominal, weights, heights = columns
    counts = np.zeros(int(nominal.max(initial=0)) + 1, dtype=np.int64)
    axis = int(widest_axis(*columns, rows, counts))
    assert not counts.any()
    spreads = naive.axis_spreads(numeric, nominal, rows.tolist(), weights, heights)
    assert spreads[axis] >= max(spreads.values()) - Fraction(1, 10**12)
    return axis


class TestCuts:
    @repeatable
    @given(regions(max_clusters=20), st.integers(1, 6))
    def test_equal_sorting_and_splitting(self, region: RegionTable, block_clusters: int) -> None:
        order, starts, sizes = cut(region, block_clusters)
        blocks = [[order[a:b].tolist() for a, b in pairwise(ends)] for ends in starts]
        columns = weigh(region.numeric), region.nominal
        assert blocks == naive.cut_blocks(
            *columns,
            region.rows,
            region.take.tolist(),
            region.n_clusters,
            block_clusters,
            lambda rows: find_widest((*columns, region.weights, region.heights), np.array(rows)),
        )
        assert sizes.sum() == region.n_clusters

    @repeatable
    @given(regions(max_clusters=40), st.integers(1, 12))
    def test_hold_every_subsets_share(self, region: RegionTable, block_clusters: int) -> None:
        order, starts, sizes = cut(region, block_clusters)
        assert sorted(order.tolist()) == list(range(region.n_records))
        assert starts[0, 0] == 0
        assert starts[1:, 0].tolist() == starts[:-1, -1].tolist()
        extras = np.diff(starts, axis=1) - sizes[:, np.newaxis] * region.take
        assert extras.min() >= 0
        assert extras.sum(axis=0).tolist() == region.extras.tolist()
        assert (extras.sum(axis=1) <= sizes).all()
        of_subset = np.array(region.subsets)
        for s in range(region.take.size):
            for a, b in zip(starts[:, s], starts[:, s + 1], strict=True):
                members = order[a:b]
                assert (of_subset[members] == s).all()
                assert (np.diff(members) > 0).all()

    @repeatable
    @given(regions(max_clusters=40), st.integers(1, 12))
    def test_are_as_large_as_asked(self, region: RegionTable, block_clusters: int) -> None:
        _, _, sizes = cut(region, block_clusters)
        assert sizes.max() <= block_clusters
        assert sizes.min() >= min(region.n_clusters, (block_clusters + 1) // 2)

    def test_leave_in_the_order_of_a_single_axis(self) -> None:
        numeric = np.array([[0.9, 0.1, 0.5, 0.7, 0.2, 0.4, 0.8, 0.3]])
        order, starts, _ = cut_blocks(
            numeric,
            np.empty((0, 8), np.int32),
            np.empty(0),
            np.empty(0, np.int64),
            1,
            np.zeros(8, np.int64),
            np.array([0, 4, 8]),
            np.ones(2, np.int64),
            4,
            1,
        )
        assert [order[a:c].tolist() for a, _, c in starts] == [[1, 4], [2, 7], [3, 5], [0, 6]]

    def test_axis_of_many_records_is_judged_by_some_of_all(self) -> None:
        """Two in ten are apart along the second axis, but none of those that are looked at."""
        n_records = 2 * MOST_JUDGED
        numeric = np.zeros((2, n_records))
        numeric[0] = np.arange(n_records) % 10 * 0.01
        numeric[1, 1::10] = 9.0
        numeric[1, 3::10] = -9.0
        columns = numeric, np.empty((0, n_records), np.int32), np.empty(0), np.empty(0, np.int64)
        ends = np.array([0, n_records // 2, n_records])
        cells, take = np.zeros(n_records, np.int64), np.ones(2, np.int64)
        order, starts, _ = cut_blocks(*columns, 1, cells, ends, take, MOST_JUDGED, MOST_JUDGED - 1)
        judged = np.arange(0, n_records, 2)
        assert find_widest(columns, np.arange(n_records)) == 1
        assert find_widest(columns, judged) == 0
        found = [[order[a:b].tolist() for a, b in pairwise(block)] for block in starts]
        subsets = [list(range(*pair)) for pair in pairwise(ends.tolist())]
        cut_first = naive.cut_blocks(
            *columns[:2], subsets, take.tolist(), MOST_JUDGED, MOST_JUDGED - 1, lambda _: 0
        )
        assert found == cut_first

    def test_no_cut_for_a_whole_table_block(self) -> None:
        order, starts, sizes = cut_blocks(
            np.zeros((1, 6)),
            np.empty((0, 6), np.int32),
            np.empty(0),
            np.empty(0, np.int64),
            1,
            np.zeros(6, np.int64),
            np.array([0, 3, 6]),
            np.ones(2, np.int64),
            3,
            2**62,
        )
        assert order.tolist() == [0, 1, 2, 3, 4, 5]
        assert (starts.tolist(), sizes.tolist()) == ([[0, 3, 6]], [3])


class TestExtras:
    @repeatable
    @given(st.integers(1, 200), st.data())
    def test_split_in_proportion_and_never_more_than_clusters(
        self, n_clusters: int, data: st.DataObject
    ) -> None:
        n_extra = data.draw(st.integers(0, n_clusters))
        first = data.draw(st.integers(0, n_extra))
        n_left = data.draw(st.integers(0, n_clusters))
        extras = np.array([0, first, n_extra - first, 0])
        left = split_extras(extras, n_clusters, n_left)
        assert left.tolist() == naive.split_extras(extras.tolist(), n_clusters, n_left)
        assert (left >= 0).all()
        assert (left <= extras).all()
        assert left.sum() <= n_left
        assert (extras - left).sum() <= n_clusters - n_left

    @repeatable
    @given(st.integers(1, 60), st.data())
    def test_go_with_no_range_of_clusters_that_cannot_take_them(
        self, n_clusters: int, data: st.DataObject
    ) -> None:
        n_extra = data.draw(st.integers(0, n_clusters))
        first = data.draw(st.integers(0, n_extra))
        both = [extras_up_to(n_extra, n_extra, n_clusters, i) for i in range(n_clusters + 1)]
        one = [extras_up_to(n_extra, first, n_clusters, i) for i in range(n_clusters + 1)]
        assert (both[0], both[-1], one[0], one[-1]) == (0, n_extra, 0, first)
        other = np.subtract(both, one)
        assert np.diff(both).max() <= 1
        assert min(np.diff(one).min(), np.diff(other).min()) >= 0


class TestParts:
    @repeatable
    @given(st.integers(0, 50), st.integers(1, 20), seeds, st.data())
    def test_smallest_come_first(
        self, n_rows: int, n_values: int, seed: int, data: st.DataObject
    ) -> None:
        rng = np.random.default_rng(seed)
        n_smallest = data.draw(st.integers(0, n_rows))
        values = rng.integers(0, n_values, n_rows).astype(float)
        rows = rng.permutation(n_rows)
        keys = values[rows]
        select_smallest(keys, rows, n_smallest)
        ranked = sorted(range(n_rows), key=lambda i: (values[i], i))
        assert sorted(rows[:n_smallest].tolist()) == sorted(ranked[:n_smallest])
        assert sorted(rows.tolist()) == list(range(n_rows))
        assert keys.tolist() == values[rows].tolist()

    @repeatable
    @given(st.integers(1, 40).flatmap(weighted_columns), seeds)
    def test_widest_axis_has_the_largest_spread(self, columns: Scaled, seed: int) -> None:
        numeric = weigh(columns.numeric)
        n_records = max(numeric.shape[1], columns.nominal.shape[1])
        rng = np.random.default_rng(seed)
        rows = np.flatnonzero(rng.random(n_records) < 0.7)
        weighed = numeric, columns.nominal, columns.weights, columns.heights
        find_widest(weighed, rows if rows.size else np.array([0]))

    @pytest.mark.parametrize(("high", "axis"), [(1.0, 0), (0.99, 1)])
    def test_categories_spread_like_numbers_one_apart(self, high: float, axis: int) -> None:
        numeric = np.array([[0.0, 0.0, high, high]])
        nominal = np.array([[3, 3, 5, 5]], dtype=np.int32)
        counts = np.zeros(6, np.int64)
        one = np.ones(1), np.ones(1, np.int64)
        assert widest_axis(numeric, nominal, *one, np.arange(4), counts) == axis

    @pytest.mark.parametrize(("weight", "axis"), [(0.001, 0), (0.5, 0), (1.9, 2), (1e6, 2)])
    def test_weight_of_a_category_counts_and_is_no_height(self, weight: float, axis: int) -> None:
        """Two columns of half a weight are not one of two levels."""
        numeric = np.array([[0.0, 0.0, 1.0, 1.0]])
        nominal = np.array([[0, 0, 0, 1], [3, 3, 5, 5]], dtype=np.int32)
        own = np.full(2, weight), np.ones(2, np.int64)
        assert widest_axis(numeric, nominal, *own, np.arange(4), np.zeros(6, np.int64)) == axis

    def test_columns_of_small_weights_are_told_apart(self) -> None:
        """By 1 / weight the first would have both as its levels, and the second be no axis."""
        nominal = np.array([[0, 0, 0, 1], [3, 3, 5, 5]], dtype=np.int32)
        own = np.full(2, 0.5), np.ones(2, np.int64)
        empty = np.empty((0, 4))
        assert widest_axis(empty, nominal, *own, np.arange(4), np.zeros(6, np.int64)) == 1

    @pytest.mark.parametrize(("weight", "axis"), [(1.0, 0), (2.0, 1)])
    def test_levels_of_a_heavy_taxonomy_are_added(self, weight: float, axis: int) -> None:
        """Two levels of weight 1 spread twice as far as one does."""
        numeric = np.array([[0.0, 0.0, 1.2, 1.2]])
        nominal = np.array([[3, 3, 5, 5], [0, 0, 1, 1]], dtype=np.int32)
        own = np.full(2, weight / 2), np.full(2, 2)
        assert widest_axis(numeric, nominal, *own, np.arange(4), np.zeros(6, np.int64)) == axis

    def test_axis_keys_are_numbers_then_codes(self) -> None:
        numeric = np.array([[0.5, 0.25, 0.75]])
        nominal = np.array([[3, 1, 2]], dtype=np.int32)
        rows = np.array([2, 0])
        assert axis_keys(numeric, nominal, 0, rows).tolist() == [0.75, 0.5]
        assert axis_keys(numeric, nominal, 1, rows).tolist() == [2.0, 3.0]


class TestLeaves:
    @repeatable
    @given(st.integers(1, 40).flatmap(quasi_identifiers), st.integers(0, 4), seeds)
    def test_equal_a_descent_record_by_record(
        self, columns: tuple[np.ndarray, np.ndarray, int], depth: int, seed: int
    ) -> None:
        numeric, nominal, _ = columns
        n_records = max(numeric.shape[1], nominal.shape[1])
        n_nodes, n_cells = 2**depth - 1, 3
        rng = np.random.default_rng(seed)
        axes = rng.integers(0, len(numeric) + len(nominal), n_nodes, dtype=np.int32)
        thresholds = rng.integers(0, 65, (n_cells, n_nodes)) / 64
        thresholds[:, axes >= len(numeric)] = rng.integers(0, 5)
        cells = rng.integers(0, n_cells, n_records, dtype=np.int32)
        is_drawn = rng.random(n_nodes) < 0.3
        positions, drawn = rng.integers(0, 2**62, n_records), np.where(is_drawn, -1, axes)
        leaves = find_leaves(numeric, nominal, cells, positions, drawn.astype(np.int32), thresholds)
        assert leaves.dtype == np.int32
        values = np.vstack([numeric, nominal])
        for i, leaf in enumerate(leaves.tolist()):
            held = values[:, i].tolist(), thresholds[cells[i]].tolist(), int(positions[i])
            assert leaf == naive.find_leaf(*held, drawn.tolist())

    def test_half_of_all_positions_are_drawn_at_each_node(self) -> None:
        n_records, nothing = 1 << 16, np.empty((0, 1 << 16), np.int32)
        tree = np.full(7, -1, np.int32), np.zeros((1, 7))
        cells, positions = np.zeros(n_records, np.int32), np.arange(n_records)
        leaves = find_leaves(nothing.astype(np.float64), nothing, cells, positions, *tree)
        sizes = np.bincount(leaves, minlength=8)
        assert abs(sizes - n_records / 8).max() < 5 * np.sqrt(n_records / 8)
        # Neighbours part as often as others do: positions that follow each other are not together.
        together = (leaves[1:] == leaves[:-1]).mean()
        assert abs(together - 1 / 8) < 5 * np.sqrt(1 / 8 / n_records)

    @pytest.mark.parametrize(("key", "leaf"), [(0.1, 0), (0.3, 1), (0.5, 1), (0.6, 2), (0.9, 3)])
    def test_run_from_left_to_right_and_a_threshold_goes_left(self, key: float, leaf: int) -> None:
        leaves = find_leaves(
            np.array([[key]]),
            np.empty((0, 1), np.int32),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            np.zeros(3, np.int32),
            np.array([[0.5, 0.25, 0.75]]),
        )
        assert leaves.tolist() == [leaf]


class TestCells:
    @repeatable
    @given(regions(max_clusters=30), st.integers(1, 8), st.integers(1, 4), st.data())
    def test_blocks_hold_each_cell_in_proportion(
        self, region: RegionTable, block_clusters: int, n_cells: int, data: st.DataObject
    ) -> None:
        """Subsets stay exact; a cell is off its share by less than a record per cut."""
        n_records = int(region.subset_starts[-1])
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        cells = rng.integers(0, n_cells, n_records)
        order, starts, _ = cut_blocks(
            weigh(region.numeric), region.nominal, region.weights, region.heights,
            region.n_levels, cells, region.subset_starts, region.take, region.n_clusters,
            block_clusters,
        )  # fmt: skip
        assert sorted(order.tolist()) == list(range(n_records))
        plain = cut(region, block_clusters)
        assert np.array_equal(np.diff(starts, axis=1), np.diff(plain[1], axis=1))
        n_cuts = int(np.ceil(np.log2(max(1, region.n_clusters)))) + 1
        for ends in starts:
            for s, (a, b) in enumerate(pairwise(ends)):
                whole = cells[region.subset_starts[s] : region.subset_starts[s + 1]]
                for cell in range(n_cells):
                    share = np.count_nonzero(whole == cell) * (b - a) / max(1, whole.size)
                    assert abs(np.count_nonzero(cells[order[a:b]] == cell) - share) <= n_cuts
