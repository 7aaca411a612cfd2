"""Regions by the number of records, and the tree that orders records by place."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    distribution_of,
    repeatable,
    seeds,
    unweighted,
    weighted_columns,
)
from tclose.kernels.clustering.blocks import find_leaves
from tclose.methods.scaling import Scaled
from tclose.passes.plan.coarse_tree import (
    DRAWN,
    LEAVES_PER_REGION,
    MAX_REGION_RECORDS,
    MAX_SAMPLE,
    MIN_REGION_RECORDS,
    NEARLY_HALF,
    SAMPLE_PER_LEAF,
    USUAL_REGIONS,
    _divide,
    _measure_fall,
    _measure_spread,
    _measure_unevenness,
    count_regions,
    grow_tree,
    one_leaf,
    sample_leaves,
    sample_size,
)
from tclose.passes.plan.quantile_subsets import cut_subsets


class TestSizes:
    @repeatable
    @given(st.integers(1, 10**9))
    def test_are_a_power_of_two_of_bearable_size(self, n_records: int) -> None:
        n_regions = count_regions(n_records)
        assert n_regions & (n_regions - 1) == 0
        assert n_records <= n_regions * MAX_REGION_RECORDS
        assert n_regions == 1 or n_records >= n_regions * MIN_REGION_RECORDS

    @pytest.mark.parametrize(
        ("n_records", "n_regions"),
        [
            (1, 1),
            (2 * MIN_REGION_RECORDS - 1, 1),
            (2 * MIN_REGION_RECORDS, 2),
            (USUAL_REGIONS * MIN_REGION_RECORDS, USUAL_REGIONS),
            (USUAL_REGIONS * MAX_REGION_RECORDS, USUAL_REGIONS),
            (USUAL_REGIONS * MAX_REGION_RECORDS + 1, 2 * USUAL_REGIONS),
        ],
    )
    def test_by_the_number_of_records(self, n_records: int, n_regions: int) -> None:
        assert count_regions(n_records) == n_regions

    def test_samples_are_bounded_and_none_where_nothing_is_cut(self) -> None:
        assert sample_size(2 * MIN_REGION_RECORDS - 1, 10) == 0
        n_leaves = 2 * LEAVES_PER_REGION
        assert sample_size(2 * MIN_REGION_RECORDS, 3) == n_leaves * 3 * SAMPLE_PER_LEAF
        assert sample_size(10**9, 50) == MAX_SAMPLE


def naive_half(keys: list[float]) -> float:
    """The lower median, or the key below it where up to that one there are nearly half."""
    median = naive.lower_median(keys)
    below = [key for key in keys if key < median]
    share, share_below = (
        sum(key <= median for key in keys) / len(keys),
        len(below) / len(keys),
    )
    return max(below) if share > 0.5 + NEARLY_HALF and share_below >= 0.5 - NEARLY_HALF else median


class TestTree:
    @repeatable
    @given(st.integers(0, 4), st.integers(1, 5), st.integers(1, 4), seeds)
    def test_gives_every_leaf_its_share_of_every_subset(
        self, depth: int, n_subsets: int, share: int, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        n_records = n_subsets * share * 2**depth
        numeric = np.array([rng.permutation(n_records) / n_records for _ in range(2)])
        nominal = np.zeros((1, n_records), dtype=np.int32)
        subsets = rng.permutation(np.repeat(np.arange(n_subsets), share * 2**depth))
        subsets = subsets.astype(np.int32)
        tree = grow_tree(unweighted(numeric, nominal), subsets, n_subsets, 2**depth)
        assert tree.n_leaves == 2**depth
        positions = np.arange(n_records)
        leaves = find_leaves(numeric, nominal, subsets, positions, tree.axes, tree.thresholds)
        counts = np.zeros((n_subsets, 2**depth), dtype=int)
        np.add.at(counts, (subsets, leaves), 1)
        assert (counts == share).all()

    @repeatable
    @given(st.integers(1, 40).flatmap(weighted_columns), st.integers(1, 4), seeds)
    def test_cuts_each_subset_at_its_half(self, columns: Scaled, n_subsets: int, seed: int) -> None:
        numeric, nominal = columns.numeric, columns.nominal
        rng = np.random.default_rng(seed)
        n_records = max(numeric.shape[1], nominal.shape[1])
        subsets = rng.integers(0, n_subsets, n_records, dtype=np.int32)
        tree = grow_tree(columns, subsets, n_subsets, 4)
        values = [*numeric, *nominal]
        members = {0: list(range(n_records))}
        for node in range(3):
            keys = values[tree.axes[node]]
            for s in range(n_subsets):
                rows = [i for i in members[node] if subsets[i] == s] or members[node]
                if rows:
                    assert tree.thresholds[s, node] == naive_half([keys[i] for i in rows])
            goes_left = {i: keys[i] <= tree.thresholds[subsets[i], node] for i in members[node]}
            members[2 * node + 1] = [i for i in members[node] if goes_left[i]]
            members[2 * node + 2] = [i for i in members[node] if not goes_left[i]]

    def test_first_axis_is_the_widest(self) -> None:
        numeric = np.array([[0.0, 0.1, 0.0, 0.1], [0.0, 0.0, 1.0, 1.0]])
        tree = grow_tree(unweighted(numeric), np.zeros(4, np.int32), 1, 4)
        assert tree.axes.tolist() == [1, 0, 0]
        assert tree.thresholds.tolist() == [[0.0, 0.0, 0.0]]

    def test_groups_that_are_nearly_halves_are_parted_in_every_subset(self) -> None:
        """The first is 49 % of one subset and 51 % of another; with 38 % it is none."""
        groups = {0: (490, 510), 1: (510, 490), 2: (380, 620)}
        nominal = np.repeat(np.tile([0, 1], 3), np.concatenate(list(groups.values())))
        columns = unweighted(np.zeros((1, 3000)), nominal[np.newaxis].astype(np.int32), 2)
        subsets = np.repeat(np.arange(3, dtype=np.int32), 1000)
        tree = grow_tree(columns, subsets, 3, 2)
        assert tree.axes.tolist() == [1]
        assert tree.thresholds[:, 0].tolist() == [0.0, 0.0, 1.0]

    @pytest.mark.parametrize(("n_categories", "axis"), [(2, 1), (20, 0)])
    def test_regions_are_cut_apart_where_halves_are_alike(
        self, n_categories: int, axis: int
    ) -> None:
        """Two categories become one in each half, twenty ten; leaves go by the widest."""
        rng = np.random.default_rng(2)
        nominal = (np.arange(4000) % n_categories)[np.newaxis].astype(np.int32)
        columns = unweighted(rng.random((1, 4000)), nominal, n_categories)
        subsets = rng.integers(0, 3, 4000, dtype=np.int32)
        assert grow_tree(columns, subsets, 3, 4, 2).axes[0] == axis
        assert grow_tree(columns, subsets, 3, 4, 1).axes[0] == 1

    def test_regions_are_not_cut_apart_along_what_confidential_values_depend_on(self) -> None:
        """Each subset has its own ages, so that few subsets are in both halves; days are in all."""
        rng = np.random.default_rng(3)
        subsets = np.repeat(np.arange(4, dtype=np.int32), 1000)
        ages = np.concatenate([rng.random(1000) / 4 + s / 4 for s in range(4)])
        days = np.tile(rng.permutation(1000) / 2000, 4)
        both, alone = unweighted(np.array([ages, days])), unweighted(ages[np.newaxis])
        tree = grow_tree(both, subsets, 4, 4, 4)
        assert tree.axes.tolist() == [1, 1, 1]
        assert (tree.thresholds == tree.thresholds[0]).all()
        tree = grow_tree(alone, subsets, 4, 8, 4)
        assert (tree.axes[:3] == DRAWN).all()
        assert tree.axes[3:].tolist() == [0, 0, 0, 0]
        columns = alone.numeric, alone.nominal, subsets, rng.permutation(4000)
        regions = find_leaves(*columns, tree.axes, tree.thresholds) // 2
        counts = np.zeros((4, 4), dtype=int)
        np.add.at(counts, (subsets, regions), 1)
        assert abs(counts - 250).max() < 75

    @repeatable
    @given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=6))
    def test_unevenness_is_what_is_beyond_chance(self, drawn: list[tuple[int, int]]) -> None:
        """The mean squared difference of subsets' shares, less that of drawn ones."""
        pairs = [(max(pair), min(pair)) for pair in drawn]
        is_left = np.concatenate([np.arange(size) < n for size, n in pairs])
        subsets = np.repeat(np.arange(len(pairs), dtype=np.int32), [size for size, _ in pairs])
        n = sum(size for size, _ in pairs)
        share = Fraction(sum(left for _, left in pairs), n)
        squares = sum(size * (Fraction(left, size) - share) ** 2 for size, left in pairs) / n
        by_chance = share * (1 - share) * (len(pairs) - 1) / n
        expected = math.sqrt(max(0, squares - by_chance))
        assert _measure_unevenness(is_left, subsets) == pytest.approx(expected, abs=1e-7)

    @pytest.mark.parametrize(("share", "axis"), [(0.5, 0), (0.42, 0), (0.35, DRAWN)])
    def test_regions_are_nearly_halves(self, share: float, axis: int) -> None:
        """All subsets have the same categories; of two that are far from halves none is cut off."""
        nominal = np.tile(np.arange(1000) >= share * 1000, 3)[np.newaxis].astype(np.int32)
        columns = unweighted(np.empty((0, 3000)), nominal, 2)
        subsets = np.repeat(np.arange(3, dtype=np.int32), 1000)
        assert _divide(columns, np.arange(3000), subsets) == (axis, 0.0)

    def test_the_spread_of_a_taxonomy_is_that_of_all_its_levels(self) -> None:
        """At the upper one of two halves have one node each, at the lower one of four two."""
        leaves = np.arange(4000) % 4
        nominal = np.array([leaves // 2, leaves], dtype=np.int32)
        tree = Scaled(
            np.linspace(0, 0.9, 4000)[np.newaxis], nominal, 4, np.full(2, 0.5), np.full(2, 2)
        )
        subsets = np.zeros(4000, dtype=np.int32)
        assert _measure_spread(tree, 1, np.arange(4000)) == pytest.approx(0.5 * (0.25 + 0.375))
        fall = _measure_fall(tree, 1, np.arange(4000), leaves < 2)
        assert fall == pytest.approx(0.1875)
        assert _divide(tree, np.arange(4000), subsets) == (1, 0.0)
        assert grow_tree(tree, subsets, 1, 2, 2).axes.tolist() == [1]

    def test_single_region_is_not_cut(self) -> None:
        subsets, _ = cut_subsets(3, distribution_of(range(9))[0], 9, 0)
        tree = one_leaf(subsets)
        assert (tree.n_leaves, tree.thresholds.shape) == (1, (3, 0))

    @pytest.mark.parametrize(("is_balanced", "axis"), [(True, 0), (False, 1)])
    def test_of_classes_of_near_records_regions_go_by_the_widest(
        self, is_balanced: bool, axis: int
    ) -> None:
        table, codes = distribution_of([1, 2, 3] * 2_000)
        subsets, _ = cut_subsets(3, table, 6_000, 0)
        nominal = (np.arange(6_000) % 20)[np.newaxis].astype(np.int32)
        sampled = unweighted(np.random.default_rng(5).random((1, 6_000)), nominal, 20)
        tree = sample_leaves(subsets, codes, sampled, 2, is_balanced=is_balanced)
        assert tree.axes[0] == axis

    @pytest.mark.parametrize(
        ("n_sampled", "n_regions", "n_leaves"),
        [
            (0, 4, 4),
            (3 * SAMPLE_PER_LEAF * 8 - 1, 4, 4),
            (3 * SAMPLE_PER_LEAF * 8, 4, 8),
            (3 * SAMPLE_PER_LEAF * 8, 2, 8),
            (3 * SAMPLE_PER_LEAF * 64, 2, 2 * LEAVES_PER_REGION),
        ],
    )
    def test_leaves_are_as_fine_as_the_sample_bears(
        self, n_sampled: int, n_regions: int, n_leaves: int
    ) -> None:
        rng = np.random.default_rng(0)
        table, codes = distribution_of([1, 2, 3] * 10_000)
        subsets, _ = cut_subsets(3, table, 30_000, 0)
        sampled = unweighted(rng.random((1, n_sampled)))
        tree = sample_leaves(subsets, codes[:n_sampled], sampled, n_regions)
        assert tree.n_leaves == n_leaves
        assert tree.thresholds.shape == (3, n_leaves - 1)
