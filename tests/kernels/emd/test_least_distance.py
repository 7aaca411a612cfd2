"""Bounds from below of the distances of unions: against the exact distances."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.classed_records import Ground, grounds, star_over
from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
)
from tclose.kernels.emd.least_distance import bound_union, sum_ranges
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.privacy.t_closeness import make_target

ROUNDED = 1e-12


def check_unions(
    codes: Int64, table: Distribution, labels: Int64, emd: Callable[[list[int]], Fraction]
) -> None:
    """Whatever the classes: those of two, and of a union that was added up."""
    groups = naive.groups(labels)
    works = sum_ranges(labels, len(groups), (codes[np.newaxis], (make_target(table, Fraction(1)),)))
    union = list(groups[0])
    for c in range(1, len(groups)):
        union += groups[c]
        least = bound_union(works, 0, (0, c), len(union))
        assert 0 <= least <= float(emd(union)) + ROUNDED
        works.of_classes[:, 0] += works.of_classes[:, c]


def draw_labels(n_records: int, seed: int, data: st.DataObject) -> Int64:
    sizes = data.draw(class_sizes(n_records))
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


class TestUnions:
    @repeatable
    @given(confidential_values, seeds, st.data())
    def test_are_no_nearer_than_bounds(
        self, values: list[int], seed: int, data: st.DataObject
    ) -> None:
        table, codes = distribution_of(values)
        labels = draw_labels(len(values), seed, data)
        check_unions(
            codes, table, labels, lambda rows: naive.ordered_emd([values[i] for i in rows], values)
        )

    @repeatable
    @given(grounds | st.integers(20, 40).map(star_over), st.integers(1, 60), seeds, st.data())
    def test_over_trees_are_no_nearer_either(
        self, ground: Ground, n_records: int, seed: int, data: st.DataObject
    ) -> None:
        """Of more nodes than ranges, too."""
        leaves = np.random.default_rng(seed).integers(0, len(ground.leaves), n_records)
        present = np.unique(leaves)
        ground = replace(ground, leaves=tuple(ground.leaves[leaf] for leaf in present))
        ordered, codes = distribution_of(np.searchsorted(present, leaves).tolist())
        table = ground.measure(ordered)
        labels = draw_labels(n_records, seed, data)
        check_unions(codes, table, labels, lambda rows: ground.emd(codes[rows].tolist(), table))

    def test_of_few_categories_are_the_distance(self) -> None:
        rng = np.random.default_rng(2)
        codes = rng.integers(0, 9, 400)
        table = star_over(9).measure(distribution_of(codes.tolist())[0])
        labels = np.repeat(np.arange(40), 10)
        works = sum_ranges(labels, 40, (codes[np.newaxis], (make_target(table, Fraction(1)),)))
        for c in range(39):
            distance = star_over(9).emd(codes[10 * c : 10 * c + 20].tolist(), table)
            assert bound_union(works, 0, (c, c + 1), 20) == pytest.approx(float(distance))

    def test_of_many_values_are_near_the_distance(self) -> None:
        """The bound is of use: for classes of a dozen records it is most of the distance."""
        rng = np.random.default_rng(1)
        values = rng.permutation(6000).tolist()
        labels = np.repeat(np.arange(1000), 6)
        table, codes = distribution_of(values)
        works = sum_ranges(labels, 1000, (codes[np.newaxis], (make_target(table, Fraction(1)),)))
        shares = [
            bound_union(works, 0, (c, c + 1), 12)
            / naive.ordered_emd(values[6 * c : 6 * c + 12], values)
            for c in range(0, 100, 10)
        ]
        assert np.mean(shares) > 0.8
