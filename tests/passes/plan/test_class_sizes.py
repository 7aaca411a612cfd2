"""Class sizes: the paper's, those a policy gives, and those that leave room for refinement."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_refine
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
)
from tclose.kernels.emd.tree import star_metric
from tclose.model.distribution import Distribution, make_distribution
from tclose.passes.plan.class_sizes import (
    MAX_TRIED_VALUES,
    MOST_AT_HALF,
    SHARE_OF_T,
    ClassSize,
    choose_class_size,
    fit_class_size,
    mean_cluster_emd,
    surely_within,
    take_class_size,
    wanted_size,
)
from tclose.passes.plan.quantile_subsets import cut_subsets
from tclose.passes.plan.search_budget import MAX_SEARCHED
from tclose.privacy.t_closeness import rounding_work

TINY = Fraction(1, 10**18)


class TestClassSize:
    @pytest.mark.parametrize(
        ("max_emd", "size"),
        [
            ("0.01", 49),
            ("0.05", 10),
            ("0.09", 6),
            ("0.13", 4),
            ("0.17", 3),
            ("0.21", 3),
            ("0.25", 2),
        ],
    )
    def test_of_the_papers_table(self, max_emd: str, size: int) -> None:
        """Minimum class sizes on 1,080 records, for k from 2 to 30.

        Soria-Comas et al. 2015, Table 3.
        """
        assert choose_class_size(1_080, 2, [Fraction(max_emd)]).adjusted == size
        for k in (5, 10, 15, 20, 25, 30):
            assert choose_class_size(1_080, k, [Fraction(max_emd)]).adjusted == max(size, k)

    @repeatable
    @given(st.integers(2, 500), st.integers(1, 12), st.fractions(0, 1))
    def test_is_the_smallest_within_proposition_2(
        self, n_records: int, k: int, max_emd: Fraction
    ) -> None:
        assume(k <= n_records)
        chosen = choose_class_size(n_records, k, [max_emd])
        assert chosen.adjusted == naive.class_size(n_records, k, max_emd)

    @repeatable
    @given(st.integers(2, 5_000), st.integers(1, 5_000))
    def test_is_exact_at_the_bound(self, n_records: int, size: int) -> None:
        assume(size < n_records)
        bound = naive.emd_bound(n_records, size)
        assert choose_class_size(n_records, 1, [bound]).by_distance == size
        assert choose_class_size(n_records, 1, [bound + TINY]).by_distance == size
        assert choose_class_size(n_records, 1, [bound - TINY]).by_distance == size + 1

    @repeatable
    @given(st.integers(1, 10**6), st.integers(1, 10**4))
    def test_leaves_fewer_records_over_than_clusters(self, n_records: int, k: int) -> None:
        assume(k <= n_records)
        size = choose_class_size(n_records, k, []).adjusted
        assert size >= k
        assert n_records % size < n_records // size
        assert n_records // size == n_records // k

    def test_smallest_t_decides(self) -> None:
        limits = [Fraction("0.25"), Fraction("0.05"), Fraction("0.17")]
        assert choose_class_size(1_080, 2, limits).adjusted == 10

    def test_no_distance_left_takes_all_records_and_one_record_is_a_class(self) -> None:
        assert choose_class_size(1_080, 2, [Fraction(0)]) == ClassSize(2, 1_080, 1_080)
        assert choose_class_size(1, 1, [Fraction(0)]) == ClassSize(1, 1, 1)

    @pytest.mark.parametrize(
        ("chosen", "line"),
        [
            (ClassSize(2, 10, 10), "10: the larger of k = 2 and 10 from eq. (3)"),
            (ClassSize(3, 0, 3), "3: k = 3, no confidential attribute"),
            (
                ClassSize(4, 1, 5),
                (
                    "5: the larger of k = 4 and 1 from eq. (3); "
                    "eq. (4) adds 1 so that the remainder fits"
                ),
            ),
        ],
    )
    def test_explains_itself(self, chosen: ClassSize, line: str) -> None:
        assert chosen.explain() == line

    def test_examples(self) -> None:
        assert choose_class_size(1_080, 2, [Fraction("0.05")]) == ClassSize(2, 10, 10)
        assert choose_class_size(1_080, 3, []) == ClassSize(3, 0, 3)
        assert choose_class_size(10, 4, [Fraction("0.9")]) == ClassSize(4, 1, 5)


class TestGivenClassSize:
    @repeatable
    @given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(2, 10**4))
    def test_is_taken_as_far_as_k_and_the_records_allow(
        self, n_records: int, k: int, size: int
    ) -> None:
        assume(k <= n_records)
        taken = take_class_size(n_records, k, size)
        wanted = min(max(k, size), n_records)
        n_clusters = taken.count_clusters(n_records)
        assert n_clusters == n_records // wanted
        assert k <= wanted <= taken.adjusted <= n_records
        assert n_clusters * taken.adjusted <= n_records < n_clusters * (taken.adjusted + 1)

    @pytest.mark.parametrize(
        ("n_records", "k", "size", "adjusted"),
        [(100, 3, 5, 5), (100, 7, 5, 7), (10, 2, 4, 5), (10, 2, 99, 10), (3, 2, 2, 3)],
    )
    def test_examples(self, n_records: int, k: int, size: int, adjusted: int) -> None:
        taken = take_class_size(n_records, k, size)
        assert taken.adjusted == adjusted
        assert taken.explain() == f"{adjusted}: as the policy says"


class TestMeanClusterEmd:
    @repeatable
    @given(st.integers(1, 4), st.integers(1, 5), st.booleans(), seeds)
    def test_is_the_mean_over_all_clusters(
        self, n_subsets: int, per_subset: int, has_ties: bool, seed: int
    ) -> None:
        """Of one record per subset: each of them is made and measured by the definition."""
        n_records = n_subsets * per_subset
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 5 if has_ties else 10**9, n_records).tolist()
        table, _ = distribution_of(values)
        expected = naive_refine.mean_cluster_emd(values, n_subsets)
        assert mean_cluster_emd(table, n_subsets) == pytest.approx(float(expected), abs=1e-12)

    @pytest.mark.parametrize("n_subsets", [2, 5, 10, 40])
    @pytest.mark.parametrize("n_records", [20_000, 4 * MAX_TRIED_VALUES, 300_001])
    def test_of_distinct_values_is_one_over_three_times_the_size(
        self, n_subsets: int, n_records: int
    ) -> None:
        """Design notes, fact 4; also where values are thinned out."""
        table, _ = distribution_of(np.arange(n_records))
        assert mean_cluster_emd(table, n_subsets) == pytest.approx(1 / (3 * n_subsets), rel=2e-3)

    def test_of_random_clusters(self) -> None:
        """A remainder goes to the middle, and the mean is still near: six clusters of 17."""
        rng = np.random.default_rng(1)
        values = rng.choice([0] * 12 + [1, 2, 3, 5, 8], 103)
        table, codes = distribution_of(values)
        subsets = np.split(np.sort(codes), np.cumsum(naive.subset_sizes(103, 6))[:-1])
        in_table = dict(enumerate(table.counts.tolist()))
        emds = [
            naive.ordered_emd([int(rng.choice(subset)) for subset in subsets], in_table)
            for _ in range(400)
        ]
        assert mean_cluster_emd(table, 6) == pytest.approx(float(sum(emds)) / 400, rel=0.1)

    def test_of_one_value_or_all_records_is_nothing(self) -> None:
        assert mean_cluster_emd(distribution_of([3, 3, 3])[0], 1) == 0.0
        assert mean_cluster_emd(distribution_of([1, 2, 3])[0], 3) == 0.0


class TestManyValues:
    def table(self, n_values: int, each: int) -> Distribution:
        counts = np.full(n_values, each)
        made = make_distribution(np.arange(n_values), counts)
        return replace(made, metric=star_metric(counts))

    @pytest.mark.parametrize("t", ["0.3", "0.5", "0.7"])
    def test_classes_are_near_the_smallest_that_are_feasible(self, t: str) -> None:
        """Of 5,000 equally common values a class of s records is at 1 - s/5,000 at best."""
        table, smallest = self.table(5_000, 12), ceil(5_000 * (1 - Fraction(t)))
        size = wanted_size((table, Fraction(t)), table.n_records)
        assert smallest <= size <= 1.2 * smallest
        fitted = fit_class_size(table.n_records, 5, [(table, Fraction(t))])
        assert fitted.by_distance == size
        assert "nearly all clusters are within t" in fitted.explain()
        is_left = size > MAX_SEARCHED
        assert ("classes of that size are not searched" in fitted.explain()) == is_left

    def test_searchable_ones_keep_their_room(self) -> None:
        table = self.table(40, 100)
        size = wanted_size((table, Fraction("0.3")), table.n_records)
        assert size <= MOST_AT_HALF
        assert table.metric is not None
        assert rounding_work(table.metric, size) <= SHARE_OF_T * 0.3

    def test_subsets_that_values_just_fill_are_found(self) -> None:
        table = self.table(600, 1)
        assert surely_within((table, Fraction(1, 2)), 600) == 300

    def test_joint_attributes_need_no_records_of_their_own(self) -> None:
        """Two attributes and their combinations: as many records as the largest of the three."""
        demand, many = (self.table(4, 25), Fraction("0.2")), (self.table(50, 2), Fraction("0.5"))
        alone = fit_class_size(100, 2, [demand, demand]).by_distance
        both = fit_class_size(100, 2, [demand, demand], [many]).by_distance
        assert both == max(alone, surely_within(many, 100)) > alone
        fitted = fit_class_size(100, 2, [demand, demand], [many])
        assert "have their combinations within t before refinement" in fitted.explain()


limits = st.integers(0, 100).map(lambda percent: Fraction(percent, 100))


class TestFittedClassSize:
    @repeatable
    @given(confidential_values, st.integers(1, 8), st.lists(limits, max_size=3))
    def test_gives_clusters_of_k_that_use_every_record(
        self, values: list[int], k: int, max_emds: list[Fraction]
    ) -> None:
        n_records = len(values)
        assume(k <= n_records)
        table, _ = distribution_of(values)
        fitted = fit_class_size(n_records, k, [(table, t) for t in max_emds])
        assert k <= fitted.adjusted <= n_records
        n_clusters = fitted.count_clusters(n_records)
        assert n_clusters == fitted.n_clusters
        assert n_clusters * fitted.adjusted <= n_records < n_clusters * (fitted.adjusted + 1)
        subsets, made = cut_subsets(fitted.adjusted, table, n_records, 0, n_clusters)
        assert made == n_clusters
        assert subsets.sizes.sum() == n_records
        assert 0 <= subsets.extras.sum() < n_clusters
        assert subsets.records_before(n_clusters, n_clusters).tolist() == subsets.sizes.tolist()

    @repeatable
    @given(confidential_values, st.integers(1, 8), limits, limits)
    def test_grows_as_t_shrinks(self, values: list[int], k: int, one: Fraction, other: Fraction):
        n_records = len(values)
        assume(k <= n_records)
        table, _ = distribution_of(values)
        sizes = [fit_class_size(n_records, k, [(table, t)]).adjusted for t in sorted([one, other])]
        assert sizes[0] >= sizes[1]

    @repeatable
    @given(confidential_values, limits)
    def test_leaves_half_of_t_and_is_no_larger_than_that_takes(
        self, values: list[int], max_emd: Fraction
    ) -> None:
        table, _ = distribution_of(values)
        size = fit_class_size(len(values), 1, [(table, max_emd)]).by_distance
        wanted = SHARE_OF_T * float(max_emd)
        assert size == len(values) or mean_cluster_emd(table, size) <= wanted
        assert size == 1 or mean_cluster_emd(table, size - 1) > wanted

    @repeatable
    @given(confidential_values, st.integers(1, 8), limits)
    def test_grows_with_the_third_attribute(
        self, values: list[int], k: int, max_emd: Fraction
    ) -> None:
        assume(k <= len(values))
        demand = (distribution_of(values)[0], max_emd)
        one, two, three, four = (
            fit_class_size(len(values), k, [demand] * n).by_distance for n in range(1, 5)
        )
        assert two == max(1, one - 1)
        assert three == max(1, -(-3 * one // 2) - 1)
        assert four == 2 * one - 1

    def test_without_attributes_leaves_room_above_k(self) -> None:
        """A twelfth of the records more than k for each: some classes have one to give away."""
        assert fit_class_size(120, 10, []) == ClassSize(10, 0, 10, "half of t", 11)
        assert fit_class_size(1_000, 2, []).n_clusters == 458

    def test_leaves_none_where_classes_are_too_large_to_be_searched(self) -> None:
        """Nothing would make use of it."""
        largest = MAX_SEARCHED * 11 // 12
        assert fit_class_size(10**6, largest, []).adjusted > largest
        for k in (largest + 1, MAX_SEARCHED, MAX_SEARCHED + 1):
            fitted = fit_class_size(10**6, k, [])
            assert fitted.count_clusters(10**6) == 10**6 // k
            assert f"the larger of k (k = {k})" in fitted.explain()

    def test_takes_all_records_if_no_distance_is_left(self) -> None:
        demand = (distribution_of(range(50))[0], Fraction(0))
        assert fit_class_size(50, 2, [demand]).adjusted == 50

    def test_explains_itself(self) -> None:
        demand = (distribution_of(range(1_080))[0], Fraction("0.05"))
        fitted = fit_class_size(1_080, 2, [demand])
        assert fitted.by_distance == 14  # 1/(3 K) is half of t
        assert fitted.explain() == (
            "14 or more: the larger of 12/11 k (k = 2) and 14, "
            "which uses up half of t before refinement"
        )
