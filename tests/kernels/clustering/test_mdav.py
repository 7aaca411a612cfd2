"""MDAV and V-MDAV: the clusters of the listing, of k to 2k-1 records."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_microaggregation
from support.tables.random_tables import quasi_identifiers, repeatable, seeds
from tclose.kernels.clustering import boxed_records
from tclose.kernels.clustering.mdav import GAMMA, mdav, v_mdav

# Squares of ratios that floats hold exactly, so that the kernel and its twin decide alike.
GAMMAS = [0.0, 0.25, 0.5, 1.0, 2.0]


@st.composite
def places(draw: st.DrawFn, max_records: int = 40) -> tuple[np.ndarray, np.ndarray]:
    numeric, nominal, _ = draw(quasi_identifiers(draw(st.integers(1, max_records))))
    return numeric, nominal


def on_a_line(values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([values], dtype=np.float64), np.empty((0, len(values)), np.int32)


Table = tuple[np.ndarray, np.ndarray]


class TestMdav:
    @repeatable
    @given(places(), st.integers(1, 7))
    def test_makes_the_clusters_of_the_listing(self, table: Table, k: int) -> None:
        labels = mdav(*table, k)
        assert labels.dtype == np.int64
        assert labels.tolist() == naive_microaggregation.mdav(*table, k)

    @repeatable
    @given(places(), st.integers(1, 7), st.integers(1, 9))
    def test_makes_them_of_any_boxes(self, table: Table, k: int, most: int) -> None:
        """Coordinates are few, so that many records are as far as each other, in several boxes."""
        with mock.patch.object(boxed_records, "BOX_RECORDS", most):
            assert mdav(*table, k).tolist() == naive_microaggregation.mdav(*table, k)

    @repeatable
    @given(seeds, st.integers(2, 7), st.integers(1, 9))
    def test_boxes_are_narrowed_as_they_empty(self, seed: int, k: int, most: int) -> None:
        rng = np.random.default_rng(seed)
        numeric, nominal = rng.normal(size=(3, 90)), rng.integers(0, 3, (2, 90), dtype=np.int32)
        weights = np.array([0.25, 2.0])
        with mock.patch.object(boxed_records, "BOX_RECORDS", most):
            made = mdav(numeric, nominal, k, weights)
        with mock.patch.object(boxed_records, "BOX_RECORDS", 90):
            assert np.array_equal(made, mdav(numeric, nominal, k, weights))

    @repeatable
    @given(seeds, st.integers(2, 7))
    def test_makes_them_without_ties_too(self, seed: int, k: int) -> None:
        """With k = 1 the last two, whose average is as far from either, would be tied."""
        rng = np.random.default_rng(seed)
        numeric, nominal = rng.normal(size=(3, 50)), rng.integers(0, 3, (1, 50), dtype=np.int32)
        assert mdav(numeric, nominal, k).tolist() == naive_microaggregation.mdav(
            numeric, nominal, k
        )

    @repeatable
    @given(places(max_records=200), st.integers(1, 9))
    def test_all_clusters_but_the_last_have_k_records(self, table: Table, k: int) -> None:
        sizes = np.bincount(mdav(*table, k))
        assert (sizes[:-1] == k).all()
        assert min(k, sizes.sum()) <= sizes[-1] <= 2 * k - 1

    def test_seeds_are_the_farthest_and_the_farthest_from_it(self) -> None:
        # Average 43/7: -9 is the farthest, 20 from that; what is left is the last cluster.
        labels = mdav(*on_a_line([0, -9, 20, 19, 1, 4, 8]), 2)
        assert naive.groups(labels) == [[0, 1], [2, 3], [4, 5, 6]]

    @pytest.mark.parametrize(
        ("n_records", "sizes"),
        [(5, [5]), (6, [3, 3]), (8, [3, 5]), (9, [3, 3, 3]), (11, [3, 3, 5]), (2, [2])],
    )
    def test_what_is_left(self, n_records: int, sizes: list[int]) -> None:
        assert np.bincount(mdav(*on_a_line([*range(n_records)]), 3)).tolist() == sizes

    def test_inputs_are_untouched(self) -> None:
        rng = np.random.default_rng(3)
        numeric, nominal = rng.random((2, 30)), rng.integers(4, 7, (1, 30), dtype=np.int32)
        before = numeric.copy(), nominal.copy()
        for make in (mdav, v_mdav):
            make(numeric, nominal, 4)
            assert np.array_equal(numeric, before[0])
            assert np.array_equal(nominal, before[1])


class TestVMdav:
    @repeatable
    @given(places(), st.integers(1, 6), st.sampled_from(GAMMAS))
    def test_makes_the_clusters_of_the_listing(self, table: Table, k: int, gamma: float) -> None:
        labels = v_mdav(*table, k, gamma)
        assert labels.dtype == np.int64
        assert labels.tolist() == naive_microaggregation.v_mdav(*table, k, Fraction(gamma))

    @repeatable
    @given(seeds, st.integers(1, 6), st.sampled_from(GAMMAS))
    def test_makes_them_without_ties_too(self, seed: int, k: int, gamma: float) -> None:
        rng = np.random.default_rng(seed)
        numeric = np.repeat(rng.normal(size=(2, 5)), 8, axis=1) + rng.normal(size=(2, 40)) / 9
        nominal = rng.integers(0, 2, (1, 40), dtype=np.int32)
        assert v_mdav(numeric, nominal, k, gamma).tolist() == naive_microaggregation.v_mdav(
            numeric, nominal, k, Fraction(gamma)
        )

    @repeatable
    @given(places(max_records=200), st.integers(1, 9), st.sampled_from(GAMMAS))
    def test_clusters_have_k_to_2k_minus_1_records(
        self, table: Table, k: int, gamma: float
    ) -> None:
        sizes = np.bincount(v_mdav(*table, k, gamma))
        assert min(k, sizes.sum()) <= sizes.min()
        assert sizes.max() <= 2 * k - 1

    def test_takes_in_what_is_near_and_stays_apart_from_what_is_not(self) -> None:
        # Four at each end, three in the middle; 203 is the farthest from the average, 101.4.
        values = [0, 1, 2, 3, 100, 101, 102, 200, 201, 202, 203.0]
        for gamma, expected in (
            (1.0, [[7, 8, 9, 10], [0, 1, 2, 3], [4, 5, 6]]),
            (0.0, [[8, 9, 10], [0, 1, 2, 3], [4, 5, 6, 7]]),  # 200 is a seed; 3 and 100 are left
        ):
            assert naive.groups(v_mdav(*on_a_line(values), 3, gamma)) == expected

    def test_default_is_two_tenths_of_a_distance(self) -> None:
        # 0 is the farthest; 3 is at 1 from its cluster and at 5.1 (4.9) from its other neighbour.
        assert GAMMA == 0.2
        for apart, size in ((5.1, 4), (4.9, 3)):
            labels = v_mdav(*on_a_line([0, 1, 2, 3, 3 + apart, *[10.0] * 20]), 3)
            assert np.count_nonzero(labels == labels[0]) == size
