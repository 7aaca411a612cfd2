"""Bounds from below of the distances of unions: against the exact distances."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
)
from tclose.kernels.emd.least_distance import bound_union, sum_ranges
from tclose.privacy.t_closeness import make_target

ROUNDED = 1e-12


class TestUnions:
    @repeatable
    @given(confidential_values, seeds, st.data())
    def test_are_no_nearer_than_bounds(
        self, values: list[int], seed: int, data: st.DataObject
    ) -> None:
        """Whatever the classes: those of two, and of a union that was added up."""
        sizes = data.draw(class_sizes(len(values)))
        labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
        table, codes = distribution_of(values)
        works = sum_ranges(
            labels, len(sizes), (codes[np.newaxis], (make_target(table, Fraction(1)),))
        )
        groups = naive.groups(labels)
        union = list(groups[0])
        for c in range(1, len(sizes)):
            union += groups[c]
            least = bound_union(works, 0, (0, c), len(union))
            distance = naive.ordered_emd([values[i] for i in union], values)
            assert 0 <= least <= float(distance) + ROUNDED
            works.of_classes[:, 0] += works.of_classes[:, c]

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
            for c in range(0, 100, 2)
        ]
        assert np.mean(shares) > 0.8
