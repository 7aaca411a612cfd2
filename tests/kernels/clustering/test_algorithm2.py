"""Algorithm 2: the clusters of the listing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.length import every
from support.naive import naive_kernels as naive
from support.naive import naive_microaggregation
from support.tables.microdata import Microdata, microdata
from support.tables.random_tables import repeatable, seeds
from tclose.kernels.clustering import algorithm2
from tclose.kernels.clustering.algorithm2 import k_anonymity_first
from tclose.kernels.clustering.mdav import mdav


def cluster(table: Microdata, k: int) -> np.ndarray:
    return k_anonymity_first(table.numeric, table.nominal, k, table.targets())


def cluster_as_listed(table: Microdata, k: int) -> list[int]:
    return naive_microaggregation.k_anonymity_first(table.numeric, table.nominal, k, table.excess)


class TestTwin:
    @repeatable
    @given(microdata(), st.integers(1, 6))
    def test_makes_the_clusters_of_the_listing(self, table: Microdata, k: int) -> None:
        labels = cluster(table, k)
        assert labels.dtype == np.int64
        assert labels.tolist() == cluster_as_listed(table, k)

    @pytest.mark.nightly
    @pytest.mark.parametrize("k", every(2, [5, 2]))
    def test_makes_them_where_all_that_are_left_are_ranked(self, k: int) -> None:
        """More records than are tried before that, and limits that few clusters meet."""
        rng = np.random.default_rng(k)
        n_records = algorithm2.TRIED_FIRST + 60
        numeric = rng.integers(0, 65, (2, n_records)) / 64
        values = [
            (64 * numeric[0] + rng.integers(0, 30, n_records)).astype(int).tolist(),
            rng.integers(0, 9, n_records).tolist(),
        ]
        nominal = np.empty((0, n_records), np.int32)
        table = Microdata(numeric, nominal, values, (Fraction(2, 100), Fraction(5, 100)))
        labels = cluster(table, k)
        assert labels.tolist() == cluster_as_listed(table, k)
        assert labels.tolist() != mdav(numeric, nominal, k).tolist()


class TestProperties:
    @repeatable
    @given(microdata(), st.integers(1, 9))
    def test_all_clusters_but_the_last_have_k_records(self, table: Microdata, k: int) -> None:
        sizes = np.bincount(cluster(table, k))
        assert (sizes[:-1] == k).all()
        assert min(k, table.n_records) <= sizes[-1] <= 2 * k - 1

    @repeatable
    @given(seeds)
    def test_limits_that_no_cluster_exceeds_need_no_exchange(self, seed: int) -> None:
        """Then each has the records nearest to its seed."""
        rng = np.random.default_rng(seed)
        numeric, nominal = rng.integers(0, 65, (2, 40)) / 64, np.empty((0, 40), np.int32)
        loose = Microdata(numeric, nominal, [rng.integers(0, 9, 40).tolist()], (Fraction(1),))
        places = naive_microaggregation.Places(numeric, nominal)
        left = places.rows
        seed_row = places.farthest(places.average(left), left)
        first = naive.groups(cluster(loose, 4))[0]
        assert first == sorted(places.by_distance(seed_row, left)[:4])

    @repeatable
    @given(seeds, st.integers(2, 5))
    def test_exchanges_bring_more_clusters_within(self, seed: int, k: int) -> None:
        """Strong correlation: the nearest records have much the same confidential value."""
        rng = np.random.default_rng(seed)
        numeric = rng.permutation(np.arange(60.0))[np.newaxis] / 64
        nominal = np.empty((0, 60), np.int32)
        table = Microdata(
            numeric, nominal, [(64 * numeric[0]).astype(int).tolist()], (Fraction(1, 5),)
        )
        n_within = [
            sum(table.excess.of(rows) <= 0 for rows in naive.groups(labels))
            for labels in (cluster(table, k), mdav(numeric, nominal, k))
        ]
        assert n_within[0] > n_within[1]


class TestChoice:
    def test_gives_up_the_first_of_equals_even_the_seed(self) -> None:
        # 100 is the farthest from the average, 30; with 99 it has the value 1 only. 2 has it too,
        # 1 has the other: either could go, row 0 does. -22 is the farthest from 100, likewise.
        table = Microdata(
            np.array([[100.0, 99.0, 0.0, 1.0, 2.0, -22.0]]),
            np.empty((0, 6), np.int32),
            [[1, 1, 2, 2, 1, 2]],
            (Fraction(0),),
        )
        assert naive.groups(cluster(table, 2)) == [[1, 3], [4, 5], [0, 2]]

    def test_largest_excess_counts(self) -> None:
        # 0 and 4 are at 1/2 and 0. With 8 for 0 both are at 0; with 8 for 4 it would be 0 and 1/2.
        table = Microdata(
            np.array([[9.0, 8.0, 4.0, 0.0]]),
            np.empty((0, 4), np.int32),
            [[1, 1, 2, 2], [1, 2, 1, 2]],
            (Fraction(1, 4), Fraction(3, 5)),
        )
        assert naive.groups(cluster(table, 2)) == [[1, 2], [0, 3]]
        loose = table.with_limits(Fraction(3, 5), Fraction(3, 5))
        assert naive.groups(cluster(loose, 2)) == [[2, 3], [0, 1]]
