"""The cheapest partners of a class, sought in boxes: against a scan of all classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.random_tables import repeatable, seeds, weighted_columns
from tclose.kernels.refinement.near_classes import (
    BOX_CLASSES,
    make_boxes,
    rank_partners,
    take_in,
)
from tclose.methods.scaling import Scaled


def rank(boxes: tuple, c: int, most: int) -> list[tuple[float, int]]:
    """Costs and partners as the kernel writes them."""
    costs, partners = np.full(most, np.nan), np.full(most, -1)
    n_ranked = rank_partners(boxes, c, costs, partners)
    return list(zip(costs[:n_ranked].tolist(), partners[:n_ranked].tolist(), strict=True))


class TestPartners:
    @repeatable
    @given(
        st.integers(1, 4 * BOX_CLASSES).flatmap(weighted_columns),
        seeds,
        st.sampled_from([1, 3, 64]),
        st.sampled_from([1.0, 7.0, np.inf]),
    )
    def test_are_those_of_a_scan(
        self, columns: Scaled, seed: int, most: int, counted: float
    ) -> None:
        """Also after classes have been taken in and their points and sizes have changed."""
        rng = np.random.default_rng(seed)
        centres = np.ascontiguousarray(columns.numeric.T)
        levels = np.ascontiguousarray(columns.nominal.T)
        points = centres, levels, columns.weights
        sizes = rng.integers(1, 20, len(centres))
        boxes = make_boxes(*points, sizes, counted)
        for _ in range(3):
            for c in np.flatnonzero(sizes).tolist():
                found = rank(boxes, c, most)
                assert found == naive_refine.rank_partners(*points, sizes, c, counted)[:most]
            for c, other in rng.integers(0, len(centres), (len(centres) // 2, 2)):
                if c != other and sizes[c] and sizes[other]:
                    take_in(boxes, c, other, sizes)
                    centres[c] += (
                        sizes[other] / (sizes[c] + sizes[other]) * (centres[other] - centres[c])
                    )
                    levels[c] = levels[other if sizes[other] > sizes[c] else c]
                    sizes[c], sizes[other] = sizes[c] + sizes[other], 0

    @pytest.mark.parametrize("most", [1, 3, 2 * BOX_CLASSES])
    def test_of_equal_ones_the_first(self, most: int) -> None:
        n_classes = 3 * BOX_CLASSES
        points = np.zeros((n_classes, 1)), np.zeros((n_classes, 0), np.int32), np.empty(0)
        sizes = np.full(n_classes, 5)
        boxes = make_boxes(*points, sizes)
        for c in (0, n_classes - 1):
            others = [other for other in range(n_classes) if other != c]
            assert rank(boxes, c, most) == [(0.0, other) for other in others[:most]]

    @pytest.mark.parametrize("most", [1, 3, 2 * BOX_CLASSES])
    def test_of_equal_ones_the_first_that_is_left(self, most: int) -> None:
        n_classes = 3 * BOX_CLASSES
        points = np.zeros((n_classes, 1)), np.zeros((n_classes, 1), np.int32), np.ones(1)
        sizes, left = np.full(n_classes, 5), list(range(n_classes))
        boxes = make_boxes(*points, sizes)
        while len(left) > 2:  # the first, the last and one between are taken in, all boxes empty
            for taken in (left[0], left[-1], left[len(left) // 2])[: len(left) - 2]:
                c = left[len(left) // 3]
                if c != taken:
                    take_in(boxes, c, taken, sizes)
                    sizes[c], sizes[taken] = sizes[c] + sizes[taken], 0
                    left.remove(taken)
            for c in (left[0], left[-1]):
                others = [other for other in left if other != c]
                assert rank(boxes, c, most) == [(0.0, other) for other in others[:most]]

    def test_a_class_alone_has_none(self) -> None:
        points = np.zeros((1, 2)), np.zeros((1, 1), np.int32), np.ones(1)
        boxes = make_boxes(*points, np.array([7]))
        assert rank(boxes, 0, 8) == []
