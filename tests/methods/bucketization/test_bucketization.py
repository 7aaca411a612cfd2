"""Bucketization: buckets are sets of values, classes are within k and the ratio t."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_ratio
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
)
from tclose.errors import InfeasibleError, PolicyError
from tclose.methods.bucketization.bucketization import RatioDemand, fill_from_buckets
from tclose.model.distribution import make_distribution
from tclose.privacy.bucket_cuts import BucketCut, cut_buckets, name_buckets


@dataclass(frozen=True, eq=False)
class BucketClasses:
    """Class, bucket and code of each record."""

    labels: np.ndarray
    buckets: np.ndarray
    codes: np.ndarray
    cut: BucketCut

    @property
    def members(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.labels == c) for c in np.unique(self.labels)]

    def distance(self, of: np.ndarray) -> Fraction | float:
        """The largest ratio of a class, by the twin."""
        table = of.tolist()
        return max(naive_ratio.ratio_distance(of[rows].tolist(), table) for rows in self.members)


def build(values: list, demand: RatioDemand, seed: int = 0) -> BucketClasses:
    rng = np.random.default_rng(seed)
    numeric = rng.integers(0, 64, (2, len(values))) / 64
    nominal = rng.integers(0, 3, (1, len(values)), dtype=np.int32)
    distribution, codes = distribution_of(values)
    cut = cut_buckets(distribution, demand.wanted_buckets)
    buckets = cut.of_code[codes]
    labels = fill_from_buckets(numeric, nominal, buckets, cut.sizes, demand)
    return BucketClasses(labels, buckets, codes, cut)


class TestBuckets:
    @repeatable
    @given(confidential_values, st.integers(2, 9))
    def test_are_cut_where_values_change_nearest_to_the_ranks(
        self, values: list, n_buckets: int
    ) -> None:
        assume(len(set(values)) > 1)
        table, codes = distribution_of(values)
        cut = cut_buckets(table, n_buckets)
        expected = naive_ratio.cut_buckets(values, n_buckets)
        distinct = table.values.tolist()
        found = [
            [v for v, b in zip(distinct, cut.of_code, strict=True) if b == bucket]
            for bucket in range(cut.sizes.size)
        ]
        assert found == expected
        assert cut.sizes.tolist() == np.bincount(cut.of_code[codes]).tolist()
        limits = [[distinct[low], distinct[high]] for low, high in cut.limits]
        assert limits == [[bucket[0], bucket[-1]] for bucket in expected]

    def test_are_those_of_figure_1(self) -> None:
        cut = cut_buckets(distribution_of(range(12))[0], 3)
        assert cut.sizes.tolist() == [4, 4, 4]
        assert cut.limits.tolist() == [[0, 3], [4, 7], [8, 11]]

    def test_of_a_table_that_does_not_divide_differ_by_one(self) -> None:
        assert cut_buckets(distribution_of(range(11))[0], 3).sizes.tolist() == [4, 3, 4]

    def test_that_a_mass_point_covers_are_one(self) -> None:
        cut = cut_buckets(distribution_of([0] * 92 + list(range(1, 9)))[0], 5)
        assert cut.sizes.tolist() == [92, 8]

    def test_do_not_count_values_that_do_not_occur(self) -> None:
        cut = cut_buckets(make_distribution(np.arange(5), [0, 2, 0, 2, 0]), 2)
        assert cut.limits.tolist() == [[1, 1], [3, 3]]
        assert cut.sizes.tolist() == [2, 2]

    def test_of_one_value_are_refused(self) -> None:
        with pytest.raises(InfeasibleError, match="single value"):
            cut_buckets(distribution_of([7, 7, 7])[0], 2)

    def test_names_are_the_values_own_and_leave_out_the_ends(self) -> None:
        table = distribution_of([1.5, 1.5, 20.0, 300.25])[0]
        cut = cut_buckets(table, 2)
        spell = {0: "1.50", 1: "20.00", 2: "300.25"}.__getitem__
        assert name_buckets(cut, spell) == ["[.., 1.50]", "[20.00, ..]"]


class TestDemand:
    @pytest.mark.parametrize(("t", "n"), [(1, 2), (2, 3), (Fraction(5, 2), 3), (7, 8)])
    def test_asks_for_as_many_buckets_as_t_allows(self, t: Fraction, n: int) -> None:
        """T + 1 in the paper: the most that leaves each at least N/(t+1)."""
        assert RatioDemand(5, Fraction(t)).wanted_buckets == n

    @pytest.mark.parametrize(
        ("k", "t", "n_buckets", "what"),
        [(0, 2, None, "k is 0"), (2, Fraction(1, 2), None, "at least 1"), (2, 2, 1, "2 or more")],
    )
    def test_refuses_what_has_no_meaning(self, k, t, n_buckets, what) -> None:
        with pytest.raises(PolicyError, match=what):
            RatioDemand(k, Fraction(t), n_buckets)


class TestClasses:
    @repeatable
    @given(
        confidential_values,
        st.integers(1, 6),
        st.fractions(1, 4, max_denominator=4),
        st.none() | st.integers(2, 5),
        seeds,
    )
    def test_are_within_k_and_t(self, values, k, t, n_buckets, seed) -> None:
        try:
            classes = build(values, RatioDemand(k, t, n_buckets), seed)
        except InfeasibleError:
            assume(False)
        members = classes.members
        assert sorted(i for rows in members for i in rows) == list(range(len(values)))
        assert min(rows.size for rows in members) >= k
        assert classes.distance(classes.buckets) <= t

    def test_of_figure_2(self) -> None:
        classes = build(list(range(12)), RatioDemand(4, Fraction(3, 2), 3))
        assert classes.distance(classes.buckets) == Fraction(3, 2)
        shares = np.zeros((3, 3), int)
        np.add.at(shares, (classes.labels, classes.buckets), 1)
        assert sorted(map(tuple, shares.tolist())) == [(1, 1, 2), (1, 2, 1), (2, 1, 1)]

    def test_values_as_they_are_have_no_finite_ratio(self) -> None:
        """Twelve different values in three classes: each class lacks some.

        Domingo-Ferrer and Soria-Comas 2015, section 6.
        """
        classes = build(list(range(12)), RatioDemand(4, Fraction(3, 2), 3))
        assert classes.distance(classes.codes) == inf

    def test_values_that_are_their_own_buckets_cost_nothing_more(self) -> None:
        classes = build([0] * 20 + [1] * 20 + [2] * 20, RatioDemand(6, Fraction(2)))
        assert classes.buckets.tolist() == classes.codes.tolist()
        assert classes.distance(classes.codes) <= 2

    def test_are_as_many_as_k_allows_when_values_are_distinct(self) -> None:
        """(t+1) l classes, l = floor(N / ((t+1) k)); t = 2, k = 6.

        Domingo-Ferrer and Soria-Comas 2015, section 6.2.
        """
        classes = build(list(range(900)), RatioDemand(6, Fraction(2)))
        assert classes.labels.max() + 1 == 3 * (900 // 18)

    def test_are_nearer_than_chance(self) -> None:
        """Squared error of classes well below that of the same counts dealt out at random."""
        rng = np.random.default_rng(5)
        numeric = rng.random((2, 1200))
        distribution, codes = distribution_of(rng.integers(0, 500, 1200))
        nominal = np.empty((0, 1200), np.int32)
        demand = RatioDemand(6, Fraction(2))
        cut = cut_buckets(distribution, demand.wanted_buckets)
        buckets = cut.of_code[codes]
        labels = fill_from_buckets(numeric, nominal, buckets, cut.sizes, demand)
        again = fill_from_buckets(numeric, nominal, buckets, cut.sizes, demand)
        assert labels.tolist() == again.tolist()
        within = sum(
            float(((numeric[:, labels == c].T - numeric[:, labels == c].mean(axis=1)) ** 2).sum())
            for c in range(labels.max() + 1)
        )
        total = float(((numeric.T - numeric.mean(axis=1)) ** 2).sum())
        assert within < 0.1 * total
